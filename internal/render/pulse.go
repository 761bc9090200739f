package render

import (
	"sync"
	"time"
)

// pulse does something at every tick, in a goroutine of its own, until it is ended.
type pulse struct {
	stop chan struct{}
	once sync.Once
	work sync.WaitGroup
}

// beat begins. Nil ticks never come.
func (p *pulse) beat(ticks <-chan time.Time, do func(now time.Time)) {
	p.stop = make(chan struct{})
	if ticks == nil {
		return
	}
	p.work.Go(func() {
		for {
			select {
			case <-p.stop:
				return
			case now, ok := <-ticks:
				if !ok {
					return
				}
				do(now)
			}
		}
	})
}

// end returns when the last tick is done with.
func (p *pulse) end() {
	p.once.Do(func() { close(p.stop) })
	p.work.Wait()
}
