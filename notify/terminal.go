package notify

import (
	"context"
	"io"

	"ralph/internal/outbox"
	"ralph/internal/term"
)

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
