package template

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"ralph/internal/plain"
	"ralph/internal/seq"
)

// The filters of a place, as in ${name|quote}.
const (
	quoteFilter = "quote" // one word, whatever the value is
	rawFilter   = "raw"   // as if it had been written there
)

// use is what a shell would take the value of a place for.
type use int

const (
	inText    use = iota // no shell reads it
	asCommand            // all of a command
	asWord               // a word or a part of one
	inQuotes             // something in which quotation marks do not help, or nobody can tell
)

// uses says for each part of a text what a place there is to the shell. A text that is no command may have scripts in it, in the
// code blocks that the shell agent runs.
func (t text) uses(command bool) []use {
	list := make([]use, len(t.parts))
	if len(t.places()) == 0 {
		return list
	}
	mark := "place"
	for slices.ContainsFunc(t.parts, func(p part) bool { return strings.Contains(p.literal, mark) }) {
		mark += "x"
	}
	var b strings.Builder
	for i, p := range t.parts {
		if b.WriteString(p.literal); p.name != "" {
			b.WriteString(token(mark, i))
		}
	}
	scripts := []string{b.String()}
	if !command {
		scripts = fencedScripts(b.String())
	}
	for _, script := range scripts {
		found := parseUses(script)
		for i, p := range t.parts {
			if p.name != "" && strings.Contains(script, token(mark, i)) {
				list[i] = found(token(mark, i))
			}
		}
	}
	return list
}

func token(mark string, i int) string { return fmt.Sprintf("%s_%d_", mark, i) }

// fencedScripts are the code blocks of a text that the shell agent may run.
func fencedScripts(text string) (scripts []string) {
	var fence plain.Fence
	var script []string
	for line := range strings.SplitSeq(text, "\n") {
		if edge := fence.Next(line); edge || !fence.Open() {
			if script != nil {
				scripts = append(scripts, strings.Join(script, "\n"))
			}
			script = nil
			continue
		}
		if slices.Contains([]string{"sh", "bash", "shell", "verify"}, fence.Language) {
			script = append(script, line)
		}
	}
	if script != nil {
		scripts = append(scripts, strings.Join(script, "\n"))
	}
	return scripts
}

// maxOpened is how many brackets a script may have: the parser goes down for each.
const maxOpened = 1000

// parseUses reads a script, and finds what a token in it is. What no shell could read tells nothing.
func parseUses(script string) func(token string) use {
	found := map[string]use{}
	opened := strings.Count(script, "(") + strings.Count(script, "{") + strings.Count(script, "`")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(script), "")
	if err != nil || opened > maxOpened {
		return func(string) use { return inQuotes }
	}
	var path []syntax.Node
	syntax.Walk(file, func(node syntax.Node) bool {
		if node == nil {
			path = path[:len(path)-1]
			return true
		}
		path = append(path, node)
		if lit, is := node.(*syntax.Lit); is {
			found[lit.Value] = max(found[lit.Value], useOf(path))
		}
		return true
	})
	return func(token string) use {
		most := inText
		for value, u := range found {
			if strings.Contains(value, token) {
				if u == asCommand && value != token {
					u = asWord
				}
				most = max(most, u)
			}
		}
		if most == inText {
			return inQuotes // in single quotation marks, or in a comment
		}
		return most
	}
}

// useOf is what a literal is, at the end of the way to it.
func useOf(path []syntax.Node) use {
	for i, node := range path {
		switch n := node.(type) {
		case *syntax.CmdSubst:
			if n.Backquotes {
				return inQuotes
			}
		case *syntax.Redirect:
			if i+1 < len(path) && n.Hdoc != nil && path[i+1] == syntax.Node(n.Hdoc) {
				return inQuotes
			}
		case *syntax.DblQuoted, *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.ParamExp:
			if !slices.ContainsFunc(path[i+1:], isSubstitution) {
				return inQuotes
			}
		}
	}
	if len(path) > 2 {
		call, is := path[len(path)-3].(*syntax.CallExpr)
		word, _ := path[len(path)-2].(*syntax.Word)
		if is && word != nil && len(call.Args) == 1 && len(call.Assigns) == 0 && call.Args[0] == word && len(word.Parts) == 1 {
			return asCommand
		}
	}
	return asWord
}

func isSubstitution(node syntax.Node) bool {
	_, is := node.(*syntax.CmdSubst)
	return is
}

// shellValue is a value as a shell is to read it; why not, otherwise.
func shellValue(p part, v value, u use) error {
	text := v.String()
	odd := strings.IndexFunc(text, func(r rune) bool { return r != ' ' && !plain.ShellWord(r) })
	switch {
	case strings.ContainsFunc(text, unicode.IsControl):
		return fmt.Errorf("the value of %s has a line break, and this is a command", p)
	case v.alien && p.filter != quoteFilter:
		return fmt.Errorf("the value of %s is text that others wrote, and this is a command; write ${%s|quote} to have it as one word", p, p.place())
	case p.filter != "" || odd < 0 && v.loose == "":
		return nil
	case v.loose != "":
		return fmt.Errorf("the value of %s has that of ${%s} in it, which means more to a shell than a word, and this is a command; write ${%s|quote} where they are put together",
			p, v.loose, v.loose)
	case u == asCommand:
		return nil
	}
	r := []rune(text[odd:])[0]
	if u == inQuotes {
		return fmt.Errorf("the value of %s has %q, which means something to a shell, and this is a command; write ${%s|quote} outside of quotation marks, or ${%s|raw} if the shell is to read it",
			p, r, p.place(), p.place())
	}
	return fmt.Errorf("the value of %s has %q, which means something to a shell, and this is a command; write ${%s|quote} to have it as one word, or ${%s|raw} if the shell is to read it",
		p, r, p.place(), p.place())
}

// filtered is a value as it is put into a text. Each entry of a list is a word.
func (p part) filtered(v value) string {
	if p.filter == quoteFilter {
		return strings.Join(seq.Map(v.names(), plain.ShellQuote), " ")
	}
	return v.String()
}

// filters refuses what a filter cannot do where it stands.
func (r *reader) filters(t text, command bool) {
	uses := t.uses(command)
	for i, p := range t.parts {
		switch {
		case p.filter == "":
		case uses[i] == inText:
			r.fault(p.line, "%s: this is no command, so there is nothing to quote; write ${%s}", p, p.place())
		case p.filter == quoteFilter && uses[i] == inQuotes:
			r.fault(p.line, "%s brings its own quotation marks, and must not be in others, in a here-document or in backquotes", p)
		}
	}
}
