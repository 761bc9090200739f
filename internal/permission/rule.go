// Package permission decides by rules that people wrote whether a call of an agent is allowed, denied, or
// a question for a person. It confines nothing: what an agent does without asking, no rule sees.
package permission

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"ralph/internal/seq"
	"ralph/internal/toolcall"
)

// Kinds lists what a rule can be about.
func Kinds() []string {
	return []string{
		toolcall.Read, toolcall.Edit, toolcall.Delete, toolcall.Move, toolcall.Search, toolcall.Execute, "think", "fetch", "switch_mode", toolcall.Other,
		toolcall.Write, toolcall.Terminal,
	}
}

// covers lists the kinds of rules that are about a call of a kind. The same thing has several names: an agent
// edits a file with a tool of its own, or has ralph write it.
func covers(kind string) []string {
	switch {
	case kind == toolcall.Write || kind == toolcall.Edit:
		return []string{toolcall.Write, toolcall.Edit}
	case kind == toolcall.Move:
		return []string{kind, toolcall.Write}
	case kind == toolcall.Terminal:
		return []string{kind, toolcall.Execute}
	case slices.Contains(Kinds(), kind):
		return []string{kind}
	}
	return []string{toolcall.Other}
}

// Rule is KIND:PATTERN. For kinds of files the pattern is a glob as doublestar has it, for all others a text in
// which * stands for any text; \* and \\ are the characters themselves.
type Rule struct {
	kind, pattern string
	pieces        []string // of the text between stars
}

func (r Rule) String() string { return r.kind + ":" + r.pattern }

const (
	maxPattern      = 4096
	maxAlternatives = 16 // they multiply
)

// ParseRule explains what is wrong with a rule that cannot be used.
func ParseRule(text string) (Rule, error) {
	r := Rule{}
	kind, pattern, found := strings.Cut(text, ":")
	r.kind, r.pattern = strings.TrimSpace(kind), strings.TrimSpace(pattern)
	switch {
	case strings.Trim(text, "*: \t") == "":
		return r, fmt.Errorf("%q matches every call or none; to decide about every call, set default", text)
	case !found:
		return r, fmt.Errorf("%q has no kind; write KIND:PATTERN, like \"execute:git push*\"", text)
	case r.kind == "*":
		return r, fmt.Errorf("%q is about every kind; name one of %s, or set default", text, strings.Join(Kinds(), ", "))
	case !slices.Contains(Kinds(), r.kind):
		return r, fmt.Errorf("%q: %q is not one of %s", text, r.kind, strings.Join(Kinds(), ", "))
	case r.pattern == "":
		return r, fmt.Errorf("%q has no pattern; for every call of the kind write %q", text, r.kind+":"+everything(r.kind))
	case len(r.pattern) > maxPattern:
		return r, fmt.Errorf("%.40q... is longer than %d bytes", text, maxPattern)
	case strings.ContainsAny(r.pattern, "\x00\n\r") || !utf8.ValidString(text):
		return r, fmt.Errorf("%q has a line break or a NUL byte, or is not UTF-8", text)
	}
	if !toolcall.OfPaths(r.kind) {
		r.pieces = pieces(r.pattern)
		return r, nil
	}
	if err := badGlob(r.pattern); err != nil {
		return r, fmt.Errorf("%q: %w", text, err)
	}
	r.pattern = strings.TrimPrefix(r.pattern, "./")
	return r, nil
}

func everything(kind string) string {
	if toolcall.OfPaths(kind) {
		return "**"
	}
	return "*"
}

func badGlob(glob string) error {
	switch {
	case !doublestar.ValidatePattern(glob):
		return errors.New("a bracket or a brace is not closed, or a backslash ends it")
	case strings.HasPrefix(glob, "~"):
		return errors.New("~ is not expanded; write the whole path, or **/NAME")
	case strings.Contains(glob, "{") && strings.Count(glob, "{")+strings.Count(glob, ",") > maxAlternatives:
		return errors.New("it has too many alternatives in braces; write several rules")
	case slices.Contains(strings.Split(glob, "/"), ".."):
		return errors.New(".. matches nothing, because paths are compared without it")
	}
	return nil
}

// exactly is the rule that matches a subject and nothing else.
func exactly(kind, subject string) (Rule, error) {
	special := `\*`
	if toolcall.OfPaths(kind) {
		special = `\*?[]{}`
	}
	var b strings.Builder
	for i := range len(subject) {
		if strings.IndexByte(special, subject[i]) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(subject[i])
	}
	rule, err := ParseRule(kind + ":" + b.String())
	if err == nil && rule.pattern != b.String() {
		err = fmt.Errorf("%q begins or ends with space, or with ./", subject)
	}
	return rule, err
}

// Matches reports whether the rule is about a call: about any part of it, if it is a command.
func (r Rule) Matches(c toolcall.Call) bool {
	return slices.ContainsFunc(split(c), r.touches)
}

// touches reports whether the rule matches a part in any form: with the program in a wrapper like sudo
// looked through, and without the folder of its name.
func (r Rule) touches(p part) bool {
	return slices.ContainsFunc(p.forms, r.is) || slices.ContainsFunc(p.inner, r.is)
}

// isAbout reports whether the rule matches a part as a whole.
func (r Rule) isAbout(p part) bool { return slices.ContainsFunc(p.forms, r.is) }

func (r Rule) is(s subject) bool {
	if !slices.Contains(s.kinds, r.kind) {
		return false
	}
	if r.pieces != nil {
		return matches(r.pieces, s.text)
	}
	ok, _ := doublestar.Match(r.pattern, s.text) // it was checked
	return ok
}

// pieces cuts a pattern at its stars.
func pieces(pattern string) []string {
	list := []string{""}
	for i := 0; i < len(pattern); i++ {
		last := &list[len(list)-1]
		switch {
		case pattern[i] == '\\' && i+1 < len(pattern) && (pattern[i+1] == '*' || pattern[i+1] == '\\'):
			i++
			*last += string(pattern[i])
		case pattern[i] == '*':
			list = append(list, "")
		default:
			*last += pattern[i : i+1]
		}
	}
	return list
}

// matches compares a text with the pieces in between stars. Each piece is looked for once, from where the last
// one ended, so the time grows with the text and not with the number of ways to match it.
func matches(pieces []string, text string) bool {
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return text == first
	}
	if len(text) < len(first)+len(last) || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, piece := range pieces[1 : len(pieces)-1] {
		i := strings.Index(text, piece)
		if i < 0 {
			return false
		}
		text = text[i+len(piece):]
	}
	return true
}

// subject is what a rule is compared with.
type subject struct {
	kinds []string // of rules that are about it
	text  string
}

func subjects(kinds []string, texts ...string) []subject {
	return seq.Map(texts, func(text string) subject { return subject{kinds, text} })
}

// part is a part of a call that is decided on its own: a simple command, or a file.
type part struct {
	forms   []subject // that mean the same, the one that people are shown first
	inner   []subject // what a wrapper may run
	besides bool      // it comes with another part: no rule needs to allow it
	unclear string    // why it is not known what the command does
}

func (p part) String() string { return p.forms[0].text }

func split(c toolcall.Call) []part {
	kinds := covers(c.Kind)
	if c.Command != "" && toolcall.IsCommand(c.Kind) {
		return splitCommand(kinds, c.Command)
	}
	parts := []part{{forms: subjects(kinds, c.Text)}}
	if len(c.Paths) > 0 {
		parts = seq.Map(c.Paths, func(name string) part { return part{forms: subjects(kinds, path.Clean(name))} })
	}
	if c.Command != "" { // an agent says that it reads, for one, and runs a command for that
		for _, p := range splitCommand(covers(toolcall.Execute), c.Command) {
			p.besides = true
			parts = append(parts, p)
		}
	}
	return parts
}
