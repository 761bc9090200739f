package acp

import (
	"context"
	"log/slog"

	"github.com/rs/zerolog"

	"ralph/internal/redact"
)

// slogTo is the logger given to the SDK: what it says goes to ours at debug
// level, shortened and redacted, because it logs what the agent sent. It is set
// while intake is still shut, so the SDK's goroutines cannot have used it; the
// program's default logger stays as it is.
type slogTo struct {
	log  zerolog.Logger
	hide *redact.Redactor
}

func (h slogTo) Enabled(context.Context, slog.Level) bool { return true }

func (h slogTo) Handle(_ context.Context, r slog.Record) error {
	event := h.log.Debug()
	r.Attrs(func(a slog.Attr) bool {
		event.Str(a.Key, cut(h.hide.Text(a.Value.String()), 200))
		return true
	})
	event.Msg("acp: " + cut(h.hide.Text(r.Message), 200))
	return nil
}

func (h slogTo) WithAttrs([]slog.Attr) slog.Handler { return h }
func (h slogTo) WithGroup(string) slog.Handler      { return h }
