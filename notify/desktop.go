package notify

import (
	"context"
	"errors"
	"strings"

	"ralph/internal/proc"
)

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
