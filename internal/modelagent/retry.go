package modelagent

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	retries     = 3
	longestWait = time.Minute // that is worth waiting for; whoever runs the agent can plan for a longer one
)

// ask sends a request and tries again where that may help; waited is told in words why it waits. The error is that of
// the last try.
func ask(ctx context.Context, p Provider, r Request, thought func(string), waited func(why string)) (Reply, error) {
	for n := 0; ; n++ {
		reply, err := p.Send(ctx, r, thought)
		var f *Failure
		if err == nil || n == retries || !errors.As(err, &f) {
			return reply, err
		}
		// 1, 2, 4 seconds, and a little more, so that agents that failed together do not come back together.
		wait := time.Second<<n + rand.N(250*time.Millisecond)
		why := "the provider's answer did not arrive (" + f.Text + ")"
		switch f.Kind {
		case Limited, Overloaded:
			why = "the provider limits the rate"
			if f.Kind == Overloaded {
				why = "the provider is overloaded"
			}
			if f.After > 0 {
				wait = f.After
			}
		case Broken:
		case TooLong, NoKey, NoModel, Bad:
			return Reply{}, err
		}
		if wait > longestWait {
			return Reply{}, err
		}
		waited(fmt.Sprintf("%s; trying again in %d s", why, (wait+time.Second-1)/time.Second))
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return Reply{}, context.Cause(ctx)
		case <-timer.C:
		}
	}
}
