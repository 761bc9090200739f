package outbox

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ralph/internal/testing/check"
)

func options(send func(context.Context, int) error) Options[int] {
	return Options[int]{Send: send, Size: 4, Tries: 3, Backoff: time.Second, Timeout: time.Hour}
}

// TestTries has one thing to send, and time that is not waited for.
func TestTries(t *testing.T) {
	t.Parallel()
	no := errors.New("no")
	for name, tc := range map[string]struct {
		answers []error
		tries   []time.Duration // since the beginning
		sent    int
		why     error
	}{
		"at once":                          {nil, []time.Duration{0}, 1, nil},
		"the third time":                   {[]error{no, no}, []time.Duration{0, time.Second, 3 * time.Second}, 1, no},
		"never":                            {[]error{no, no, no}, []time.Duration{0, time.Second, 3 * time.Second}, 0, no},
		"what trying again does not mend":  {[]error{Never(no)}, []time.Duration{0}, 0, no},
		"as late as the server says":       {[]error{After(no, 20*time.Second)}, []time.Duration{0, 20 * time.Second}, 1, no},
		"but not later than a minute":      {[]error{After(no, time.Hour)}, []time.Duration{0, time.Minute}, 1, no},
		"and no sooner than it would have": {[]error{After(no, time.Millisecond)}, []time.Duration{0, time.Second}, 1, no},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begin := time.Now()
				var tries []time.Duration
				o := New(options(func(context.Context, int) error {
					tries = append(tries, time.Since(begin))
					if n := len(tries); n <= len(tc.answers) {
						return tc.answers[n-1]
					}
					return nil
				}))
				o.Put(1)
				o.Close()
				<-o.Done()
				check.Equal(t, "tries", tc.tries, tries)
				sent, missing, why := o.Count()
				check.That(t, sent == tc.sent && missing == 1-tc.sent && (tc.why == nil || why.Error() == tc.why.Error()),
					"got %d sent, %d missing, %v; want %d sent, %v", sent, missing, why, tc.sent, tc.why)
			})
		})
	}
}

// TestTheOldestOfTooManyAreDropped has a receiver that holds up the first while six more come.
func TestTheOldestOfTooManyAreDropped(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		var got []int
		o := New(options(func(_ context.Context, v int) error {
			got = append(got, v)
			<-release
			return nil
		}))
		o.Put(1)
		synctest.Wait() // until it is held up
		for i := 2; i <= 7; i++ {
			o.Put(i)
		}
		sent, missing, why := o.Count()
		check.That(t, sent == 0 && missing == 7 && errors.Is(why, ErrCrowded), "got %d sent, %d missing, %v while it is held up", sent, missing, why)
		close(release)
		o.Close()
		<-o.Done()
		o.Put(8) // too late, and counted
		check.Equal(t, "sent", []int{1, 4, 5, 6, 7}, got)
		sent, missing, why = o.Count()
		check.That(t, sent == 5 && missing == 3 && errors.Is(why, ErrCrowded), "got %d sent, %d missing, %v; want 5, 3", sent, missing, why)
	})
}

// TestStopEnds a try that hangs, and a pause between two of them.
func TestStopEnds(t *testing.T) {
	t.Parallel()
	for name, send := range map[string]func(context.Context, int) error{
		"a try":   func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() },
		"a pause": func(context.Context, int) error { return After(errors.New("no"), time.Minute) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o, begin := New(options(send)), time.Now()
				o.Put(1)
				o.Put(2)
				synctest.Wait()
				o.Stop()
				<-o.Done()
				sent, missing, _ := o.Count()
				check.That(t, sent == 0 && missing == 2 && time.Since(begin) == 0, "got %d sent, %d missing after %s", sent, missing, time.Since(begin))
			})
		})
	}
}

// TestATryHasOnlySoLong: the context of each ends.
func TestATryHasOnlySoLong(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		opts := options(func(ctx context.Context, _ int) error { <-ctx.Done(); return ctx.Err() })
		opts.Tries, opts.Timeout = 1, time.Minute
		o := New(opts)
		o.Put(1)
		o.Close()
		<-o.Done()
		_, missing, why := o.Count()
		check.That(t, missing == 1 && errors.Is(why, context.DeadlineExceeded), "got %d missing, %v", missing, why)
	})
}
