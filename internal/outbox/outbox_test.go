package outbox

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"ralph/internal/testing/check"
)

// try is one call of Send.
type try struct {
	At    time.Duration // since the beginning
	Batch []int
}

// sender answers tries one after the other, the rest well, and keeps them.
func sender(tries *[]try, answers ...error) func(context.Context, []int) error {
	begin := time.Now()
	return func(_ context.Context, batch []int) error {
		*tries = append(*tries, try{time.Since(begin), slices.Clone(batch)})
		if n := len(*tries); n <= len(answers) {
			return answers[n-1]
		}
		return nil
	}
}

func options(send func(context.Context, []int) error) Options[int] {
	return Options[int]{Send: send, Size: 4, Batch: 2, Tries: 3, Backoff: time.Second, Timeout: time.Hour}
}

// idle starts an Outbox that waits for something to send: one that is just starting may
// take the first thing before the second is there.
func idle(opts Options[int]) *Outbox[int] {
	o := New(opts)
	synctest.Wait()
	return o
}

// TestTries has one batch of two things, and time that is not waited for.
func TestTries(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	both := []int{1, 2}
	for name, tc := range map[string]struct {
		answers []error
		tries   []try
		sent    int
		why     error
	}{
		"at once":                          {nil, []try{{0, both}}, 2, nil},
		"the third time":                   {[]error{no, no}, []try{{0, both}, {time.Second, both}, {3 * time.Second, both}}, 2, no},
		"never":                            {[]error{no, no, no}, []try{{0, both}, {time.Second, both}, {3 * time.Second, both}}, 0, no},
		"what trying again does not mend":  {[]error{Never(no)}, []try{{0, both}}, 0, no},
		"as late as it was told":           {[]error{After(no, 20*time.Second)}, []try{{0, both}, {20 * time.Second, both}}, 2, no},
		"but not later than a minute":      {[]error{After(no, time.Hour)}, []try{{0, both}, {time.Minute, both}}, 2, no},
		"and no sooner than it would have": {[]error{After(no, time.Millisecond)}, []try{{0, both}, {time.Second, both}}, 2, no},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var tries []try
				o := idle(options(sender(&tries, tc.answers...)))
				o.Put(1)
				o.Put(2)
				o.Close()
				<-o.Done()
				check.Equal(t, "tries", tc.tries, tries)
				sent, missing, why := o.Count()
				if sent != tc.sent || missing != 2-tc.sent || tc.why != nil && why.Error() != tc.why.Error() {
					t.Errorf("got %d sent, %d missing, %v; want %d sent, %v", sent, missing, why, tc.sent, tc.why)
				}
			})
		})
	}
}

// TestTooMany has a receiver that holds up the first batch while six more come.
func TestTooMany(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		oldest bool
		want   [][]int
	}{
		"the newest are given up": {false, [][]int{{1, 2}, {3, 4}, {5, 6}}},
		"the oldest are given up": {true, [][]int{{1, 2}, {5, 6}, {7, 8}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				var got [][]int
				opts := options(func(_ context.Context, batch []int) error {
					got = append(got, batch)
					<-release
					return nil
				})
				opts.Oldest = tc.oldest
				o := idle(opts)
				o.Put(1)
				o.Put(2)
				synctest.Wait() // until it is held up
				for i := 3; i <= 8; i++ {
					o.Put(i)
				}
				if sent, missing, why := o.Count(); sent != 0 || missing != 8 || !errors.Is(why, ErrCrowded) {
					t.Errorf("got %d sent, %d missing, %v while it is held up", sent, missing, why)
				}
				close(release)
				o.Close()
				<-o.Done()
				o.Put(9) // too late, and counted
				check.Equal(t, "batches", tc.want, got)
				if sent, missing, why := o.Count(); sent != 6 || missing != 3 || !errors.Is(why, ErrCrowded) {
					t.Errorf("got %d sent, %d missing, %v; want 6, 3", sent, missing, why)
				}
			})
		})
	}
}

// TestANudgeSendsLessThanABatch, which would wait otherwise.
func TestANudgeSendsLessThanABatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var tries []try
		o := idle(options(sender(&tries)))
		defer o.Stop()
		o.Put(1)
		synctest.Wait()
		if len(tries) != 0 {
			t.Errorf("got %v before anybody asked for it", tries)
		}
		o.Nudge()
		synctest.Wait()
		if len(tries) != 1 {
			t.Errorf("got %v, want one batch", tries)
		}
	})
}

// TestStopEnds a try that hangs, and a pause between two of them.
func TestStopEnds(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(context.Context, []int) error{
		"a try":   func(ctx context.Context, _ []int) error { <-ctx.Done(); return ctx.Err() },
		"a pause": func(context.Context, []int) error { return After(errors.New("no"), time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := idle(options(send))
				begin := time.Now()
				o.Put(1)
				o.Put(2)
				synctest.Wait()
				o.Stop()
				<-o.Done()
				if time.Since(begin) != 0 {
					t.Errorf("it took %s", time.Since(begin))
				}
				if sent, missing, _ := o.Count(); sent != 0 || missing != 2 {
					t.Errorf("got %d sent, %d missing", sent, missing)
				}
			})
		})
	}
}

// TestATryHasOnlySoLong: the context of each ends.
func TestATryHasOnlySoLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := options(func(ctx context.Context, _ []int) error { <-ctx.Done(); return ctx.Err() })
		opts.Tries, opts.Timeout = 1, time.Minute
		o := idle(opts)
		o.Put(1)
		o.Close()
		<-o.Done()
		if _, missing, why := o.Count(); missing != 1 || !errors.Is(why, context.DeadlineExceeded) {
			t.Errorf("got %d missing, %v", missing, why)
		}
	})
}
