package acp

import "time"

// newTimer is a timer that never fires for a limit of zero.
func newTimer(limit time.Duration) *time.Timer {
	if limit <= 0 {
		t := time.NewTimer(time.Hour)
		t.Stop()
		return t
	}
	return time.NewTimer(limit)
}

// idleWatch notices that a count has not grown for a time. It looks now and
// then instead of being told each time: there are tens of thousands a second.
type idleWatch struct {
	count  func() int64
	ticker *time.Ticker
	last   int64
	still  int
}

func newIdleWatch(limit time.Duration, count func() int64) *idleWatch {
	w := &idleWatch{count: count, last: count()}
	if limit > 0 {
		w.ticker = time.NewTicker(max(limit/idleTicks, 1))
	}
	return w
}

func (w *idleWatch) ticks() <-chan time.Time {
	if w.ticker == nil {
		return nil
	}
	return w.ticker.C
}

// expired is asked at every tick. The tick at which the count last grew may
// have come right after it, so one more than all of them must pass.
func (w *idleWatch) expired() bool {
	if now := w.count(); now != w.last {
		w.last, w.still = now, 0
		return false
	}
	w.still++
	return w.still > idleTicks
}

func (w *idleWatch) stop() {
	if w.ticker != nil {
		w.ticker.Stop()
	}
}
