package taskfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"ralph/dag"
)

// maxDepth is how deep a plan may nest. A task is two levels deep; the library
// needs memory that grows with the square of the depth.
const maxDepth = 500

// tooDeep finds the line on which a plan nests too deep, by brackets or by dashes,
// or returns 0. Brackets inside of texts count too: it is a bound, not a parser.
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

func parseYAML(data []byte) ([]dag.Spec, error) {
	if number := tooDeep(data); number > 0 {
		return nil, dag.PlanError{{Line: number, Err: fmt.Errorf("nested more than %d deep", maxDepth)}}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return nil, dag.PlanError{yamlFault(1, err)}
	}
	var specs []dag.Spec
	var faults dag.PlanError
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		list, ok := doc.Body.(*ast.SequenceNode)
		if !ok {
			number := doc.Body.GetToken().Position.Line
			return nil, dag.PlanError{{Line: number, Err: errors.New("a plan is a list of tasks, one object each")}}
		}
		for _, node := range list.Values {
			number := node.GetToken().Position.Line
			var l line
			if err := yaml.NodeToValue(node, &l, yaml.Strict()); err != nil {
				faults = append(faults, yamlFault(number, err))
				continue
			}
			specs = append(specs, l.spec(number))
		}
	}
	if len(faults) > 0 {
		return nil, faults
	}
	return specs, nil
}

// yamlFault takes the line and the words out of the library's error and leaves
// its picture of the source behind.
func yamlFault(number int, err error) dag.SpecError {
	var located yaml.Error
	if errors.As(err, &located) {
		if tok := located.GetToken(); tok != nil && tok.Position != nil {
			number = tok.Position.Line
		}
		return dag.SpecError{Line: number, Err: fmt.Errorf("not a task: %s", located.GetMessage())}
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return dag.SpecError{Line: number, Err: errors.New(text)}
}
