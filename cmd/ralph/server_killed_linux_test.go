package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"ralph/internal/cli"
	"ralph/internal/testing/check"
)

var printedURL = regexp.MustCompile(`http://127[0-9.:]+\s`)

// TestAKillOfTheServerLosesNoAnswer: a server that dies while it carries out an answer has stored it once, or not at all, and who asked
// is told that nobody knows. Whoever repeats it then does no harm.
func TestAKillOfTheServerLosesNoAnswer(t *testing.T) {
	notRaced(t)
	for point, state := range map[string]string{"before-command": "open", "after-command": "answered"} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, asks())
			p.plan("paint")
			p.want(cli.ExitBlocked, "run")
			q := p.asked()[0]
			token := filepath.Join(t.TempDir(), "token")
			check.OK(t, os.WriteFile(token, []byte("0123456789abcdefghijklmnop"), 0o600))

			server := p.dying(point, "serve", "--listen", "127.0.0.1:0", "--token-file", token)
			eventually(t, "it serves", func() bool { return printedURL.MatchString(server.stderr.String()) })
			at := strings.TrimSpace(printedURL.FindString(server.stderr.String()))
			out := p.want(cli.ExitBug, "--server", at, "--server-token-file", token, "inbox", "answer", q.ID, "The answer is blue")
			server.wait(-1)
			out.inStderr("went away before the command ended; the change may have happened", "hint: look before you repeat it: ralph --server "+at+" status")
			check.Equal(t, "state", state, p.asked()[0].State)

			again := map[string]int{"open": cli.ExitOK, "answered": cli.ExitRefused}[state]
			p.want(again, "inbox", "answer", q.ID, "The answer is blue")
			p.want(0, "run")
			p.wantAnswered()
		})
	}
}
