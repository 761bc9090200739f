package render

import (
	"fmt"
	"io"
	"testing"

	"ralph/event"
	"ralph/internal/testing/check"
)

func BenchmarkUpdates(b *testing.B) {
	const updates = 20_000
	events := make([]event.Event, updates)
	for i := range events {
		events[i] = text("some words of an agent, ")
		if i%20 == 0 {
			events[i] = tool(fmt.Sprint(i))
			events[i].Tool.Title, events[i].Tool.New = "go test ./...", true
		}
	}
	opts := Options{Out: io.Discard, Now: now}
	for name, sink := range map[string]func() Sink{
		"terminal": func() Sink { return NewTerminal(opts) },
		"plain":    func() Sink { return NewPlain(opts) },
		"json":     func() Sink { return NewJSON(io.Discard) },
		"async":    func() Sink { return NewAsync(NewTerminal(opts), AsyncOptions{}) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				s := sink()
				for _, e := range events {
					s.Event(e)
				}
				check.OK(b, s.Close())
			}
			b.ReportMetric(float64(updates)*float64(b.N)/b.Elapsed().Seconds(), "updates/s")
		})
	}
}
