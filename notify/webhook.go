package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"

	"ralph/internal/outbox"
)

// webhook posts {"text": "..."}, which Slack and those that imitate it understand.
func (n *Notifier) webhook(address string) send {
	return func(ctx context.Context, m Message) error {
		body, err := slack(m)
		if err != nil {
			return outbox.Never(err)
		}
		return n.opts.Web.Post(ctx, address, map[string]string{"Content-Type": "application/json"}, body)
	}
}

// slack is the body of a message. What a task is called must not call everybody.
func slack(m Message) ([]byte, error) {
	text := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(m.Text)
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(map[string]string{"text": text})
	return b.Bytes(), err
}
