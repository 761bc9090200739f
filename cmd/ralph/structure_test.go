package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// syntaxOf parses the files of a package, tests left out.
func syntaxOf(t *testing.T, dir string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	return files
}

// TestAnAttemptKnowsNoDatabase: it takes data of the graph, and never the graph itself, so
// that it can run where the database is not.
func TestAnAttemptKnowsNoDatabase(t *testing.T) {
	t.Parallel()
	for _, f := range syntaxOf(t, "loop/attempt") {
		ast.Inspect(f, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "dag" && slices.Contains([]string{"Store", "Graph", "New"}, sel.Sel.Name) {
				t.Errorf("loop/attempt uses dag.%s", sel.Sel.Name)
			}
			return true
		})
	}
}

// TestTypesOfTheLoopStaySmall: a type with more fields than that has more than one concern.
func TestTypesOfTheLoopStaySmall(t *testing.T) {
	t.Parallel()
	const most = 20
	for _, dir := range []string{"loop", "loop/attempt", "loop/policy", "loop/recovery"} {
		for _, f := range syntaxOf(t, dir) {
			ast.Inspect(f, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok {
					return true
				}
				if s, ok := spec.Type.(*ast.StructType); ok && fieldCount(s) > most {
					t.Errorf("%s.%s has %d fields, more than %d", dir, spec.Name.Name, fieldCount(s), most)
				}
				return true
			})
		}
	}
}

func fieldCount(s *ast.StructType) (n int) {
	for _, f := range s.Fields.List {
		n += max(len(f.Names), 1)
	}
	return n
}
