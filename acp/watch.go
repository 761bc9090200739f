package acp

import "time"

// after is time.After, and never for a limit of zero.
func after(limit time.Duration) <-chan time.Time {
	if limit <= 0 {
		return nil
	}
	return time.After(limit)
}

// idleTicks is how finely silence is measured: it is noticed after at least the
// limit and at most one part in so many more.
const idleTicks = 8

// idleWatch notices that a count has not grown for a time. It looks now and
// then instead of being called each time: there are tens of thousands a second.
type idleWatch struct {
	count func() int64
	ticks <-chan time.Time // nil without a limit
	last  int64
	still int
}

func newIdleWatch(limit time.Duration, count func() int64) *idleWatch {
	w := &idleWatch{count: count, last: count()}
	if limit > 0 {
		w.ticks = time.Tick(max(limit/idleTicks, 1))
	}
	return w
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
