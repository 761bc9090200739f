// Package notify tells people about a run where they are: by a command, a webhook,
// the desktop or the terminal. It never holds up a run, never ends one, and never
// says what it was told to hide.
package notify

import (
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"ralph/event"
	"ralph/internal/outbox"
)

// The kinds of news that a target can ask for.
const (
	RunEnd     = "run_end"     // a run is over, whatever came of it
	TaskFailed = "task_failed" // a task has failed for good
	Blocked    = "blocked"     // a run ended because nothing can run any more
	Waiting    = "waiting"     // a run waits for a time
	Budget     = "budget"      // a run ended at a limit of money, time or iterations
	NeedsInput = "needs_input" // nothing goes on before a person does something
	Recovered  = "recovered"   // a run found what another one left when it crashed
)

// Kinds are all of them.
func Kinds() []string {
	return []string{RunEnd, TaskFailed, Blocked, Waiting, Budget, NeedsInput, Recovered}
}

// Target is somebody to be told. It may have several ways.
type Target struct {
	On      []string // kinds; none means all
	Command string   // for sh, with the message on stdin
	Webhook string   // an address
	Desktop bool
	Bell    bool // of the terminal
	Title   bool // of the terminal
}

// Options are what a Notifier works with. The zero value of each is usable.
type Options struct {
	Targets  []Target
	Project  string    // as messages name it
	Dir      string    // where commands run
	Env      []string  // the complete environment of commands
	Terminal io.Writer // nil means that there is none
	Web      outbox.Web
	Hide     func(string) string // removes secrets; nil means that there are none

	Size    int             // messages that may wait for one way; 0 means 64
	Tries   int             // for each message; 0 means 4
	Backoff time.Duration   // after the first try, then twice as long each time; 0 means a second
	Timeout time.Duration   // for one try; 0 means 10 seconds
	Flush   time.Duration   // for all that is left at the end; 0 means 5 seconds
	Hurry   <-chan struct{} // closed when nobody wants to wait for that; nil means never
}

// Notifier tells its targets. Each way has a queue and a goroutine of its own, so
// that one that hangs delays no other.
type Notifier struct {
	opts    Options
	ways    []*way
	news    news
	once    sync.Once
	missing []error
}

// New starts a Notifier. What cannot be used here is left out, and said by Missing.
func New(opts Options) *Notifier {
	if opts.Hide == nil {
		opts.Hide = func(s string) string { return s }
	}
	def(&opts.Size, 64)
	def(&opts.Tries, 4)
	def(&opts.Backoff, time.Second)
	def(&opts.Timeout, 10*time.Second)
	def(&opts.Flush, 5*time.Second)
	n := &Notifier{opts: opts, news: news{project: line(opts.Project), hide: opts.Hide}}
	for _, t := range opts.Targets {
		n.add(t)
	}
	return n
}

func def[T int | time.Duration](v *T, to T) {
	if *v <= 0 {
		*v = to
	}
}

// add makes the ways of a target.
func (n *Notifier) add(t Target) {
	on := t.On
	if len(on) == 0 {
		on = Kinds()
	}
	if t.Command != "" {
		n.start("command "+firstWord(t.Command), on, n.command(t.Command), n.opts.Tries)
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

// Event tells what an event means to people, if anything. It only puts it into
// queues.
func (n *Notifier) Event(e event.Event) {
	m, kinds := n.news.of(e)
	if len(kinds) == 0 {
		return
	}
	for _, w := range n.ways {
		for _, kind := range kinds {
			if slices.Contains(w.on, kind) {
				m.Event = kind
				w.Put(m)
				break // one message for one thing
			}
		}
	}
}

// Close tells what is left, for as long as Options.Flush or until Options.Hurry is
// closed, and says what did not go out.
func (n *Notifier) Close() error {
	var errs []error
	n.once.Do(func() {
		patience := time.NewTimer(n.opts.Flush)
		defer patience.Stop()
		for _, w := range n.ways {
			w.Close()
		}
		over := false
		for _, w := range n.ways {
			select {
			case <-w.Done():
				continue
			default:
			}
			select {
			case <-w.Done():
			case <-patience.C:
				over = true
			case <-n.opts.Hurry:
				over = true
			}
			if over {
				break
			}
		}
		for _, w := range n.ways { // before they are told to stop, which is no news
			errs = append(errs, w.report(n.opts.Hide))
		}
		for _, w := range n.ways {
			w.Stop()
		}
		// What was running is ended now, its processes with it. A terminal that is
		// stopped cannot be waited for.
		grace := time.NewTimer(killing)
		defer grace.Stop()
		for _, w := range n.ways {
			select {
			case <-w.Done():
			case <-grace.C:
				return
			}
		}
	})
	return errors.Join(errs...)
}

// killing is how long the end of a process tree is waited for.
const killing = 2 * time.Second
