package web

import "sync"

// cache keeps the pages that were rendered because of the last change: however many look at the same address, it is read
// once. A page that is asked for because of a change is as new as that change, and the next one is announced.
type cache struct {
	mu    sync.Mutex
	state string
	pages map[string]*cached
}

type cached struct {
	once sync.Once
	out  rendered
	err  error
}

// cacheMost is how many pages are kept; who asks for more has them rendered.
const cacheMost = 50

func (c *cache) get(state, key string, load func() (rendered, error)) (rendered, error) {
	c.mu.Lock()
	if c.state != state {
		c.state, c.pages = state, map[string]*cached{}
	}
	p := c.pages[key]
	if p == nil && len(c.pages) < cacheMost {
		p = &cached{}
		c.pages[key] = p
	}
	c.mu.Unlock()
	if p == nil {
		return load()
	}
	p.once.Do(func() { p.out, p.err = load() })
	return p.out, p.err
}
