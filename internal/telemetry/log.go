// Package telemetry reports a run to machines: structured logs, metrics for Prometheus
// and traces for OpenTelemetry. It never delays a run and never ends one.
package telemetry

import (
	"io"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"ralph/internal/event"
)

// LogOptions are where a log goes and how it looks. Out and Hide must be set.
type LogOptions struct {
	Out   io.Writer
	JSON  bool
	Level zerolog.Level
	Hide  func(string) string // removes secrets
}

// Log writes a line for each step of a run. Each has the run, and the task and the
// attempt that it belongs to. What agents say is not in it: transcripts are for that.
type Log struct {
	log  zerolog.Logger
	hide func(string) string
	out  *remembering
	mu   sync.Mutex
	at   map[string]place // of a task that is worked on
}

// place is where an event happened.
type place struct {
	attempt   string
	iteration int
}

// NewLog returns a log.
func NewLog(opts LogOptions) *Log {
	l := &Log{hide: opts.Hide, out: &remembering{to: opts.Out}, at: map[string]place{}}
	var to io.Writer = l.out
	if !opts.JSON {
		to = zerolog.ConsoleWriter{Out: l.out, NoColor: true, TimeFormat: stamp}
	}
	l.log = zerolog.New(to).Level(opts.Level)
	return l
}

// stamp has milliseconds: steps are often closer than seconds.
const stamp = "2006-01-02T15:04:05.000Z07:00"

// remembering keeps the first error, which Close returns, instead of failing at each line.
type remembering struct {
	to  io.Writer
	err error
}

func (r *remembering) Write(p []byte) (int, error) {
	if r.err == nil {
		_, r.err = r.to.Write(p)
	}
	return len(p), nil
}

// Close returns the first error of writing.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.err
}

// Event writes the line of an event, if it has one.
func (l *Log) Event(e event.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if e.Type == event.TaskClaimed {
		l.at[e.Task] = place{e.Attempt, e.Iteration}
	}
	if line, message := l.line(e); line != nil {
		line.Msg(message)
	}
	if e.Type == event.AttemptEnded {
		delete(l.at, e.Task)
	}
}

// line is the line of an event with its level, and what it says; nil if it has none.
func (l *Log) line(e event.Event) (*zerolog.Event, string) {
	level, message := levelOf(e), messages[e.Type].text
	if message == "" || level < l.log.GetLevel() {
		return nil, ""
	}
	line := l.log.WithLevel(level)
	line.Str("time", e.At.Format(stamp)).Str("run", e.Run)
	where := l.at[e.Task]
	if e.Attempt != "" {
		where.attempt = e.Attempt
	}
	if e.Task != "" {
		line.Str("task", e.Task).Str("attempt", where.attempt)
	}
	if e.Iteration == 0 {
		e.Iteration = where.iteration
	}
	if e.Iteration > 0 {
		line.Int("iteration", e.Iteration)
	}
	l.fields(line, e)
	return line, message
}

// texts adds pairs of keys and values, unless a value is empty.
func (l *Log) texts(line *zerolog.Event, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		if pair[1] != "" {
			line.Str(pair[0], l.hide(pair[1]))
		}
	}
}
