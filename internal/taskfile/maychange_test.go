package taskfile

import (
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestAnOlderKeyIsReadAndNotWritten: a line that has it stays as it is until its task changes.
func TestAnOlderKeyIsReadAndNotWritten(t *testing.T) {
	t.Parallel()
	const old = `{"ref":"t-00000001","title":"T","priority":0,"allow_tampering":true}` + "\n"
	f, err := ParseFile([]byte(old))
	check.OK(t, err)
	task := dag.Task{ID: "t-00000001", Detail: dag.Detail{Title: "T", Kind: dag.Work, MayChange: []string{dag.EveryCheck}}, Status: dag.Pending}
	check.Equal(t, "unchanged", old, string(f.Update([]Item{{Task: task}}, time.Now()).Bytes()))
	task.MayChange = []string{"a_test.go"}
	got := string(f.Update([]Item{{Task: task}}, time.Now()).Bytes())
	check.Contains(t, "changed", `"may_change":["a_test.go"]`, got)
	check.That(t, !strings.Contains(got, "allow_tampering"), "got %s", got)
	check.Equal(t, "read again", []string{"a_test.go"}, mustParse(t, got)[0].MayChange)
	task.MayChange = nil
	check.Equal(t, "taken back", 0, len(mustParse(t, string(f.Update([]Item{{Task: task}}, time.Now()).Bytes()))[0].MayChange))
}

func mustParse(t *testing.T, text string) []dag.Spec {
	t.Helper()
	specs, err := Parse([]byte(text), JSONL)
	check.OK(t, err)
	return specs
}
