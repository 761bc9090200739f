package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/term"
)

// ReadLine waits for a line that a person types; end means that nothing more follows. It
// reads only when it is asked to, so that nobody else's question loses its answer to it.
func ReadLine(ctx context.Context, a *App) (text string, end bool, err error) {
	if a.keys == nil {
		a.keys = bufio.NewReader(a.Stdin)
	}
	type line struct {
		text string
		err  error
	}
	read := make(chan line, 1)
	go func() {
		text, err := a.keys.ReadString('\n')
		read <- line{text, err}
	}()
	select {
	case l := <-read:
		if errors.Is(l.err, io.EOF) {
			return l.text, true, nil
		}
		return l.text, false, l.err
	case <-ctx.Done():
		return "", true, context.Cause(ctx)
	}
}

// maxTyped is the longest answer that is read.
const maxTyped = 1 << 20

// Ask puts a question and reads lines until Ctrl-D.
func Ask(ctx context.Context, a *App, question string) (string, error) {
	p := a.StderrPalette()
	fmt.Fprintf(a.Stderr, "\n%s %s\n", p.Bold(term.Line(question)), p.Dim("(as many lines as you like, then Ctrl-D; Ctrl-D alone: nothing more to say)"))
	var b strings.Builder
	for {
		text, end, err := ReadLine(ctx, a)
		if err != nil {
			return "", err
		}
		if b.Len()+len(text) > maxTyped {
			return "", Usagef("an answer has at most %d KiB", maxTyped>>10)
		}
		b.WriteString(text)
		if end {
			return strings.TrimSpace(strings.ToValidUTF8(b.String(), "?")), nil
		}
	}
}

// Secret reads a line without showing it.
func (a *App) Secret(ctx context.Context, name string) (string, error) {
	if !a.Asks || a.Password == nil {
		return "", Hint(Usagef("nobody can type %s here", name), "write it to a file and use @FILE, or - for stdin")
	}
	fmt.Fprintf(a.Stderr, "%s: ", term.Line(name))
	text, err := a.Password(ctx)
	fmt.Fprintln(a.Stderr)
	return text, err
}

// Yes asks and takes anything but a yes for a no.
func Yes(ctx context.Context, a *App, question string) (bool, error) {
	fmt.Fprintf(a.Stderr, "%s [y/N] ", term.Line(question))
	text, _, err := ReadLine(ctx, a)
	answer := strings.ToLower(strings.TrimSpace(text))
	return answer == "y" || answer == "yes", err
}

// Confirm refuses unless a person says yes; without a terminal nobody can.
func Confirm(ctx context.Context, a *App, question string) error {
	if !a.Asks {
		return Hint(fmt.Errorf("%w: %s nobody can be asked here", dag.ErrRefused, question), "say so with --yes")
	}
	if yes, _ := Yes(ctx, a, question); !yes {
		return fmt.Errorf("%w: nothing was changed", dag.ErrRefused)
	}
	return nil
}

// ShowText lets a person see a text, on the side of the conversation.
func ShowText(a *App, title, text string) {
	p := a.StderrPalette()
	fmt.Fprintf(a.Stderr, "\n%s\n", p.Bold(term.Line(title)+":"))
	for line := range strings.Lines(term.Block(strings.TrimSpace(text))) {
		fmt.Fprintf(a.Stderr, "  %s\n", strings.TrimRight(line, "\n"))
	}
}

// silence is how long a step may take before a person wants to know what it waits for.
const silence = 500 * time.Millisecond

// WaitingFor does a step, and says what it waits for if it takes long.
func WaitingFor(a *App, what string, do func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-time.After(silence):
			a.Note("waiting for %s", what)
		case <-over:
		}
	}()
	do()
	close(over)
	<-ended
}

// InGitHubActions reports whether a run is a step of a workflow of GitHub.
func InGitHubActions(a *App) bool { return a.Getenv("GITHUB_ACTIONS") == "true" }

// InCI says that ralph runs in a pipeline, on a machine that keeps nothing.
func InCI(a *App) bool {
	value := a.Getenv("CI")
	return value != "" && value != "false" && value != "0" || InGitHubActions(a)
}
