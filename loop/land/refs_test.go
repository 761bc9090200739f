package land

import (
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestNames: a task asks for a ref if its name is a word of the task, however the sentence goes on.
func TestNames(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Tag it v1.2":              true,
		"Make v1.2.":               true,
		"(v1.2) and others":        true,
		"`v1.2`, please":           true,
		"make refs/tags/v1.2":      true,
		"v1.2: the release":        true,
		"v1.20 then v1.2":          true,
		"Tag v1.2.1":               false,
		"Tag v1.2-rc1":             false,
		"Tag rv1.2":                false,
		"look at docs/v1.2":        false,
		"pre-v1.2":                 false,
		"a file v1.2/notes":        false,
		"V1.2":                     false,
		"":                         false,
		"write what v1 . 2 is for": false,
	} {
		check.Equal(t, text, want, names(dag.Task{Detail: dag.Detail{Title: "Release", Description: text}}, "refs/tags/v1.2"))
	}
	check.That(t, names(dag.Task{Detail: dag.Detail{Title: "Begin release/2.0"}}, "refs/heads/release/2.0"), "the name of a branch with a folder is not found")
}
