// Package fill fills templates that are part of the program, in the part of
// text/template's language that they use. It never calls a method of what it is
// given: text/template can call any, and the linker then keeps all of them, in the
// whole program.
package fill

import (
	"fmt"
	"strconv"
	"strings"
)

// Func is what a template may call by name.
type Func func(args ...any) any

// Template is a text with actions in it: {{.Field}}, {{$.Field}}, {{f .A "text" 3}},
// if, else if, else, with, range, template, define, end, and the trim marks.
type Template struct {
	Funcs  map[string]Func
	Escape func(any) string // how what is filled in is written; nil means as it is

	nodes []node
	named map[string][]node
}

type kind int

const (
	text kind = iota
	show
	choose  // if
	enter   // with
	each    // range
	include // template
)

// node is a piece of a template.
type node struct {
	kind  kind
	text  string // or the name of what is included
	expr  expr
	body  []node
	other []node // else
}

// expr is a value: a call, a path of fields, or a literal.
type expr struct {
	call    string
	args    []expr
	top     bool // the path begins at $
	path    []string
	literal any
}

// Parse reads a template. Fields and functions are looked up when it is filled.
func Parse(source string) (*Template, error) {
	p := &parser{rest: source, named: map[string][]node{}}
	nodes, end, err := p.block()
	if err != nil {
		return nil, err
	}
	if end != "" {
		return nil, fmt.Errorf("{{%s}} without a beginning", end)
	}
	return &Template{nodes: nodes, named: p.named}, nil
}

type parser struct {
	rest  string
	trim  bool // space at the beginning of the rest goes
	named map[string][]node
}

// next takes the text up to the next action, and the action.
func (p *parser) next() (before, action string, found bool, err error) {
	before, rest, found := strings.Cut(p.rest, "{{")
	if p.trim {
		before = strings.TrimLeft(before, space)
	}
	p.rest, p.trim = rest, false
	if !found {
		return before, "", false, nil
	}
	if action, p.rest, found = strings.Cut(rest, "}}"); !found {
		return "", "", false, fmt.Errorf("an action does not end: {{%.40s", rest)
	}
	if strings.HasPrefix(action, "- ") {
		before, action = strings.TrimRight(before, space), action[2:]
	}
	if strings.HasSuffix(action, " -") {
		action, p.trim = action[:len(action)-2], true
	}
	return before, strings.Trim(action, space), true, nil
}

const space = " \t\r\n"

// block reads until an end or an else, which it returns; "" at the end of the text.
func (p *parser) block() (nodes []node, end string, err error) {
	for {
		before, action, found, err := p.next()
		if err != nil {
			return nil, "", err
		}
		if before != "" {
			nodes = append(nodes, node{kind: text, text: before})
		}
		if !found {
			return nodes, "", nil
		}
		word, arg, _ := strings.Cut(action, " ")
		var n node
		switch word {
		case "end", "else":
			return nodes, action, nil
		case "if":
			n, err = p.branch(choose, arg)
		case "with":
			n, err = p.branch(enter, arg)
		case "range":
			n, err = p.branch(each, arg)
		case "define":
			if err := p.define(arg); err != nil {
				return nil, "", err
			}
			continue
		case "template":
			var args []expr
			if args, err = parseArgs(arg); err == nil && len(args) != 2 {
				err = fmt.Errorf("{{%s}} takes a name and a value", action)
			}
			if err == nil {
				name, _ := args[0].literal.(string)
				n = node{kind: include, text: name, expr: args[1]}
			}
		default:
			n = node{kind: show}
			n.expr, err = parseExpr(action)
		}
		if err != nil {
			return nil, "", err
		}
		nodes = append(nodes, n)
	}
}

// branch reads what belongs to an if, a with or a range.
func (p *parser) branch(k kind, condition string) (n node, err error) {
	n.kind = k
	if n.expr, err = parseExpr(condition); err != nil {
		return n, err
	}
	body, end, err := p.block()
	if err != nil {
		return n, err
	}
	n.body = body
	if again, ok := strings.CutPrefix(end, "else if "); ok {
		other, err := p.branch(choose, again)
		n.other = []node{other}
		return n, err
	}
	if end == "else" {
		if n.other, end, err = p.block(); err != nil {
			return n, err
		}
	}
	if end != "end" {
		return n, fmt.Errorf("{{end}} is missing after %q", condition)
	}
	return n, nil
}

func (p *parser) define(name string) error {
	unquoted, err := strconv.Unquote(name)
	if err != nil {
		return fmt.Errorf("define %s: %w", name, err)
	}
	nodes, end, err := p.block()
	if err == nil && end != "end" {
		err = fmt.Errorf("{{end}} is missing after define %s", name)
	}
	p.named[unquoted] = nodes
	return err
}

// parseExpr reads one value, or the name of a function and what it is given.
func parseExpr(s string) (expr, error) {
	args, err := parseArgs(s)
	switch {
	case err != nil:
		return expr{}, err
	case len(args) == 0:
		return expr{}, fmt.Errorf("an action is empty")
	case args[0].call != "" && args[0].args == nil:
		args[0].args = args[1:]
		return args[0], nil
	case len(args) > 1:
		return expr{}, fmt.Errorf("%q calls what is no function", s)
	}
	return args[0], nil
}

func parseArgs(s string) (list []expr, err error) {
	for s = strings.TrimLeft(s, space); s != ""; s = strings.TrimLeft(s, space) {
		var e expr
		if e, s, err = parseArg(s); err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

func parseArg(s string) (e expr, rest string, err error) {
	switch s[0] {
	case '(':
		inner, rest, found := strings.Cut(s[1:], ")") // none of ours has two levels
		if !found {
			return e, "", fmt.Errorf("%q has no closing parenthesis", s)
		}
		e, err := parseExpr(inner)
		return e, rest, err
	case '"':
		quoted, err := strconv.QuotedPrefix(s)
		if err != nil {
			return e, "", fmt.Errorf("%s: %w", s, err)
		}
		e.literal, err = strconv.Unquote(quoted)
		return e, s[len(quoted):], err
	}
	word, rest, _ := strings.Cut(s, " ")
	switch {
	case word[0] == '.' || word[0] == '$':
		e.top = word[0] == '$'
		path := strings.TrimPrefix(strings.TrimPrefix(word, "$"), ".")
		if path != "" {
			e.path = strings.Split(path, ".")
		}
		return e, rest, nil
	case word[0] >= '0' && word[0] <= '9':
		e.literal, err = strconv.Atoi(word)
		return e, rest, err
	}
	return expr{call: word}, rest, nil
}
