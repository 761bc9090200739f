package remote

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"ralph/dag"
	"ralph/internal/inbox"
	"ralph/internal/seq"
	"ralph/loop/attempt"
)

// bufferedInbox is where an agent asks that is on another machine than the people who answer: what it asks parks its task, and is asked
// when the result is stored. It knows the messages that came before the attempt.
type bufferedInbox struct {
	record func(context.Context, attempt.Record) error

	mu    sync.Mutex
	mail  []inbox.Request
	given []string
	asked []inbox.Request
	sent  int
}

func (b *bufferedInbox) Ask(ctx context.Context, r inbox.Request) (inbox.Request, error) {
	r.State = inbox.Open
	if !r.Parks { // no one can answer while it waits
		return r, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	same := func(other inbox.Request) bool { return other.Kind == r.Kind && other.Text == r.Text }
	if i := slices.IndexFunc(b.asked, same); i >= 0 {
		return b.asked[i], nil
	}
	if len(b.asked) >= inbox.MaxAsked {
		return r, fmt.Errorf("%w: an attempt may ask %d questions", dag.ErrRefused, inbox.MaxAsked)
	}
	r.ID = fmt.Sprintf("q-asked-%d", len(b.asked)) // until it is stored
	b.asked = append(b.asked, r)
	return r, b.record(ctx, attempt.Record{Asked: &r})
}

func (b *bufferedInbox) Send(ctx context.Context, task, text string) error {
	b.mu.Lock()
	b.sent++
	over := b.sent > attempt.MaxSent
	b.mu.Unlock()
	if over {
		return attempt.ErrSent
	}
	return b.record(ctx, attempt.Record{Sent: &attempt.Message{Task: task, Text: text}})
}

func (b *bufferedInbox) Messages(ctx context.Context) ([]inbox.Request, error) {
	return b.Unread(ctx), nil
}

func (b *bufferedInbox) Unread(context.Context) []inbox.Request {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.mail)
}

func (b *bufferedInbox) Give(list []inbox.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	ids := seq.Map(list, func(r inbox.Request) string { return r.ID })
	b.given = append(b.given, ids...)
	b.mail = slices.DeleteFunc(b.mail, func(r inbox.Request) bool { return slices.Contains(ids, r.ID) })
}

func (b *bufferedInbox) Received(ctx context.Context) {
	b.mu.Lock()
	given := b.given
	b.given = nil
	b.mu.Unlock()
	if len(given) > 0 {
		_ = b.record(ctx, attempt.Record{Received: given}) // nothing fails here
	}
}

func (b *bufferedInbox) Queries(context.Context) []inbox.Request     { return nil }
func (b *bufferedInbox) Reply(_ context.Context, _ string, _ string) {}
