package suite

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path"
	"slices"
	"strings"

	"ralph/internal/lazyregexp"
)

// Hollow makes Go files from before the work ones against which the work's tests compile: it adds what the work adds to them, with
// bodies that return zero values. What was there keeps its body. Files are those that go back to what they were; before and after read
// the two trees. The error is for what cannot be made so.
func Hollow(files []string, before, after Read) (edits []Edit, err error) {
	dirs := map[string]*hollowed{}
	for _, file := range files {
		if path.Ext(file) != ".go" || strings.HasSuffix(file, "_test.go") {
			continue
		}
		was, err := parseGo(file, before)
		if err != nil {
			return nil, err
		}
		is, err := parseGo(file, after)
		if err != nil {
			return nil, err
		}
		if was == nil && is == nil {
			continue
		}
		dir := path.Dir(file)
		if dirs[dir] == nil {
			dirs[dir] = &hollowed{funcs: map[string]goFunc{}, had: map[string]bool{}, names: map[string]bool{}}
		}
		dirs[dir].add(goPair{file, was, is})
	}
	for _, d := range dirs {
		for _, p := range d.pairs {
			text, err := d.text(p)
			if err != nil {
				return nil, err
			}
			edits = append(edits, Edit{Path: p.file, Content: text})
		}
	}
	if len(edits) == 0 {
		return nil, errors.New("the work changes no code in Go")
	}
	slices.SortFunc(edits, func(x, y Edit) int { return cmp.Compare(x.Path, y.Path) })
	return edits, nil
}

// goSource is a file of Go; nil where there is none.
type goSource struct {
	text []byte
	set  *token.FileSet
	file *ast.File
}

func parseGo(file string, read Read) (*goSource, error) {
	text, err := read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(parsed.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"C"` }) {
		return nil, errors.New(file + " imports C")
	}
	return &goSource{slices.Clone(text), set, parsed}, nil
}

func (s *goSource) between(from, to token.Pos) string {
	return string(s.text[s.set.Position(from).Offset:s.set.Position(to).Offset])
}

type goPair struct {
	file    string
	was, is *goSource
}

// head is all that stands before the declarations, but for imports: constraints and the package.
func (p goPair) head() string {
	s := cmp.Or(p.is, p.was)
	return string(s.text[:s.set.Position(s.file.Name.End()).Offset])
}

type goFunc struct {
	source *goSource
	decl   *ast.FuncDecl
}

// hollowed is a folder of Go.
type hollowed struct {
	pairs []goPair
	funcs map[string]goFunc // of the work
	had   map[string]bool   // functions from before it
	names map[string]bool   // types, constants and variables of the work
}

func (d *hollowed) add(p goPair) {
	d.pairs = append(d.pairs, p)
	if p.was != nil {
		for _, f := range p.was.functions() {
			d.had[funcKey(f)] = true
		}
	}
	if p.is == nil {
		return
	}
	for _, f := range p.is.functions() {
		d.funcs[funcKey(f)] = goFunc{p.is, f}
	}
	for _, decl := range p.is.file.Decls {
		for _, name := range declared(decl) {
			d.names[name] = true
		}
	}
}

func (s *goSource) functions() (list []*ast.FuncDecl) {
	for _, decl := range s.file.Decls {
		if f, is := decl.(*ast.FuncDecl); is {
			list = append(list, f)
		}
	}
	return list
}

// text is the file as it was, with what the work adds to it.
func (d *hollowed) text(p goPair) ([]byte, error) {
	var body strings.Builder
	put := func(text string) { body.WriteString("\n" + text + "\n") }
	if p.was != nil {
		for _, decl := range p.was.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				now, still := d.funcs[funcKey(decl)]
				switch {
				case decl.Recv == nil && d.names[decl.Name.Name]:
				case still && signature(now.decl) != signature(decl):
					put(now.source.hollow(now.decl))
				default:
					put(p.was.declaration(decl))
				}
			case *ast.GenDecl: // the work's stands where it has one of these names
				names := declared(decl)
				taken := func(name string) bool { return d.names[name] || d.funcs[name].decl != nil }
				if len(names) > 0 && !slices.ContainsFunc(names, taken) {
					put(p.was.declaration(decl))
				}
			}
		}
	}
	if p.is != nil {
		for _, decl := range p.is.file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if key := funcKey(decl); !d.had[key] && key != "init" {
					put(p.is.hollow(decl))
				}
			case *ast.GenDecl:
				if decl.Tok != token.IMPORT {
					put(p.is.declaration(decl))
				}
			}
		}
	}
	imports, err := p.imports(body.String())
	return []byte(p.head() + "\n" + imports + body.String()), err
}

// declaration is the text of one, with what is written above it: that may be a directive.
func (s *goSource) declaration(decl ast.Decl) string {
	var doc *ast.CommentGroup
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		doc = decl.Doc
	case *ast.GenDecl:
		doc = decl.Doc
	}
	if doc != nil {
		return s.between(doc.Pos(), decl.End())
	}
	return s.between(decl.Pos(), decl.End())
}

// hollow is a function that does nothing, and returns zero values: a test that only calls it passes.
func (s *goSource) hollow(f *ast.FuncDecl) string {
	if f.Body == nil {
		return s.declaration(f)
	}
	results := f.Type.Results
	if results.NumFields() == 0 || len(results.List[0].Names) > 0 {
		return s.between(f.Pos(), f.Body.Pos()) + "{ return }"
	}
	var types []string
	for _, r := range results.List { // a name of a parameter may be that of a type in the body
		types = append(types, "_ "+s.between(r.Type.Pos(), r.Type.End()))
	}
	return s.between(f.Pos(), results.Pos()) + "(" + strings.Join(types, ", ") + ") { return }"
}

// funcKey is the name of a function, or of a method with that of its type.
func funcKey(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.ParenExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		default:
			return types.ExprString(of) + "." + f.Name.Name
		}
	}
}

// signature is what a function is called with, without names that no caller sees.
func signature(f *ast.FuncDecl) string {
	var b strings.Builder
	list := func(fields *ast.FieldList) {
		b.WriteString("(")
		if fields != nil {
			for _, field := range fields.List {
				for range max(1, len(field.Names)) {
					b.WriteString(types.ExprString(field.Type) + ",")
				}
			}
		}
		b.WriteString(")")
	}
	list(f.Recv)
	list(f.Type.TypeParams)
	list(f.Type.Params)
	list(f.Type.Results)
	return b.String()
}

// declared are the names of types, constants and variables.
func declared(decl ast.Decl) (names []string) {
	general, is := decl.(*ast.GenDecl)
	if !is {
		return nil
	}
	for _, spec := range general.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			names = append(names, spec.Name.Name)
		case *ast.ValueSpec:
			for _, name := range spec.Names {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

// imports are those of both files that the declarations use. Others only take effect by being there.
func (p goPair) imports(body string) (string, error) {
	file, err := parser.ParseFile(token.NewFileSet(), p.file, "package p\n"+body, parser.SkipObjectResolution)
	if err != nil {
		return "", fmt.Errorf("%s without the bodies of what the work adds: %w", p.file, err)
	}
	used := selected(file)
	var list, seen []string
	for _, s := range []*goSource{p.is, p.was} {
		if s == nil {
			continue
		}
		once := selected(s.file)
		for _, spec := range s.file.Imports {
			line := spec.Path.Value
			names := packageNames(strings.Trim(line, "\"`"))
			if spec.Name != nil {
				names, line = []string{spec.Name.Name}, spec.Name.Name+" "+line
			}
			has := func(used map[string]bool) bool {
				return slices.ContainsFunc(names, func(n string) bool { return used[n] })
			}
			if fixed := names[0] == "_" || names[0] == "."; !fixed && !has(used) && (spec.Name != nil || has(once)) {
				line = "_ " + spec.Path.Value
			}
			if !slices.Contains(seen, line) {
				seen = append(seen, line)
				list = append(list, "import "+line+"\n")
			}
		}
	}
	return strings.Join(list, ""), nil
}

// selected are the names in front of a dot, which those of packages are.
func selected(file *ast.File) map[string]bool {
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, is := n.(*ast.SelectorExpr); is {
			if x, is := s.X.(*ast.Ident); is {
				used[x.Name] = true
			}
		}
		return true
	})
	return used
}

var majorVersion = lazyregexp.New(`^v\d+$`)

// packageNames are what a package is probably called, as nothing but its path is known.
func packageNames(importPath string) (names []string) {
	name := path.Base(importPath)
	if up := path.Dir(importPath); majorVersion.Get().MatchString(name) && up != "." {
		name = path.Base(up)
	}
	if i := strings.LastIndex(name, ".v"); i > 0 {
		name = name[:i]
	}
	names = []string{name, strings.ReplaceAll(name, "-", "_"), strings.ReplaceAll(name, "-", "")}
	for _, part := range []string{"go-", "go."} {
		names = append(names, strings.TrimPrefix(name, part))
	}
	return append(names, strings.TrimSuffix(name, "-go"), strings.TrimSuffix(name, ".go"))
}
