package main

import (
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// A second view of the run that nobody closes would get every other tick of the first. Not
// parallel: it counts goroutines.
func TestOneViewOfARunReadsItsTicks(t *testing.T) {
	for name, terminal := range map[string]bool{"on a terminal": true, "in a log": false} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			x := &execution{app: newApp(system{stderr: io.Discard, errIsTerm: terminal, now: time.Now, getenv: func(string) string { return "" }})}
			if err := x.live().Close(); err != nil {
				t.Fatal(err)
			}
			goleak.VerifyNone(t, before)
		})
	}
}
