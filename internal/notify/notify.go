// Package notify notifies people of a run where they are: by a command, a webhook,
// the desktop or the terminal. It never holds up a run, never ends one, and never
// reveals what is to be hidden.
package notify

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/internal/event"
	"ralph/internal/outbox"
)

// Target is somebody to notify. It may have several channels.
type Target struct {
	On      []string // kinds of package event; none means all
	Command string   // for sh, with the message on stdin
	Webhook string   // an address
	Desktop bool
	Bell    bool // of the terminal
	Title   bool // of the terminal
}

// Options are what a Notifier works with. Only Hide must be set.
type Options struct {
	Targets  []Target
	Project  string    // as messages name it
	Dir      string    // where commands run
	Env      []string  // the complete environment of commands
	Terminal io.Writer // nil means that there is none
	Web      outbox.Web
	Hide     func(string) string // removes secrets

	Size    int              // messages that may wait for one channel; 0 means 64
	Tries   int              // for each message; 0 means 4
	Backoff time.Duration    // after the first try, then twice as long each time; 0 means a second
	Timeout time.Duration    // for one try; 0 means 10 seconds
	Flush   time.Duration    // for all that is left at the end; 0 means 5 seconds
	Hurry   <-chan os.Signal // looked at by Close only: a signal says that nobody wants to wait for that; nil means never
}

// Notifier notifies its targets. Each channel has a queue and a goroutine of its own, so
// that one that hangs delays no other.
type Notifier struct {
	opts     Options
	channels []*channel
	news     News
	once     sync.Once
	missing  []error
}

// New starts a Notifier. What cannot be used here is left out, and said by Missing.
func New(opts Options) *Notifier {
	opts.Size, opts.Tries = cmp.Or(opts.Size, 64), cmp.Or(opts.Tries, 4)
	opts.Backoff, opts.Timeout = cmp.Or(opts.Backoff, time.Second), cmp.Or(opts.Timeout, 10*time.Second)
	opts.Flush = cmp.Or(opts.Flush, 5*time.Second)
	n := &Notifier{opts: opts, news: News{Project: line(opts.Project), Hide: opts.Hide}}
	for _, t := range opts.Targets {
		n.add(t)
	}
	return n
}

func (n *Notifier) add(t Target) {
	on := t.On
	if len(on) == 0 {
		on = event.NoticeKinds()
	}
	if t.Command != "" {
		word, _, _ := strings.Cut(strings.TrimSpace(t.Command), " ")
		n.start("command "+line(word), on, n.command(t.Command), n.opts.Tries)
	}
	if t.Webhook != "" {
		n.start("webhook "+outbox.Host(t.Webhook), on, n.webhook(t.Webhook), n.opts.Tries)
	}
	if t.Desktop {
		s, err := n.desktop()
		if err != nil {
			n.missing = append(n.missing, err)
		} else {
			n.start("desktop", on, s, 1)
		}
	}
	if (t.Bell || t.Title) && n.opts.Terminal != nil {
		n.start("terminal", on, n.terminal(t.Bell, t.Title), 1)
	}
}

// Missing says what cannot be used on this machine; nil if nothing.
func (n *Notifier) Missing() error { return errors.Join(n.missing...) }

// Event notifies of an event that people need to know of. It only fills queues.
func (n *Notifier) Event(e event.Event) {
	if m, needed := n.news.Of(e); needed && e.Type != event.Notified { // which Send has sent
		n.each(e, m, func(c *channel, m Message) { c.Put(m) })
	}
}

// Send notifies of what a task says, and returns when each channel has sent it or given up.
func (n *Notifier) Send(ctx context.Context, e event.Event) {
	m, _ := n.news.Of(e)
	var sending sync.WaitGroup
	n.each(e, m, func(c *channel, m Message) { sending.Go(func() { c.Send(ctx, m) }) })
	sending.Wait()
}

// each is called for the channels that are to have an event, with its message.
func (n *Notifier) each(e event.Event, m Message, do func(*channel, Message)) {
	for _, c := range n.channels {
		if i := slices.IndexFunc(e.Notices(), func(kind string) bool { return slices.Contains(c.on, kind) }); i >= 0 {
			m.Event = e.Notices()[i] // one message for one thing
			do(c, m)
		}
	}
}

// Close tells what is left, for as long as Options.Flush or until a signal of
// Options.Hurry, and says what did not go out.
func (n *Notifier) Close() error {
	var errs []error
	n.once.Do(func() {
		for _, c := range n.channels {
			c.Close()
		}
		n.wait(n.opts.Flush, n.opts.Hurry)
		for _, c := range n.channels { // before they are stopped, which is no news
			errs = append(errs, c.report(n.opts.Hide))
		}
		for _, c := range n.channels {
			c.Stop()
		}
		// What was running is ended now, its processes with it. A terminal that is
		// stopped cannot be waited for.
		n.wait(killing, nil)
	})
	return errors.Join(errs...)
}

// wait returns when every channel is done, after so long, or in a hurry.
func (n *Notifier) wait(most time.Duration, hurry <-chan os.Signal) {
	over := time.NewTimer(most)
	defer over.Stop()
	for _, c := range n.channels {
		select {
		case <-c.Done(): // also if the time is over
			continue
		default:
		}
		select {
		case <-c.Done():
		case <-over.C:
			return
		case <-hurry:
			return
		}
	}
}

// killing is how long the end of a process tree is waited for.
const killing = 2 * time.Second
