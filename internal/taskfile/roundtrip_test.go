package taskfile

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
)

// anyText is what people and agents write: text that looks like the formats around it.
var anyText = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
	"", " ", "null", "~", "true", "- a", "- [ ] box", "{}", "a: b", "# h", "```", "&a *a", "'", `"`, "\\", "\u2028", "\x00", "<b>&amp;", "1e9", "a\nb", "ü é 漢",
}))

// anyItem is a task with something in most of its fields.
func anyItem(n int) *rapid.Generator[Item] {
	return rapid.Custom(func(t *rapid.T) Item {
		texts := rapid.SliceOfN(anyText, 0, 3)
		item := Item{Task: dag.Task{
			ID: "t-" + strconv.Itoa(n), Status: rapid.SampledFrom([]dag.Status{dag.Pending, dag.InProgress, dag.Done, dag.Failed, dag.Blocked, dag.Cancelled}).Draw(t, "status"),
			Retries: rapid.IntRange(0, 9).Draw(t, "retries"), Satisfied: rapid.Bool().Draw(t, "satisfied"),
			Detail: dag.Detail{
				Title: "T" + anyText.Draw(t, "title"), Description: anyText.Draw(t, "description"), Priority: rapid.Int64().Draw(t, "priority"),
				Kind: rapid.SampledFrom([]dag.Kind{dag.Work, dag.Check}).Draw(t, "kind"), Agent: anyText.Draw(t, "agent"), Model: anyText.Draw(t, "model"),
				Gates: texts.Draw(t, "gates"), Context: texts.Draw(t, "context"), ExpectRed: anyText.Draw(t, "expect red"),
				Timeout: time.Duration(rapid.Int64Range(0, 1<<30).Draw(t, "timeout")) * time.Millisecond,
				OnFail:  rapid.SampledFrom([]dag.OnFail{"", dag.Continue}).Draw(t, "on fail"),
			},
		}}
		if rapid.Bool().Draw(t, "has a limit") {
			most := rapid.IntRange(0, 100).Draw(t, "max retries")
			item.MaxRetries = &most
		}
		if n > 0 {
			item.After = []string{"t-" + strconv.Itoa(rapid.IntRange(0, n-1).Draw(t, "after"))}
			item.Parent = rapid.SampledFrom([]string{"", "t-0"}).Draw(t, "parent")
		}
		return item
	})
}

// TestAPlanComesBackAsItWasWritten, as lines and as a YAML list of the same objects, and is the same bytes when it is written again.
func TestAPlanComesBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var items []Item
		var want []dag.Spec
		for n := range rapid.IntRange(1, 4).Draw(t, "tasks") {
			item := anyItem(n).Draw(t, "task")
			items = append(items, item)
			spec := item.Spec()
			spec.Parent, spec.After, spec.Status, spec.Satisfied, spec.Retries = item.Parent, item.After, item.Status, item.Satisfied, item.Retries
			if spec.Status == dag.InProgress { // a claim does not travel
				spec.Status = dag.Pending
			}
			want = append(want, spec)
		}
		var text bytes.Buffer
		check.OK(t, Write(&text, items, true))
		list := "[" + strings.Join(strings.Split(strings.TrimRight(text.String(), "\n"), "\n"), ",") + "]"
		for format, data := range map[Format]string{JSONL: text.String(), YAML: list} {
			if !json.Valid([]byte(list)) {
				t.Fatalf("a line is not one object: %q", text.String())
			}
			specs, err := Parse([]byte(data), format)
			if err != nil {
				t.Fatalf("%s: %v\n%s", format, err, data)
			}
			for i := range specs {
				specs[i].Line = 0
			}
			if diff := cmp.Diff(want, specs, cmpopts.EquateEmpty()); diff != "" {
				t.Fatalf("%s (-want +got):\n%s", format, diff)
			}
		}
	})
}

// TestAChecklistKeepsTitlesAndNesting, whatever titles look like.
func TestAChecklistKeepsTitlesAndNesting(t *testing.T) {
	t.Parallel()
	title := rapid.StringMatching(`[A-Z][a-z]{2,6}( (\[x\]|\*|-|#|~|After:|[a-z]{1,5}|\(P\)|"q"|1\.|<b>|\d+)){0,3}`)
	rapid.Check(t, func(t *rapid.T) {
		var items []Item
		for n := range rapid.IntRange(1, 5).Draw(t, "tasks") {
			item := Item{Task: dag.Task{ID: "t-" + strconv.Itoa(n), Status: dag.Pending, Detail: dag.Detail{Title: strconv.Itoa(n) + title.Draw(t, "title")}}}
			if n > 0 {
				item.Parent = rapid.SampledFrom([]string{"", "t-" + strconv.Itoa(n-1)}).Draw(t, "parent")
			}
			items = append(items, item)
		}
		var text bytes.Buffer
		check.OK(t, WriteMarkdown(&text, items))
		plan, err := Read(text.Bytes(), Markdown)
		if err != nil {
			t.Fatalf("%v\n%s", err, text.String())
		}
		titles, parents := map[string]string{}, map[string]string{}
		for _, s := range plan.Specs {
			titles[s.Ref] = s.Title
		}
		for _, s := range plan.Specs {
			parents[s.Title] = titles[s.Parent]
		}
		for n, item := range items {
			parent, is := parents[item.Title]
			want := ""
			if item.Parent != "" {
				want = items[n-1].Title
			}
			if !is || parent != want {
				t.Fatalf("%q below %q became %v\n%s", item.Title, want, parents, text.String())
			}
		}
	})
}
