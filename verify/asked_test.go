package verify

import (
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

func TestAskTask(t *testing.T) {
	t.Parallel()
	const (
		edited  = "@@ -1 +1 @@\n-max=100\n+max=140\n"
		grown   = "@@ -1 +1,2 @@\n vendor/all.sh\n+lib/table.sh\n"
		deleted = "deleted file mode 100644\n@@ -1 +0,0 @@\n-ok\n"
	)
	change := func(file, text string) Hunk { return Hunk{File: file, Text: text} }
	lint, test, gone := change("lint.sh", edited), change("tests/cart_test.py", edited), change("tests/cart_test.py", deleted)
	tests := map[string]struct {
		task  string
		of    []Hunk
		asked bool
	}{
		"what is in the file":           {"Change the limit in lint.sh, and write slug in one line.", []Hunk{lint}, true},
		"the file":                      {"We agreed on it. Update `lint.sh` accordingly.", []Hunk{lint}, true},
		"several sentences":             {"Change the limit in lint.sh. Adapt tests/cart_test.py to it.", []Hunk{lint, test}, true},
		"several files":                 {"Make it a module and convert lib, lint.sh and tests/cart_test.py from a to b.", []Hunk{lint, test}, true},
		"the second of two clauses":     {"Print a line of dashes, and change ./tests/cart_test.py accordingly.", []Hunk{test}, true},
		"across lines":                  {"Print a line of dashes, and change\ntests/cart_test.py accordingly.", []Hunk{test}, true},
		"a line of a list":              {"To do:\n- Remove the check from lint.sh\n- Commit", []Hunk{lint}, true},
		"after a semicolon":             {"The limit is 140 now; change the number in lint.sh.", []Hunk{lint}, true},
		"a deleted file":                {"Delete it and tests/cart_test.py.", []Hunk{gone}, true},
		"a finding":                     {"Delete it and tests/cart_test.py.", []Hunk{{Text: "test file deleted: tests/cart_test.py"}}, true},
		"a line that the task has":      {"lib/table.sh is generated. Add it, and list it in .lintignore.", []Hunk{change(".lintignore", grown)}, true},
		"it is named beside the list":   {"List lib/table.sh in .lintignore.", []Hunk{change(".lintignore", grown)}, true},
		"another sentence forbids else": {"Do not touch README.md. Change the limit in lint.sh.", []Hunk{lint}, true},

		"only one of two files":             {"Change the limit in lint.sh.", []Hunk{lint, test}, false},
		"another folder's file":             {"Change cart_test.py to integers.", []Hunk{test}, false},
		"a name that begins the same":       {"Change lint.sh.txt to integers.", []Hunk{lint}, false},
		"to fix a test":                     {"Fix tests/cart_test.py.", []Hunk{test}, false},
		"to make it pass":                   {"Make tests/cart_test.py pass.", []Hunk{test}, false},
		"that it fails":                     {"tests/cart_test.py fails.", []Hunk{test}, false},
		"it fails, and something changes":   {"tests/cart_test.py fails: change cart.py, not the test.", []Hunk{test}, false},
		"change so that it passes":          {"Change cart.py so that tests/cart_test.py passes.", []Hunk{test}, false},
		"change until it is content":        {"Change cart.py until tests/cart_test.py is content.", []Hunk{test}, false},
		"change to satisfy it":              {"Rewrite the parser to satisfy tests/cart_test.py.", []Hunk{test}, false},
		"change as it says":                 {"Change the total as in tests/cart_test.py.", []Hunk{test}, false},
		"change what it tests":              {"Change the function tested in tests/cart_test.py.", []Hunk{test}, false},
		"change what is found there":        {"Change the function that is in tests/cart_test.py.", []Hunk{test}, false},
		"remove its errors":                 {"Remove the errors in tests/cart_test.py.", []Hunk{test}, false},
		"it is the subject after a comma":   {"Change cart.py, tests/cart_test.py shows how.", []Hunk{test}, false},
		"after a comma alone":               {"Change cart.py, tests/cart_test.py: it says how.", []Hunk{test}, false},
		"its name is that of something":     {"Change the totals in tests/cart_test.py style.", []Hunk{test}, false},
		"it is the subject after an and":    {"Change cart.py and tests/cart_test.py will work.", []Hunk{test}, false},
		"a description":                     {"The tools read a list and update tests/cart_test.py.", []Hunk{test}, false},
		"a description of several":          {"Its tools read a list, update tests/cart_test.py and exit.", []Hunk{test}, false},
		"a message":                         {`It prints: "update tests/cart_test.py".`, []Hunk{test}, false},
		"a question":                        {"Change tests/cart_test.py?", []Hunk{test}, false},
		"a condition":                       {"Change tests/cart_test.py if it is wrong.", []Hunk{test}, false},
		"it is forbidden":                   {"Do not change tests/cart_test.py.", []Hunk{test}, false},
		"a word for it":                     {"Don't change tests/cart_test.py.", []Hunk{test}, false},
		"it is forbidden after all":         {"Change the limit in lint.sh. No, leave lint.sh as it is.", []Hunk{lint}, false},
		"other tests are to stay":           {"Change the limit in lint.sh. No check may get weaker.", []Hunk{lint}, false},
		"forbidden by a heading":            {"## Not in scope\n\n- Rewrite the parser.\n- Change the limit in lint.sh.", []Hunk{lint}, false},
		"forbidden by what is above a list": {"Never:\n\n- Rewrite the parser\n- Change the limit in lint.sh", []Hunk{lint}, false},
		"more tests":                        {"Update tests/cart_test.py to cover returns.", []Hunk{test}, false},
		"a test is added":                   {"Add a test of returns to tests/cart_test.py.", []Hunk{test}, false},
		"code":                              {"Run this:\n\n```\necho\n\nChange the limit in lint.sh.\n```\n", []Hunk{lint}, false},
		"an abbreviation":                   {"Nobody may e.g. change tests/cart_test.py.", []Hunk{test}, false},
		"changed, and it is gone":           {"Change tests/cart_test.py to integers.", []Hunk{gone}, false},
		"deleted in it, and it is gone":     {"Delete the loop in tests/cart_test.py.", []Hunk{gone}, false},
		"deleted, and it is only changed":   {"Delete tests/cart_test.py.", []Hunk{test}, false},
		"a line that the task does not have": {
			"lib/table.sh is generated. Add it, and list it in .lintignore.", []Hunk{change(".lintignore", grown+"+lib\n")}, false,
		},
		"listed, and another line is gone": {"Add lib/table.sh and list it in .lintignore.", []Hunk{change(".lintignore", grown+"-vendor/all.sh\n")}, false},
		"a mode":                           {"Change the limit in lint.sh.", []Hunk{change("lint.sh", "old mode 100755\nnew mode 100644\n")}, false},
		"a new file":                       {"Change the limit in lint.sh.", []Hunk{change("lint.sh", "new file mode 100644\n@@ -0,0 +1 @@\n+exit\n")}, false},
		"a file taken with others":         {"Change the limit in lint.sh.", []Hunk{change("lint.sh and 3 more files", edited)}, false},
		"what was not read":                {"Change the limit in lint.sh.", []Hunk{change("lint.sh", "")}, false},
		"a finding of another kind":        {"Change the limit in lint.sh.", []Hunk{{Text: "what the gates run does nothing: lint.sh"}}, false},
		"no change":                        {"Change the limit in lint.sh.", nil, false},
		"a verb at the end":                {"Read lint.sh and change", []Hunk{lint}, false},
		"nothing":                          {"", []Hunk{lint}, false},
	}
	for name, tt := range tests {
		d := &Doubt{Failed: []Result{{}}}
		for i, h := range tt.of {
			if h.N = i + 1; h.File == "" {
				d.Findings = append(d.Findings, h.Text)
			} else {
				d.Hunks = append(d.Hunks, h)
			}
		}
		d.AskTask([]string{"Be better", tt.task})
		check.Equal(t, name, tt.asked, strings.HasPrefix(d.Asked, `the task asks for the changed checks: "`))
		check.Equal(t, name+": nothing else", tt.asked, d.Asked != "")
		title := &Doubt{Failed: d.Failed, Findings: d.Findings, Hunks: d.Hunks}
		title.AskTask([]string{tt.task, ""})
		check.Equal(t, name+", as a title", d.Asked, title.Asked)
	}
}
