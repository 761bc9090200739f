package notify

import (
	"context"
	"fmt"

	"ralph/internal/human"
	"ralph/internal/outbox"
)

type send func(context.Context, Message) error

// channel is how one target is reached, with an outbox of its own.
type channel struct {
	*outbox.Outbox[Message]
	name string
	on   []string
}

// start opens a channel.
func (n *Notifier) start(name string, on []string, s send, tries int) {
	n.channels = append(n.channels, &channel{name: n.opts.Hide(name), on: on, Outbox: outbox.New(outbox.Options[Message]{
		Send: s, Size: n.opts.Size, Tries: tries, Backoff: n.opts.Backoff, Timeout: n.opts.Timeout,
	})})
}

// report says how many messages did not go out, and why the last of them did not.
func (c *channel) report(hide func(string) string) error {
	sent, missing, why := c.Count()
	if missing == 0 {
		return nil
	}
	return fmt.Errorf("notify: %s: %d of %s did not go out: %s", c.name, missing, human.Count(sent+missing, "notification"), hide(why.Error()))
}
