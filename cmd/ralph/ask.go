package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"ralph/internal/term"
)

// typedLine is a line that a person typed; end means that nothing more follows.
type typedLine struct {
	text string
	end  bool
	err  error
}

// readLine waits for a line. It reads only when it is asked to, so that nobody else's
// question loses its answer to it.
func (a *app) readLine(ctx context.Context) typedLine {
	if a.keys == nil {
		a.keys = bufio.NewReader(a.stdin)
	}
	read := make(chan typedLine, 1)
	go func() {
		text, err := a.keys.ReadString('\n')
		l := typedLine{text: text, end: errors.Is(err, io.EOF)}
		if err != nil && !l.end {
			l.err = err
		}
		read <- l
	}()
	select {
	case l := <-read:
		return l
	case <-ctx.Done():
		return typedLine{end: true, err: context.Cause(ctx)}
	}
}

// maxTyped is the longest answer that is read.
const maxTyped = 1 << 20

// ask puts a question and reads lines until Ctrl-D.
func (a *app) ask() func(context.Context, string) (string, error) {
	return func(ctx context.Context, question string) (string, error) {
		p := a.stderrPalette()
		fmt.Fprintf(a.stderr, "\n%s %s\n", p.Bold(term.Line(question)), p.Dim("(as many lines as you like, then Ctrl-D; Ctrl-D alone: nothing more to say)"))
		var b strings.Builder
		for {
			l := a.readLine(ctx)
			if l.err != nil {
				return "", l.err
			}
			if b.Len()+len(l.text) > maxTyped {
				return "", usagef("an answer has at most %d KiB", maxTyped>>10)
			}
			b.WriteString(l.text)
			if l.end {
				return strings.TrimSpace(strings.ToValidUTF8(b.String(), "?")), nil
			}
		}
	}
}

// show lets a person see a text, on the side of the conversation.
func (a *app) show() func(title, text string) {
	return func(title, text string) {
		p := a.stderrPalette()
		fmt.Fprintf(a.stderr, "\n%s\n", p.Bold(term.Line(title)+":"))
		for line := range strings.Lines(term.Block(strings.TrimSpace(text))) {
			fmt.Fprintf(a.stderr, "  %s\n", strings.TrimRight(line, "\n"))
		}
	}
}
