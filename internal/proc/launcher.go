package proc

import "sync"

// Launcher starts processes faster than Start, by keeping one helper waiting
// where there are helpers. Its zero value works, and so does a nil one, which
// keeps none. Close ends the helper that waits; the processes are not touched.
type Launcher struct {
	Owner string // of every process started

	own    sync.Once
	mu     sync.Mutex
	spare  *idle
	making sync.WaitGroup
	closed bool
}

// Own sets the Owner, unless somebody did so before: callers may share a Launcher, which
// reads it in the background.
func (l *Launcher) Own(owner string) { l.own.Do(func() { l.Owner = owner }) }

// Start is the package's Start, with the Launcher's Owner.
func (l *Launcher) Start(spec Spec) (*Process, error) {
	if l == nil {
		return Start(spec)
	}
	spec.Owner = l.Owner
	useful := false // a helper that waits, to what is started here
	p, err := launch(spec, func() *idle { useful = true; return l.take() })
	if useful {
		l.Warm()
	}
	return p, err
}

// take hands out the helper that waits, if there is one.
func (l *Launcher) take() *idle {
	l.mu.Lock()
	defer l.mu.Unlock()
	spare := l.spare
	l.spare = nil
	return spare
}

// Warm starts the helper that is to wait, in the background, before there is
// anything to start.
func (l *Launcher) Warm() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.spare != nil {
		return
	}
	l.making.Go(func() {
		spare, err := startIdle(nil, ownerName(l.Owner))
		if err != nil || spare == nil {
			return // the next Start will say why
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.closed || l.spare != nil {
			spare.dismiss()
			return
		}
		l.spare = spare
	})
}

// Close ends the waiting helper. Start still works afterwards.
func (l *Launcher) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.making.Wait()
	if spare := l.take(); spare != nil {
		spare.dismiss()
	}
}
