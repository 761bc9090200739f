package template

import (
	"slices"
	"strings"
)

// condition is what when says: a value alone, or two with ==, != or in between.
type condition struct {
	line  int
	left  text
	op    string // "" if there is only a value
	right []text // several for in
}

// parseCondition reads a condition.
func (r *reader) parseCondition(source string, line int) *condition {
	words, bad := tokens(source)
	if bad != "" {
		r.fault(line, "when: %s", bad)
		return nil
	}
	c := &condition{line: line}
	operand := func(word string) text {
		if quoted := len(word) > 1 && (word[0] == '\'' || word[0] == '"'); quoted {
			word = word[1 : len(word)-1]
		}
		return r.parseText(word, line)
	}
	switch {
	case len(words) == 1 && !isOperator(words[0]):
		c.left = operand(words[0])
	case len(words) == 3 && slices.Contains([]string{"==", "!="}, words[1]):
		c.left, c.op, c.right = operand(words[0]), words[1], []text{operand(words[2])}
	case len(words) > 2 && words[1] == "in":
		c.left, c.op = operand(words[0]), "in"
		for _, word := range words[2:] {
			if !slices.Contains([]string{"[", "]", ","}, word) {
				c.right = append(c.right, operand(word))
			}
		}
	default:
		r.fault(line, "when is ${name}, ${name} == TEXT, ${name} != TEXT or ${name} in [TEXT, TEXT], not %q", cut(source))
		return nil
	}
	if len(c.left.places())+len(places(c.right)) == 0 {
		r.fault(line, "when compares nothing that varies: name an input, such as ${name}")
	}
	return c
}

func isOperator(word string) bool {
	return slices.Contains([]string{"==", "!=", "in", "[", "]", ","}, word)
}

func places(texts []text) (list []part) {
	for _, t := range texts {
		list = append(list, t.places()...)
	}
	return list
}

// tokens splits a condition into words. What is quoted, or in ${}, is one.
func tokens(source string) (words []string, bad string) {
	for {
		source = strings.TrimLeft(source, " \t\r\n")
		if source == "" {
			return words, ""
		}
		n := 1
		switch first := source[0]; {
		case first == '\'' || first == '"':
			end := strings.IndexByte(source[1:], first)
			if end < 0 {
				return nil, "a quotation mark is not closed"
			}
			n = end + 2
		case strings.HasPrefix(source, "${"):
			end := strings.IndexByte(source, '}')
			if end < 0 {
				return nil, "${ without }"
			}
			n = end + 1
		case strings.ContainsRune("[],", rune(first)):
		case strings.HasPrefix(source, "==") || strings.HasPrefix(source, "!="):
			n = 2
		default:
			if n = strings.IndexAny(source, " \t\r\n[],=!'\"$"); n < 0 {
				n = len(source)
			}
			n = max(n, 1)
		}
		words, source = append(words, source[:n]), source[n:]
	}
}

// holds says whether the condition is met.
func (c *condition) holds(e *environment) (bool, error) {
	if c == nil {
		return true, nil
	}
	left, err := e.fill(c.left)
	if err != nil {
		return false, err
	}
	if c.op == "" {
		return left != "" && left != "false", nil
	}
	var right []string
	for _, t := range c.right {
		values, err := e.values(t)
		if err != nil {
			return false, err
		}
		right = append(right, values...)
	}
	switch c.op {
	case "==":
		return left == strings.Join(right, ", "), nil
	case "!=":
		return left != strings.Join(right, ", "), nil
	}
	return slices.Contains(right, left), nil
}
