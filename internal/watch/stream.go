package watch

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"ralph/internal/render"
	"ralph/internal/render/transcript"
	"ralph/internal/term"
)

// What is kept of an attempt, so that memory is bounded.
const (
	keptLines  = 2000
	keptColumn = 500
)

// stream is what an attempt said, newest last: painted, harmless lines.
type stream struct {
	lines []string
	left  bool // there is more in the file
}

// ticker turns the transcript of one attempt into lines.
type ticker struct {
	follow  transcript.Attempt
	printer transcript.Printer
	buf     bytes.Buffer
	lines   []string
	left    bool
}

func newTicker(path string, p term.Palette) *ticker {
	t := &ticker{}
	t.printer = transcript.Printer{Out: &t.buf, Palette: p}
	t.follow = transcript.Attempt{Path: path, Emit: t.print}
	return t
}

func (t *ticker) print(l transcript.Line) {
	if l.Kind == transcript.Prompt {
		l.Text = strings.TrimSpace(l.Text)
		fmt.Fprintf(&t.buf, "  %s %d lines\n", t.printer.Palette.Dim("prompt "), strings.Count(l.Text, "\n")+1)
	} else {
		t.printer.Print(l)
	}
	if t.buf.Len() > keptLines*keptColumn {
		t.collect()
	}
}

func (t *ticker) poll() error {
	left, err := t.follow.Poll()
	t.collect()
	if left > 0 {
		t.left = true
	}
	return err
}

// collect takes what was printed, and drops what is too old.
func (t *ticker) collect() {
	for l := range strings.Lines(t.buf.String()) {
		l = steady(strings.TrimRight(l, "\n"))
		t.lines = append(t.lines, strings.Split(ansi.HardwrapWc(l, keptColumn, true), "\n")...)
	}
	t.buf.Reset()
	if over := len(t.lines) - keptLines; over > 0 {
		t.lines, t.left = append([]string(nil), t.lines[over:]...), true
	}
}

// take is the stream as it is now. What it holds does not change any more.
func (t *ticker) take() *stream {
	lines := t.lines[:len(t.lines):len(t.lines)]
	if rest := strings.TrimSpace(harmless(t.follow.Unfinished())); rest != "" {
		lines = append(lines, strings.Repeat(" ", hanging)+rest)
	}
	return &stream{lines: lines, left: t.left}
}

// hanging is where the text of a line begins, behind its label.
const hanging = 10

// newest wraps lines to a width and returns the last of them that fit.
func newest(lines []string, width, height int) []string {
	var kept []string // upside down
	for i := len(lines) - 1; i >= 0 && len(kept) < height; i-- {
		wrapped := wrap(lines[i], width)
		for j := len(wrapped) - 1; j >= 0 && len(kept) < height; j-- {
			kept = append(kept, wrapped[j])
		}
	}
	slices.Reverse(kept)
	return kept
}

// wrap breaks a painted line; its other parts stand under the text, not under
// the label.
func wrap(line string, width int) []string {
	if ansi.StringWidthWc(line) <= width {
		return []string{line}
	}
	indent := hanging
	if width < 4*hanging {
		indent = 0
	}
	label, text := ansi.TruncateWc(line, indent, ""), ansi.TruncateLeftWc(line, indent, "")
	list := strings.Split(ansi.WrapWc(text, max(width-indent, 1), ""), "\n")
	for i := range list {
		if i == 0 {
			list[i] = label + list[i]
		} else {
			list[i] = strings.Repeat(" ", indent) + list[i]
		}
	}
	return list
}

// harmless makes foreign text one line that cannot do anything to a terminal.
func harmless[S ~string](s S) string { return steady(render.Line(s)) }

// steady takes out what joins characters to one: terminals do not agree on how wide
// that is, and everything to its right would be elsewhere than we think.
func steady(s string) string {
	return strings.Map(func(r rune) rune {
		if r == 0x200c || r == 0x200d || (r >= 0xfe00 && r <= 0xfe0f) {
			return -1
		}
		return r
	}, s)
}
