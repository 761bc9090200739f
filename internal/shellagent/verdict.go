package shellagent

import (
	"fmt"
	"strings"
	"unicode"

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

// worked is the verdict on a task whose script ended.
func worked(task string, r result) string {
	switch {
	case r.ok():
		return say("The script of "+task+" ended with exit status 0.", "<task-done>"+task+"</task-done>")
	case r.code != nil && *r.code == tryAgain:
		return say(fmt.Sprintf("The script of %s ended with exit status %d, by which it asks to be tried again. This is no verdict.", task, tryAgain))
	}
	return failed(task, "The script of "+task+" failed.", r.reason())
}

// verified is the verdict on a task whose verify block ended.
func verified(task string, r result) string {
	if r.ok() {
		return say("The verify block of "+task+" ended with exit status 0.", "<verify-pass/>")
	}
	return say("The verify block of "+task+" failed.", "<verify-fail>"+r.reason()+"</verify-fail>")
}

func failed(task, what, reason string) string {
	return say(what, "<task-failed>"+task+": "+reason+"</task-failed>")
}

// say puts each part into a paragraph of its own: whatever Markdown one part
// contains then ends before the sigil begins.
func say(parts ...string) string {
	return strings.Join(parts, "\n\n") + "\n"
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
