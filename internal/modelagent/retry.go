package modelagent

import (
	"cmp"
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
		var why string
		switch f.Kind {
		case Limited:
			why, wait = "the provider limits the rate", cmp.Or(f.After, wait)
		case Overloaded:
			why, wait = "the provider is overloaded", cmp.Or(f.After, wait)
		case Broken:
			why = "the provider's answer did not arrive (" + f.Text + ")"
		case TooLong, NoKey, NoModel, Bad:
			return Reply{}, err
		}
		if wait > longestWait {
			return Reply{}, err
		}
		waited(fmt.Sprintf("%s; trying again in %d s", why, (wait+time.Second-1)/time.Second))
		select {
		case <-ctx.Done():
			return Reply{}, context.Cause(ctx)
		case <-time.After(wait):
		}
	}
}
