// Package yamlfile reads YAML that somebody wrote: what is wrong with it is an error that names its line, never a panic and
// never more memory than a text of its size deserves. It never says what the text means.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Error is what is wrong with a text, in the library's words.
type Error struct {
	Line int
	Text string
}

// Error says it without the line, which the caller has a way to name.
func (e *Error) Error() string { return e.Text }

// Parse returns the documents of a text, without those that are empty.
func Parse(data []byte) (docs []ast.Node, err error) {
	defer recovered(&err)
	if number := tooDeep(data); number > 0 {
		return nil, &Error{number, fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, Fault(1, err)
	}
	for _, doc := range file.Docs {
		if doc.Body != nil {
			docs = append(docs, doc.Body)
		}
	}
	return docs, nil
}

// Decode fills a value with what a node says.
func Decode(node ast.Node, into any, opts ...yaml.DecodeOption) (err error) {
	defer recovered(&err)
	if err := yaml.NodeToValue(node, into, opts...); err != nil {
		return Fault(Line(node), err)
	}
	return nil
}

// recovered makes an error of a panic of the library: text in a file is no reason for one.
func recovered(err *error) {
	if p := recover(); p != nil {
		*err = &Error{1, fmt.Sprint(p)}
	}
}

// Line is where a node begins.
func Line(node ast.Node) int {
	if node != nil {
		if tok := node.GetToken(); tok != nil && tok.Position != nil {
			return tok.Position.Line
		}
	}
	return 1
}

// Fault takes the line and the words out of the library's error and leaves its picture of the source behind.
func Fault(number int, err error) *Error {
	var located yaml.Error
	if errors.As(err, &located) {
		if tok := located.GetToken(); tok != nil && tok.Position != nil {
			number = tok.Position.Line
		}
		return &Error{number, located.GetMessage()}
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return &Error{number, text}
}

// Alias returns the line of the first anchor or alias, or 0. A few of them can stand for more text than there is memory.
func Alias(node ast.Node) int {
	var found aliases
	ast.Walk(&found, node)
	return int(found)
}

type aliases int

// Visit looks at one node.
func (a *aliases) Visit(node ast.Node) ast.Visitor {
	switch node.Type() {
	case ast.AliasType, ast.AnchorType, ast.MergeKeyType:
		if *a == 0 {
			*a = aliases(Line(node))
		}
	}
	return a
}

// maxDepth is how deep a text may nest. The library needs memory that grows with the square of the depth.
const maxDepth = 500

// tooDeep finds the line on which a text nests too deep, by brackets or by dashes, or returns 0. Brackets inside of texts
// count too: it is a bound, not a parser.
func tooDeep(data []byte) int {
	depth, number := 0, 1
	for line := range bytes.Lines(data) {
		if bytes.Count(line, []byte("- ")) > maxDepth && len(bytes.Trim(line, "- \r\n")) < len(line)/2 {
			return number
		}
		for _, b := range line {
			switch b {
			case '[', '{':
				depth++
			case ']', '}':
				depth = max(depth-1, 0)
			}
			if depth > maxDepth {
				return number
			}
		}
		number++
	}
	return 0
}
