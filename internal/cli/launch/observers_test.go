package launch

import (
	"io"
	"testing"
	"time"

	"go.uber.org/goleak"

	"ralph/internal/cli"
)

// A second view of the run that nobody closes would get every other tick of the first. Not
// parallel: it counts goroutines.
func TestOneViewOfARunReadsItsTicks(t *testing.T) {
	for name, terminal := range map[string]bool{"on a terminal": true, "in a log": false} {
		t.Run(name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			x := &execution{app: cli.New(cli.System{Stderr: io.Discard, ErrIsTerm: terminal, Now: time.Now, Getenv: func(string) string { return "" }}, cli.Command{})}
			if err := x.live().Close(); err != nil {
				t.Fatal(err)
			}
			goleak.VerifyNone(t, before)
		})
	}
}
