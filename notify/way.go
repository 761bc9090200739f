package notify

import (
	"context"
	"fmt"

	"ralph/internal/outbox"
)

// send tells one message once.
type send func(context.Context, Message) error

// way is one way to one target, with an outbox of its own.
type way struct {
	*outbox.Outbox[Message]
	name string
	on   []string
}

// start makes a way. The oldest of too many messages is given up: the end of a run
// matters more than its beginning.
func (n *Notifier) start(name string, on []string, s send, tries int) {
	n.ways = append(n.ways, &way{name: n.opts.Hide(name), on: on, Outbox: outbox.New(outbox.Options[Message]{
		Send: func(ctx context.Context, one []Message) error { return s(ctx, one[0]) },
		Size: n.opts.Size, Batch: 1, Tries: tries, Backoff: n.opts.Backoff, Timeout: n.opts.Timeout, Oldest: true,
	})})
}

// report says how many messages did not go out, and why the last of them did not.
func (w *way) report(hide func(string) string) error {
	told, missing, why := w.Count()
	if missing == 0 {
		return nil
	}
	noun := "notifications"
	if missing == 1 {
		noun = "notification"
	}
	return fmt.Errorf("notify: %s: %d of %d %s did not go out: %s", w.name, missing, told+missing, noun, hide(why.Error()))
}
