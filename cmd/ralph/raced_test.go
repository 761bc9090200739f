package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestEveryLineOfTheRacedListFindsATest: what CI runs under the race detector is a
// list of names, and a name that nothing has would race nothing, in silence.
func TestEveryLineOfTheRacedListFindsATest(t *testing.T) {
	t.Parallel()
	list, err := os.ReadFile("../../.ci/raced")
	check.OK(t, err)
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
	for line := range strings.Lines(string(list)) {
		name, scripts, _ := strings.Cut(strings.TrimSpace(line), "/")
		if !slices.ContainsFunc(tests, regexp.MustCompile(name).MatchString) {
			t.Errorf("no test is called %s", name)
		}
		for script := range strings.SplitSeq(strings.Trim(scripts, "^$()"), "|") {
			if _, err := os.Stat("testdata/script/" + script + ".txtar"); script != "" && err != nil {
				t.Errorf("there is no script %s", script)
			}
		}
	}
}
