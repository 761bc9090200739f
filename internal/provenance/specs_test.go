package provenance_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"ralph/internal/project"
	"ralph/internal/testing/check"
)

// TestASpecificationIsUnconfirmed while one is as an attempt may have left it, also if the run was killed; a later run forgets nothing of that.
func TestASpecificationIsUnconfirmed(t *testing.T) {
	t.Parallel()
	p, _ := watched(t, "a\n")
	spec := func(feature, text string) {
		check.OK(t, os.MkdirAll(p.Feature(feature), 0o755))
		check.OK(t, os.WriteFile(filepath.Join(p.Feature(feature), "spec.md"), []byte(text), 0o644))
	}
	spec("one", "1")
	spec("two", "2")
	h := begun(t, p)
	want := func(when, one, two, three string) {
		t.Helper()
		for feature, by := range map[string]string{"one": one, "two": two, "three": three} {
			check.Equal(t, when+": "+feature, by, h.SpecWriter(".ralph/features/"+feature+"/spec.md"))
		}
	}
	end := h.During("t-1", "a-1")
	spec("one", "evil")
	want("at work", "t-1, attempt a-1", "", "")
	check.OK(t, end())
	spec("two", "a person's")
	want("ended", "t-1, attempt a-1", "", "")

	h.During("t-2", "a-2")
	spec("two", "evil")
	spec("three", "evil")
	kill(t, p)
	h = begun(t, p)
	h = begun(t, p)
	want("killed", "t-1, attempt a-1", "t-2, attempt a-2", "t-2, attempt a-2")
	check.OK(t, os.Remove(filepath.Join(p.Feature("three"), "spec.md")))
	spec("one", "1")
	want("undone", "", "t-2, attempt a-2", "")

	end = h.During("t-3", "a-3")
	check.OK(t, os.Remove(filepath.Join(p.Feature("one"), "spec.md")))
	check.OK(t, historyOf(p).Confirm())
	want("confirmed", "", "", "")
	check.OK(t, end())
	want("confirmed and ended", "", "", "")
	spec("one", "1")
	want("there again", "", "", "")
}

// kill makes all attempts that are open those of a run that has died.
func kill(t *testing.T, p project.Project) {
	t.Helper()
	file := storeOf(p).File("configuration.json")
	var record map[string]any
	check.OK(t, json.Unmarshal(read(t, file), &record))
	for _, open := range record["open"].([]any) {
		open.(map[string]any)["process"].(map[string]any)["Start"] = 1
	}
	data, err := json.Marshal(record)
	check.OK(t, err)
	check.OK(t, os.WriteFile(file, data, 0o600))
}
