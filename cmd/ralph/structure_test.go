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

// The numbers below are upper bounds that only fall.
const (
	maxAppMethods   = 305
	maxContextTakes = 103
)

// frameFiles read flags for all commands.
var frameFiles = []string{"help.go", "args.go", "man.go", "completion.go"}

// frameFuncs read what all commands have.
var frameFuncs = []string{"oneArg", "noArgs", "readGlobals", "checkGlobals", "badValue"}

// TestAppKeepsStreamsAndFactoriesOnly counts the methods of app: what decides belongs to
// a package, and what a command does is a function of its options.
func TestAppKeepsStreamsAndFactoriesOnly(t *testing.T) {
	t.Parallel()
	var methods []string
	for _, file := range sources(t) {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && isApp(f.Recv.List[0].Type) {
				methods = append(methods, f.Name.Name)
			}
		}
	}
	slices.Sort(methods)
	if len(methods) > maxAppMethods {
		t.Errorf("app has %d methods, want at most %d: %s", len(methods), maxAppMethods, strings.Join(methods, ", "))
	}
}

// TestOnlyParsersSeeTheFlagLibrary finds functions that take a *cli.Context and are not
// named parse….
func TestOnlyParsersSeeTheFlagLibrary(t *testing.T) {
	t.Parallel()
	var found []string
	for name, file := range sources(t) {
		if slices.Contains(frameFiles, name) {
			continue
		}
		for _, d := range file.Decls {
			where := name
			if f, ok := d.(*ast.FuncDecl); ok {
				if strings.HasPrefix(f.Name.Name, "parse") || slices.Contains(frameFuncs, f.Name.Name) {
					continue
				}
				where += ": " + f.Name.Name
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if f, ok := n.(*ast.FuncType); ok && slices.ContainsFunc(f.Params.List, takesContext) {
					found = append(found, where)
				}
				return true
			})
		}
	}
	slices.Sort(found)
	if len(found) > maxContextTakes {
		t.Errorf("%d functions take a *cli.Context, want at most %d:\n%s", len(found), maxContextTakes, strings.Join(found, "\n"))
	}
}

// sources parses the files of this package, tests left out.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]*ast.File{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		if files[name], err = parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func isApp(typ ast.Expr) bool {
	if pointer, ok := typ.(*ast.StarExpr); ok {
		typ = pointer.X
	}
	id, ok := typ.(*ast.Ident)
	return ok && id.Name == "app"
}

func takesContext(param *ast.Field) bool {
	pointer, ok := param.Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	s, ok := pointer.X.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	library, ok := s.X.(*ast.Ident)
	return ok && library.Name == "cli" && s.Sel.Name == "Context"
}
