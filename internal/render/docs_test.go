package render

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ralph/internal/event"
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
	for kind, e := range firstOfEach() {
		var b strings.Builder
		j := NewJSON(&b)
		j.Event(e)
		at := regexp.MustCompile("(?s)(### `" + string(kind) + "`\n.*?```json\n).*?(```\n)").FindStringSubmatchIndex(want)
		if at == nil {
			t.Errorf("docs/events.md has no section with an example for %s", kind)
			continue
		}
		want = want[:at[3]] + b.String() + want[at[4]:]
	}
	if golden.Updating() && !t.Failed() {
		check.OK(t, os.WriteFile(docPath, []byte(want), 0o644))
		return
	}
	check.Equal(t, "run: go test ./internal/render -update", want, doc)
}

// TestEveryTypeIsDocumented reads the constants from the source, so that a new
// one cannot be forgotten, neither here nor in the sample run.
func TestEveryTypeIsDocumented(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("../event/event.go")
	check.OK(t, err)
	var types []event.Type
	for _, m := range regexp.MustCompile(`(?m)^\t\w+ +Type = "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		types = append(types, event.Type(m[1]))
	}
	slices.Sort(types)
	check.Equal(t, "types in event/event.go and in the sample run", types, sampleTypes())
	check.Equal(t, "types in event/event.go and in docs/events.md", types, slices.Sorted(maps.Keys(documentedFields(t))))
}

// TestEveryFieldIsDocumented compares the table of types with the fields that the
// sample run has, and looks up every field of every struct.
func TestEveryFieldIsDocumented(t *testing.T) {
	t.Parallel()
	doc := readDoc(t)
	want := map[event.Type][]string{}
	for _, e := range sampleRun() {
		line, err := json.Marshal(e)
		check.OK(t, err)
		var keys map[string]any
		check.OK(t, json.Unmarshal(line, &keys))
		for _, key := range common {
			delete(keys, key)
		}
		want[e.Type] = slices.AppendSeq(want[e.Type], maps.Keys(keys))
		slices.Sort(want[e.Type])
		want[e.Type] = slices.Compact(want[e.Type])
	}
	check.Equal(t, "fields of the sample run (-) and of the table (+)", want, documentedFields(t))
	for _, of := range []any{event.Event{}, event.Tool{}, event.Gate{}, event.Usage{}, event.Counts{}, event.Setup{}, event.RecoveryCounts{}, event.Merge{}, event.Work{}, event.Finding{}, event.Call{}} {
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

// firstOfEach has an event of each type.
func firstOfEach() map[event.Type]event.Event {
	first := map[event.Type]event.Event{}
	for _, e := range slices.Backward(sampleRun()) {
		first[e.Type] = e
	}
	return first
}

func sampleTypes() []event.Type { return slices.Sorted(maps.Keys(firstOfEach())) }

// documentedFields reads the table of types: name, when, fields.
func documentedFields(t *testing.T) map[event.Type][]string {
	t.Helper()
	row := regexp.MustCompile("(?m)^\\| \\[`([a-z_]+)`\\]\\(#[a-z_]+\\) \\| [^|]+ \\|([^|]*)\\|$")
	name := regexp.MustCompile("`([a-z_]+)`")
	fields := map[event.Type][]string{}
	for _, m := range row.FindAllStringSubmatch(readDoc(t), -1) {
		var names []string
		for _, n := range name.FindAllStringSubmatch(m[2], -1) {
			names = append(names, n[1])
		}
		slices.Sort(names)
		fields[event.Type(m[1])] = names
	}
	return fields
}
