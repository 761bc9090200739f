package render

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ralph/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/golden"
)

const docPath = "../../docs/events.md"

// common are the fields of every event; they have a table of their own.
var common = []string{"v", "at", "run", "type"}

// TestExamplesAreWhatIsWritten compares every example of docs/events.md with what
// the sink writes; with -update it rewrites them.
func TestExamplesAreWhatIsWritten(t *testing.T) {
	doc := readDoc(t)
	want := doc
	for kind, e := range firstOfEach(t) {
		var b strings.Builder
		j := NewJSON(&b)
		j.Event(e)
		example := regexp.MustCompile("(?s)(### `" + kind + "`\n.*?```json\n).*?(```\n)")
		if !example.MatchString(want) {
			t.Errorf("docs/events.md has no section with an example for %s", kind)
			continue
		}
		want = replaceFirst(example, want, b.String())
	}
	if golden.Updating() && !t.Failed() {
		check.OK(t, os.WriteFile(docPath, []byte(want), 0o644))
		return
	}
	check.Equal(t, "run: go test ./internal/render -update", want, doc)
}

func replaceFirst(re *regexp.Regexp, doc, body string) string {
	m := re.FindStringSubmatchIndex(doc)
	return doc[:m[3]] + body + doc[m[4]:]
}

// TestEveryTypeIsDocumented reads the constants from the source, so that a new
// one cannot be forgotten, neither here nor in the sample run.
func TestEveryTypeIsDocumented(t *testing.T) {
	t.Parallel()
	types := declaredTypes(t)
	samples := firstOfEach(t)
	fields := documentedFields(t)
	for _, kind := range types {
		if _, ok := samples[kind]; !ok {
			t.Errorf("the sample run has no %s", kind)
		}
	}
	check.Equal(t, "types in event/event.go and in docs/events.md", slices.Sorted(slices.Values(types)), slices.Sorted(maps.Keys(fields)))
}

// TestEveryFieldIsDocumented compares the table of types with the fields that the
// sample run has, and looks up every field of every struct.
func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	doc := readDoc(t)
	used := map[string]map[string]bool{}
	for _, e := range sampleRun() {
		line, err := json.Marshal(e)
		check.OK(t, err)
		var keys map[string]any
		check.OK(t, json.Unmarshal(line, &keys))
		kind := string(e.Type)
		if used[kind] == nil {
			used[kind] = map[string]bool{}
		}
		for key := range keys {
			if !slices.Contains(common, key) {
				used[kind][key] = true
			}
		}
	}
	want := map[string][]string{}
	for kind, keys := range used {
		want[kind] = slices.Sorted(maps.Keys(keys))
	}
	check.Equal(t, "fields of the sample run (-) and of the table (+)", want, documentedFields(t))
	for _, of := range []any{event.Event{}, event.Tool{}, event.Gate{}, event.Usage{}, event.Counts{}, event.Setup{}, event.RecoveryCounts{}} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(of)) {
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			check.That(t, strings.Contains(doc, "\n| `"+name+"` |"), "field %s of %T is not in docs/events.md", name, of)
		}
	}
}

func readDoc(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(docPath)
	check.OK(t, err)
	return string(doc)
}

func firstOfEach(t *testing.T) map[string]event.Event {
	t.Helper()
	first := map[string]event.Event{}
	for _, e := range sampleRun() {
		if _, ok := first[string(e.Type)]; !ok {
			first[string(e.Type)] = e
		}
	}
	return first
}

// documentedFields reads the table of types: name, when, fields.
func documentedFields(t *testing.T) map[string][]string {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| \\[`([a-z_]+)`\\]\\(#[a-z_]+\\) \\| [^|]+ \\|([^|]*)\\|$")
	name := regexp.MustCompile("`([a-z_]+)`")
	fields := map[string][]string{}
	for _, m := range row.FindAllStringSubmatch(readDoc(t), -1) {
		for _, n := range name.FindAllStringSubmatch(m[2], -1) {
			fields[m[1]] = append(fields[m[1]], n[1])
		}
		slices.Sort(fields[m[1]])
	}
	return fields
}

// declaredTypes are the values of the Type constants of event/event.go.
func declaredTypes(t *testing.T) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "../../event/event.go", nil, 0)
	check.OK(t, err)
	var types []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok {
			return true
		}
		if kind, ok := spec.Type.(*ast.Ident); !ok || kind.Name != "Type" {
			return true
		}
		for _, v := range spec.Values {
			s, err := strconv.Unquote(v.(*ast.BasicLit).Value)
			check.OK(t, err)
			types = append(types, s)
		}
		return true
	})
	if len(types) == 0 {
		t.Fatal("event/event.go declares no event types")
	}
	return types
}
