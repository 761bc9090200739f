package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/outbox"
	"ralph/internal/proc"
	"ralph/internal/term"
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

// command runs a command line with the message as JSON on stdin and its parts in
// the environment.
func (n *Notifier) command(line string) send {
	return func(ctx context.Context, m Message) error {
		input, err := json.Marshal(m)
		if err != nil {
			return outbox.Never(err)
		}
		env := append(slices.Clone(n.opts.Env),
			"RALPH_NOTIFY_EVENT="+m.Event, "RALPH_NOTIFY_TITLE="+m.Title, "RALPH_NOTIFY_TEXT="+m.Text, "RALPH_NOTIFY_PROJECT="+m.Project,
			"RALPH_NOTIFY_RUN="+m.Run, "RALPH_NOTIFY_TASK="+m.Task, "RALPH_NOTIFY_OUTCOME="+m.Outcome)
		return n.run(ctx, []string{"sh", "-c", line}, env, append(input, '\n'))
	}
}

// maxSaid is how much of what a command prints is looked at.
const maxSaid = 4 << 10

// run runs a command to its end, or ends it with everything that it started.
func (n *Notifier) run(ctx context.Context, argv, env []string, input []byte) error {
	ran, err := proc.Run(ctx, proc.Spec{Argv: argv, Dir: n.opts.Dir, Env: env}, input, maxSaid)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("it did not end within %s", n.opts.Timeout)
	case errors.Is(err, proc.ErrNotFound):
		return outbox.Never(err)
	case err != nil:
		return err
	case !ran.Exit.Ok():
		return errors.New(strings.TrimSuffix(ran.Exit.String()+": "+cmp.Or(line(string(ran.Stderr)), line(string(ran.Stdout))), ": "))
	}
	return nil
}

func (n *Notifier) desktop() (send, error) {
	if path, err := proc.Lookup("notify-send", n.opts.Dir, n.opts.Env); err == nil {
		return func(ctx context.Context, m Message) error {
			// Bodies may be markup; titles are not.
			body := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(rest(m))
			return n.run(ctx, []string{path, "--app-name=ralph", "--", m.Title, body}, n.opts.Env, nil)
		}, nil
	}
	if path, err := proc.Lookup("osascript", n.opts.Dir, n.opts.Env); err == nil {
		return func(ctx context.Context, m Message) error {
			// As arguments, so that nothing in a message is code.
			return n.run(ctx, []string{
				path, "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", "--", m.Title, rest(m),
			}, n.opts.Env, nil)
		}, nil
	}
	return nil, errors.New("notify: desktop: there is neither notify-send nor osascript here")
}

func rest(m Message) string {
	_, text, _ := strings.Cut(m.Text, "\n")
	return text
}

// terminal rings the bell and sets the title of the window. Both leave the cursor
// where it is, so they may come between other output.
func (n *Notifier) terminal(bell, title bool) send {
	return func(_ context.Context, m Message) error {
		text := ""
		if title {
			text += "\x1b]2;" + term.Line(m.Title) + "\x1b\\"
		}
		if bell {
			text += "\a"
		}
		if _, err := io.WriteString(n.opts.Terminal, text); err != nil {
			return outbox.Never(err)
		}
		return nil
	}
}

// webhook posts {"text": "..."}, which Slack and those that imitate it understand.
func (n *Notifier) webhook(address string) send {
	return func(ctx context.Context, m Message) error {
		// What a task is called must not call everybody.
		text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(m.Text)
		body, err := jsonval.Marshal(map[string]string{"text": text})
		if err != nil {
			return outbox.Never(err)
		}
		return n.opts.Web.Post(ctx, address, map[string]string{"Content-Type": "application/json"}, body)
	}
}
