package main

import (
	"testing"

	"ralph/internal/testing/check"
)

// TestCrashMatrixWithoutGit kills a run in a folder without git at every point between the person's edits and the files of the work. A
// person edits another file then. The next run lands the work once, and takes in all that is theirs, and nothing that a landing left.
func TestCrashMatrixWithoutGit(t *testing.T) {
	notRaced(t)
	for name, tt := range map[string]struct{ point, torn string }{
		"edits staged, not committed":       {point: "before-commit"},
		"landing, nothing moved":            {point: "before-land"},
		"about to write files":              {point: "before-move"},
		"half of them written":              {point: "before-move", torn: `printf on > value.txt; ln -s $2 .ralph/repository/index.lock`},
		"all of them written, nothing else": {point: "before-move", torn: `git read-tree -m -u $1 $2`},
		"moved, not settled":                {point: "after-move"},
		"settled, refs are left":            {point: "before-ref-removal"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, say(step{Do: "run", Argv: []string{"sh", "-c", `sed -i s/1/one/ value.txt`}}, saysDone()))
			p.env = append(p.env, "RALPH_SANDBOX_MODE=off", "XDG_STATE_HOME="+t.TempDir())
			p.write("value.txt", "1\n2\n")
			p.write("other.txt", "old\n")
			p.write(".gitignore", "/ledger\n/plan.jsonl\n/.local\n/.cache\n/.config\n")
			p.plan("first")
			p.dying(tt.point, "run").wait(-1)
			p.awaitGone()
			p.env = append(p.env, "GIT_DIR="+p.dir+"/.ralph/repository", "GIT_WORK_TREE="+p.dir) // of the shell; ralph does not care
			if tt.torn != "" {
				p.tear(".ralph/repository", tt.torn)
			}
			p.write("other.txt", "by a person\n")
			p.want(0, "run")
			p.wantStatus("t-00000001", "done")
			p.holds("value.txt", "one\n2\n")
			p.holds("other.txt", "by a person\n")
			p.want(0, "merge")
			check.Equal(t, "uncommitted", "", p.shell(`git status --porcelain`))
			check.Equal(t, "commits of the task", "1\n", p.shell(`git log --format='%(trailers:key=Ralph-Task,valueonly)' this-folder | grep -c t-`))
			check.Equal(t, "who changed the file", "1\n", p.shell(`git log --format=%s this-folder -- value.txt | grep -vc '^Take in edits$'`))
			check.Equal(t, "refs that are left", "", p.shell(`git for-each-ref refs/ralph`))
			p.want(0, "doctor")
		})
	}
}
