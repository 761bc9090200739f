package permission

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"ralph/internal/proc"
	"ralph/internal/toolcall"
)

// What a parser is given is bounded: it goes down once for each thing that another one is in, and for some
// texts looks ahead each time. Nothing that a person would write comes near.
const (
	maxCommand = 64 << 10
	maxOpened  = 4000 // brackets, braces and backquotes
	maxParts   = 300
	maxDepth   = 8  // of commands in the arguments of others
	maxInner   = 32 // words of a wrapper at which its command may begin
)

// splitter collects the simple commands of a text.
type splitter struct {
	kinds   []string
	list    []part
	unclear string // why not everything is known that it does
	read    int    // bytes
}

// splitCommand finds the simple commands in a command line: in lists, pipes, subshells, substitutions,
// functions, and in what sh -c, eval, sudo, xargs and others are given to run.
func splitCommand(kinds []string, text string) []part {
	s := &splitter{kinds: kinds}
	s.add(text, 0)
	if s.unclear != "" || len(s.list) == 0 { // the text as it is, for rules that say exactly this
		s.list = append(s.list, part{forms: subjects(kinds, strings.TrimSpace(text)), unclear: s.unclear})
	}
	return s.list
}

func (s *splitter) add(text string, depth int) {
	s.read += len(text)
	if why := tooMuch(text, s.read, depth); why != "" {
		s.doubt(why)
		return
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		s.doubt("no shell could read it: " + err.Error())
		return
	}
	syntax.Walk(file, func(node syntax.Node) bool {
		if len(s.list) >= maxParts {
			s.doubt("it consists of too many commands")
			return false
		}
		if stmt, ok := node.(*syntax.Stmt); ok {
			s.statement(stmt, depth)
		}
		return true
	})
}

func tooMuch(text string, read, depth int) string {
	switch {
	case len(text) > maxCommand:
		return "it is longer than 64 KiB"
	case strings.Contains(text, "\x00"):
		return "it contains a NUL byte"
	case depth > maxDepth || read > 2*maxCommand || strings.Count(text, "(")+strings.Count(text, "{")+strings.Count(text, "`") > maxOpened:
		return "it is nested too deeply"
	}
	return ""
}

func (s *splitter) doubt(why string) { s.unclear = cmp.Or(s.unclear, why) }

// statement adds a simple command, and the files that a command of any sort is redirected to.
func (s *splitter) statement(stmt *syntax.Stmt, depth int) {
	for _, file := range written(stmt.Redirs) {
		s.list = append(s.list, part{forms: subjects(covers(toolcall.Write), file), besides: true})
	}
	call, _ := stmt.Cmd.(*syntax.CallExpr)
	if call == nil || len(call.Args) == 0 {
		return
	}
	words, known := make([]string, len(call.Args)), make([]bool, len(call.Args))
	for i, w := range call.Args {
		words[i], known[i] = value(w)
	}
	if !known[0] || len(words[0]) > 1 && strings.ContainsAny(words[0], "*?[{") {
		s.doubt("which program " + cut(words[0]) + " is, only the shell knows")
	}
	p := part{forms: forms(s.kinds, words)}
	s.look(words, known, depth)
	for i := 1; i < min(len(words), maxInner) && wrappers[path.Base(words[0])]; i++ {
		p.inner = append(p.inner, forms(s.kinds, words[i:])...)
		s.look(words[i:], known[i:], depth)
	}
	s.list = append(s.list, p)
}

// wrappers run a command that is among their arguments. Where it begins is not known without their options, so
// it may be any of them: a rule that denies too much is noticed, one that is bypassed is not.
var wrappers = map[string]bool{
	"sudo": true, "doas": true, "env": true, "nice": true, "ionice": true, "nohup": true, "setsid": true, "time": true, "timeout": true,
	"stdbuf": true, "command": true, "builtin": true, "exec": true, "xargs": true, "parallel": true, "find": true, "flock": true,
	"watch": true, "strace": true, "unshare": true, "busybox": true,
}

var shells = map[string]bool{"sh": true, "bash": true, "dash": true, "ash": true, "zsh": true, "ksh": true}

// look finds the commands in the text that a shell or eval is given.
func (s *splitter) look(words []string, known []bool, depth int) {
	name := path.Base(words[0])
	if name == "eval" {
		s.inside(strings.Join(words[1:], " "), !slices.Contains(known[1:], false), depth)
		return
	}
	if !shells[name] {
		return
	}
	for i := 1; i < len(words); i++ {
		switch {
		case !strings.HasPrefix(words[i], "-") && !strings.HasPrefix(words[i], "+"):
			return // a file
		case strings.HasPrefix(words[i], "--") || !strings.Contains(words[i], "c"):
		case i+1 < len(words):
			s.inside(words[i+1], known[i+1], depth)
			return
		}
	}
	s.doubt("what " + name + " is to run is not among its arguments")
}

func (s *splitter) inside(text string, known bool, depth int) {
	if !known {
		s.doubt("which commands " + cut(text) + " stands for, only the shell knows")
		return
	}
	s.add(text, depth+1)
}

// forms are the texts of a simple command: its words as the program gets them, also without the program's folder.
func forms(kinds, words []string) []subject {
	text := strings.Join(words, " ")
	list := []string{text}
	if base := path.Base(words[0]); base != words[0] {
		list = append(list, base+text[len(words[0]):])
	}
	return subjects(kinds, list...)
}

// written are the files that output is redirected to.
func written(redirs []*syntax.Redirect) (files []string) {
	for _, r := range redirs {
		switch r.Op {
		case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob, syntax.RdrInOut:
			name, _ := value(r.Word)
			files = append(files, path.Clean(name))
		}
	}
	return files
}

// value is a word as the program gets it, or as it was written if only the shell knows that.
func value(w *syntax.Word) (text string, known bool) {
	if literal, err := proc.Literal(w); err == nil {
		return literal, true
	}
	var b strings.Builder
	_ = syntax.NewPrinter().Print(&b, w) // to memory, and it was parsed
	lit, ok := w.Parts[0].(*syntax.Lit)
	home := ok && len(w.Parts) == 1 && strings.HasPrefix(lit.Value, "~/")
	return b.String(), home
}
