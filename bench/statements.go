package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
)

// statements are the SQL constants of package dag by name. They are read from
// its source, so that what is compared is what the product runs and no copy of it.
type statements map[string]string

func readStatements(dir string) (statements, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	// Imports stay unresolved: constants of plain strings need none of them.
	conf := types.Config{Importer: noImports{}, Error: func(error) {}}
	pkg, _ := conf.Check("dag", fset, files, nil)
	found := statements{}
	for _, name := range pkg.Scope().Names() {
		c, ok := pkg.Scope().Lookup(name).(*types.Const)
		if ok && strings.HasSuffix(name, "SQL") && c.Val().Kind() == constant.String {
			found[name] = constant.StringVal(c.Val())
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("no statements in %s", dir)
	}
	return found, nil
}

type noImports struct{}

// Import refuses every package.
func (noImports) Import(string) (*types.Package, error) { return nil, errors.New("not needed") }
