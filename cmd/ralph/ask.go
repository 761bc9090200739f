package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"ralph/dag"
	"ralph/internal/term"
)

// readLine waits for a line that a person types; end means that nothing more follows. It
// reads only when it is asked to, so that nobody else's question loses its answer to it.
func readLine(ctx context.Context, a *app) (text string, end bool, err error) {
	if a.keys == nil {
		a.keys = bufio.NewReader(a.stdin)
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

// ask puts a question and reads lines until Ctrl-D.
func ask(ctx context.Context, a *app, question string) (string, error) {
	p := a.stderrPalette()
	fmt.Fprintf(a.stderr, "\n%s %s\n", p.Bold(term.Line(question)), p.Dim("(as many lines as you like, then Ctrl-D; Ctrl-D alone: nothing more to say)"))
	var b strings.Builder
	for {
		text, end, err := readLine(ctx, a)
		if err != nil {
			return "", err
		}
		if b.Len()+len(text) > maxTyped {
			return "", usagef("an answer has at most %d KiB", maxTyped>>10)
		}
		b.WriteString(text)
		if end {
			return strings.TrimSpace(strings.ToValidUTF8(b.String(), "?")), nil
		}
	}
}

// secret reads a line without showing it.
func (a *app) secret(ctx context.Context, name string) (string, error) {
	if !a.asks || a.password == nil {
		return "", hint(usagef("nobody can type %s here", name), "write it to a file and use @FILE, or - for stdin")
	}
	fmt.Fprintf(a.stderr, "%s: ", term.Line(name))
	text, err := a.password(ctx)
	fmt.Fprintln(a.stderr)
	return text, err
}

// yes asks and takes anything but a yes for a no.
func yes(ctx context.Context, a *app, question string) (bool, error) {
	fmt.Fprintf(a.stderr, "%s [y/N] ", term.Line(question))
	text, _, err := readLine(ctx, a)
	answer := strings.ToLower(strings.TrimSpace(text))
	return answer == "y" || answer == "yes", err
}

// confirm refuses unless a person says yes; without a terminal nobody can.
func confirm(ctx context.Context, a *app, question string) error {
	if !a.asks {
		return hint(fmt.Errorf("%w: %s nobody can be asked here", dag.ErrRefused, question), "say so with --yes")
	}
	if yes, _ := yes(ctx, a, question); !yes {
		return fmt.Errorf("%w: nothing was changed", dag.ErrRefused)
	}
	return nil
}

// showText lets a person see a text, on the side of the conversation.
func showText(a *app, title, text string) {
	p := a.stderrPalette()
	fmt.Fprintf(a.stderr, "\n%s\n", p.Bold(term.Line(title)+":"))
	for line := range strings.Lines(term.Block(strings.TrimSpace(text))) {
		fmt.Fprintf(a.stderr, "  %s\n", strings.TrimRight(line, "\n"))
	}
}
