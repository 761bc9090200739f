package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ralph/internal/cli"
	"ralph/internal/testing/check"
)

// syntaxOf parses the files of a package, by name, tests left out.
func syntaxOf(t *testing.T, dir string) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	names, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		check.OK(t, err)
		files[filepath.Base(name)] = f
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
	for _, dir := range []string{"loop", "loop/attempt", "loop/land", "loop/policy", "loop/recovery"} {
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

// commandGroups are the packages that have commands, and those that they share.
func commandGroups(t *testing.T) []string {
	t.Helper()
	var list []string
	for path := range goList(t) {
		if strings.HasPrefix(path, "internal/cli/") {
			list = append(list, path)
		}
	}
	return list
}

// TestAppKeepsStreamsAndFactoriesOnly counts the methods of App: what decides belongs to
// a package, and what a command does is a function of its options.
func TestAppKeepsStreamsAndFactoriesOnly(t *testing.T) {
	t.Parallel()
	var methods []string
	for _, file := range syntaxOf(t, "internal/cli") {
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && f.Recv != nil && typeName(f.Recv.List[0].Type) == "App" {
				methods = append(methods, f.Name.Name)
			}
		}
	}
	slices.Sort(methods)
	if len(methods) >= 40 {
		t.Errorf("App has %d methods, want fewer than 40: %s", len(methods), strings.Join(methods, ", "))
	}
}

// TestOnlyParsersSeeFlags finds functions of commands that take what was typed and are not named parse….
func TestOnlyParsersSeeFlags(t *testing.T) {
	t.Parallel()
	for _, dir := range commandGroups(t) {
		for name, file := range syntaxOf(t, dir) {
			for _, d := range file.Decls {
				where := dir + "/" + name
				if f, ok := d.(*ast.FuncDecl); ok {
					if strings.HasPrefix(strings.ToLower(f.Name.Name), "parse") {
						continue
					}
					where += ": " + f.Name.Name
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if f, ok := n.(*ast.FuncType); ok && slices.ContainsFunc(f.Params.List, func(p *ast.Field) bool { return typeName(p.Type) == "cli.CommandLine" }) {
						t.Errorf("%s takes a cli.CommandLine", where)
					}
					return true
				})
			}
		}
	}
}

// typeName is the name of a type, or of what it points to.
func typeName(typ ast.Expr) string {
	if pointer, ok := typ.(*ast.StarExpr); ok {
		typ = pointer.X
	}
	return types.ExprString(typ)
}

// TestEveryNameInTheListsOfTestsIsATest: CI runs tests under the race detector and by subject as lists of patterns say. A
// pattern that matches nothing would test nothing, in silence.
func TestEveryNameInTheListsOfTestsIsATest(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	check.OK(t, err)
	var tests []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		check.OK(t, err)
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			tests = append(tests, m[1])
		}
	}
	find := func(pattern string) {
		t.Helper()
		check.That(t, slices.ContainsFunc(tests, regexp.MustCompile(pattern).MatchString), "no test matches %s", pattern)
	}
	for _, list := range []string{".ci/raced", ".ci/core"} {
		for line := range strings.Lines(repoFile(t, list)) {
			name, scripts, _ := strings.Cut(strings.TrimSpace(line), "/")
			find(name)
			folder := map[bool]string{true: "live", false: "script"}[name == "^TestLiveScripts$"]
			for script := range strings.SplitSeq(strings.Trim(scripts, "^$()"), "|") {
				if _, err := os.Stat("testdata/" + folder + "/" + script + ".txtar"); script != "" && err != nil {
					t.Errorf("%s: there is no script %s", list, script)
				}
			}
		}
	}
	for line := range strings.Lines(repoFile(t, longTests)) {
		_, pattern, _ := strings.Cut(strings.TrimSpace(line), " ")
		test, scripts, _ := strings.Cut(pattern, "/")
		for name := range strings.SplitSeq(alternatives("^Test", test), "|") {
			find("^Test" + name + "$")
		}
		for name := range strings.SplitSeq(alternatives("^", scripts), "|") {
			files, err := filepath.Glob("testdata/script/" + name + "*.txtar")
			check.That(t, err == nil && len(files) > 0, "no script is called %s", name)
		}
	}
}

// TestEveryLongTestIsInOneShard: go test ./... leaves long tests out, so a subject that no shard has would never be tested, and the steps
// of a shard are commands of .ci/run.
func TestEveryLongTestIsInOneShard(t *testing.T) {
	t.Parallel()
	run, subjects := repoFile(t, ".ci/run"), map[string]int{}
	for line := range strings.Lines(repoFile(t, ".ci/shards")) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		check.That(t, len(words) >= 3, "%q is not a shard, what it needs and a command", line)
		if words[2] == "long" {
			for _, subject := range words[3:] {
				subjects[subject]++
			}
		}
		_, err := os.Stat("../../" + words[2])
		check.That(t, err == nil || strings.Contains(run, "\n"+words[2]+"() {"), "shard %s: .ci/run has no command %s", words[0], words[2])
	}
	for line := range strings.Lines(repoFile(t, longTests)) {
		subject, _, _ := strings.Cut(line, " ")
		check.Equal(t, "shards with the long tests of "+subject, 1, subjects[subject])
		delete(subjects, subject)
	}
	check.Equal(t, "subjects without tests", map[string]int{}, subjects)
}

// alternatives are the names of ^Test(A|B)$, or of ^TestA$.
func alternatives(start, pattern string) string {
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(strings.TrimPrefix(pattern, start), "$"), "("), ")")
}

// TestEveryOptionHasAFlag: a field of options is filled from the flag that has its name, so
// one that is misspelt would stay empty.
func TestEveryOptionHasAFlag(t *testing.T) {
	t.Parallel()
	known := map[string]bool{"args": true}
	eachFlag(newApp(cli.System{}).Root, func(f cli.Flag) { known[f.Name] = true })
	for _, dir := range append(commandGroups(t), "internal/cli") {
		for name, file := range syntaxOf(t, dir) {
			ast.Inspect(file, func(n ast.Node) bool {
				spec, ok := n.(*ast.TypeSpec)
				if !ok || !strings.HasSuffix(spec.Name.Name, "Options") {
					return true
				}
				for _, field := range spec.Type.(*ast.StructType).Fields.List {
					for _, id := range field.Names {
						if id.IsExported() && !known[cli.FlagName(id.Name)] {
							t.Errorf("%s/%s: %s.%s: no command has the flag --%s", dir, name, spec.Name.Name, id.Name, cli.FlagName(id.Name))
						}
					}
				}
				return true
			})
		}
	}
}

func eachFlag(c cli.Command, visit func(cli.Flag)) {
	for _, f := range c.Flags {
		visit(f)
	}
	for _, s := range c.Sub {
		eachFlag(s, visit)
	}
}
