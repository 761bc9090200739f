package loop

import (
	"sync"
	"time"

	"ralph/internal/event"
	"ralph/internal/redact"
)

// bus stamps events and hands them to the observer one at a time.
type bus struct {
	observe func(event.Event) // nil drops them
	redact  *redact.Redactor
	now     func() time.Time
	run     string

	mu sync.Mutex // held while the observer runs

	warning sync.Mutex
	warned  map[string]bool
}

func (b *bus) emit(e event.Event) {
	if b.observe == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	e.V, e.At, e.Run = event.Version, b.now().UTC(), b.run
	b.observe(redact.Deep(b.redact, e))
}

func (b *bus) warn(task, text string) {
	b.emit(event.Event{Type: event.Warned, Task: task, Text: text})
}

// warnOnce warns about a subject the first time in a run.
func (b *bus) warnOnce(subject, text string) {
	if b.first(subject) {
		b.warn("", text)
	}
}

// first says that a subject comes up for the first time in a run.
func (b *bus) first(subject string) bool {
	b.warning.Lock()
	defer b.warning.Unlock()
	again := b.warned[subject]
	b.warned[subject] = true
	return !again
}
