package shellagent

import (
	"cmp"
	"fmt"
	"strings"
	"unicode"

	"ralph/internal/plain"
	"ralph/internal/term"
)

// tryAgain is EX_TEMPFAIL of sysexits.h: the script has not failed, it could
// not do its work yet.
const tryAgain = 75

// result is how a script ended.
type result struct {
	code   *int
	signal string
	output string
}

func (r result) ok() bool { return r.code != nil && *r.code == 0 }

// ending says how the script ended, in the words of a shell's user.
func (r result) ending() string {
	switch {
	case r.code != nil:
		return fmt.Sprintf("exit status %d", *r.code)
	case r.signal != "":
		return "killed by signal " + tail(r.signal)
	}
	return "ended without an exit status"
}

// reason is the ending with the last lines of the output.
func (r result) reason() string {
	if last := tail(r.output); last != "" {
		return r.ending() + ": " + last
	}
	return r.ending()
}

// verdict is the answer about a script that ended.
func (j job) verdict(r result) string {
	script, good := "The script of "+j.task, "<task-done>"+j.task+"</task-done>"
	if j.verify {
		script, good = "The verify block of "+j.task, "<verify-pass/>"
	}
	switch {
	case r.ok() && j.output && !j.verify:
		return say(script+" ended with exit status 0. It printed:", quotation(r.output), good)
	case r.ok():
		return say(script+" ended with exit status 0.", good)
	case !j.verify && r.code != nil && *r.code == tryAgain:
		return say(fmt.Sprintf("%s ended with exit status %d, by which it asks to be tried again. This is no verdict.", script, tryAgain))
	}
	return say(script+" failed.", j.bad(r.reason()))
}

// refuse is the answer about a script that cannot be run.
func (j job) refuse(problem string) string {
	cannot := " cannot be run."
	if j.verify {
		cannot = " cannot be verified."
	}
	return say("The task "+j.task+cannot, j.bad(quote(problem)))
}

func (j job) bad(reason string) string {
	if j.verify {
		return "<verify-fail>" + reason + "</verify-fail>"
	}
	return "<task-failed>" + j.task + ": " + reason + "</task-failed>"
}

// say puts each part into a paragraph of its own: whatever Markdown one part
// contains then ends before the sigil begins.
func say(parts ...string) string {
	return strings.Join(parts, "\n\n") + "\n"
}

// shared is how much of what a script printed is passed on.
const shared = 6 << 10

// quotation is the end of an output as a quotation, in which no sigil counts.
func quotation(output string) string {
	var b strings.Builder
	for line := range strings.Lines(term.Block(strings.ToValidUTF8(plain.Tail(output, shared), "?"))) {
		b.WriteString("> " + strings.TrimRight(line, " \r\n") + "\n")
	}
	return cmp.Or(strings.TrimRight(b.String(), "\n"), "> (nothing)")
}

const (
	tailLines = 5
	tailRunes = 600
)

// tail returns the last lines of an output on one line, fit to stand in a
// sigil.
func tail(output string) string {
	var lines []string
	for line := range strings.Lines(output) {
		if line = strings.TrimSpace(quote(line)); line != "" {
			lines = append(lines, line)
		}
	}
	lines = lines[max(0, len(lines)-tailLines):]
	last := []rune(strings.Join(lines, " | "))
	if len(last) > tailRunes {
		return "…" + string(last[len(last)-tailRunes:])
	}
	return string(last)
}

// quote makes text harmless inside a sigil: no tag can begin in it, no code
// span either, and no control character or escape sequence reaches a terminal.
func quote(s string) string {
	s = strings.ToValidUTF8(term.Strip(s), "?")
	return strings.Map(func(r rune) rune {
		switch {
		case r == '<':
			return '‹'
		case r == '`':
			return '\''
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r):
			return -1
		}
		return r
	}, s)
}
