package template

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/yamlfile"
)

// reader takes values out of the tree of a file, and collects what is wrong with them.
type reader struct {
	faults dag.PlanError
	steps  int
}

func (r *reader) fault(line int, format string, args ...any) {
	if len(r.faults) > maxFaults {
		return // nobody reads that many
	}
	r.faults = append(r.faults, dag.SpecError{Line: line, Err: fmt.Errorf(format, args...)})
}

// field is a key with its value.
type field struct {
	line int
	node ast.Node
}

// fields reads an object with these keys, and says which others there are. Without keys, all are fine.
func (r *reader) fields(node ast.Node, what string, known ...string) (map[string]field, []string) {
	values, ok := pairs(node)
	if !ok {
		r.fault(yamlfile.Line(node), "%s is %s, not keys with values", what, kindOf(node))
		return nil, nil
	}
	found := make(map[string]field, len(values))
	var order []string
	for _, v := range values {
		line := yamlfile.Line(v.Key)
		key, ok := scalar(v.Key)
		switch {
		case !ok:
			r.fault(line, "a key is a word, not %s", kindOf(v.Key))
		case known != nil && !slices.Contains(known, key):
			r.fault(line, "unknown key %q of %s%s", cut(key), what, meant(key, known))
		default:
			found[key], order = field{line, v.Value}, append(order, key)
		}
	}
	return found, order
}

// meant hints at the nearest name, or lists them if they are few.
func meant(typed string, known []string) string {
	if len(typed) > 64 {
		return ""
	}
	switch near := plain.Nearest(typed, known); {
	case near != "":
		return "; did you mean " + near + "?"
	case len(known) > 0 && len(known) <= 16:
		return "; there are " + human.Series(known, "and")
	}
	return ""
}

func pairs(node ast.Node) ([]*ast.MappingValueNode, bool) {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}, true
	}
	return nil, false
}

// scalar is a value as it is written.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return node.GetToken().Value, true
	}
	return "", false
}

func kindOf(node ast.Node) string {
	switch node.(type) {
	case nil, *ast.NullNode:
		return "empty"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "keys with values"
	case *ast.SequenceNode:
		return "a list"
	case *ast.TagNode:
		return "a tag"
	case *ast.BoolNode:
		return "true or false"
	case *ast.IntegerNode, *ast.FloatNode:
		return "a number"
	case *ast.StringNode, *ast.LiteralNode:
		return "a text"
	}
	return "something else"
}

func isNull(node ast.Node) bool {
	_, null := node.(*ast.NullNode)
	return node == nil || null
}

// plain reads a text in which nothing is filled in.
func (r *reader) plain(f field, what string) string {
	if f.node == nil {
		return ""
	}
	s, ok := scalar(f.node)
	if !ok {
		r.fault(f.line, "%s is %s, not a text", what, kindOf(f.node))
	}
	return s
}

// text reads a text. One that is there must not be empty.
func (r *reader) text(f field, what string) text {
	if f.node == nil {
		return text{}
	}
	return r.filled(f.node, f.line, what)
}

func (r *reader) filled(node ast.Node, line int, what string) text {
	s, ok := scalar(node)
	switch {
	case !ok:
		r.fault(line, "%s is %s, not a text", what, kindOf(node))
		return text{}
	case !hasText(s):
		r.fault(line, "%s is empty", what)
		return text{}
	}
	line = yamlfile.Line(node)
	if _, block := node.(*ast.LiteralNode); block {
		line++ // the text begins below its mark
	}
	return r.parseText(s, line)
}

// texts reads a list of texts, or one text.
func (r *reader) texts(f field, what string) (list []text) {
	if f.node == nil {
		return nil
	}
	seq, ok := f.node.(*ast.SequenceNode)
	if !ok {
		return append(list, r.text(f, what))
	}
	for _, node := range seq.Values {
		list = append(list, r.filled(node, yamlfile.Line(node), "an entry of "+what))
	}
	return list
}

// list reads one text or several in which nothing is filled in.
func (r *reader) list(f field, what string) (list []string) {
	nodes := []ast.Node{f.node}
	if seq, ok := f.node.(*ast.SequenceNode); ok {
		nodes = seq.Values
	}
	for _, node := range nodes {
		if node != nil {
			list = append(list, r.plain(field{yamlfile.Line(node), node}, "an entry of "+what))
		}
	}
	return list
}

func (r *reader) yes(f field, what string) bool {
	if f.node == nil {
		return false
	}
	b, ok := f.node.(*ast.BoolNode)
	if !ok {
		r.fault(f.line, "%s is %s; it can only be true or false", what, kindOf(f.node))
	}
	return ok && b.Value
}

func (r *reader) number(f field, what string) *int {
	if f.node == nil {
		return nil
	}
	n, err := strconv.Atoi(f.node.GetToken().Value)
	if _, ok := f.node.(*ast.IntegerNode); !ok || err != nil || n < 0 {
		r.fault(f.line, "%s is a whole number from 0", what)
		return nil
	}
	return &n
}

// choice reads one of a few words.
func (r *reader) choice(f field, what string, words ...string) string {
	word := r.plain(f, what)
	if f.node != nil && !slices.Contains(words, word) {
		r.fault(f.line, "%s is %s, not %q%s", what, human.Series(words, "or"), cut(word), meant(word, words))
		return ""
	}
	return word
}

// items reads the entries of a list: texts, or objects that have a name.
func (r *reader) items(list *ast.SequenceNode, what string) (items []item) {
	for _, node := range list.Values {
		line := yamlfile.Line(node)
		if _, ok := pairs(node); !ok {
			items = append(items, item{line: line, text: r.filled(node, line, "an entry of "+what)})
			continue
		}
		fields, order := r.fields(node, "an entry of "+what)
		it := item{line: line, fields: map[string]text{}}
		for _, key := range order {
			if isNull(fields[key].node) {
				it.fields[key] = text{}
				continue
			}
			nodes := []ast.Node{fields[key].node}
			if list, isList := nodes[0].(*ast.SequenceNode); isList && key != "name" {
				nodes = list.Values
			}
			var entries []string
			for _, node := range nodes {
				s, ok := scalar(node)
				switch {
				case !ok:
					r.fault(fields[key].line, "%s is %s, not a text", key, kindOf(node))
				case len(nodes) > 1 && strings.Contains(s, ","):
					r.fault(fields[key].line, "%s is a list with a comma in %q; an entry of a field has none", key, cut(s))
				}
				entries = append(entries, s)
			}
			it.fields[key] = r.parseText(strings.Join(entries, ", "), fields[key].line)
		}
		if _, named := fields["name"]; !named {
			r.fault(line, "an entry of %s with fields needs one called name, by which it is known", what)
		}
		items = append(items, it)
	}
	return items
}
