package main

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestMain lets the test binary be the agent, as realwork is.
func TestMain(m *testing.M) {
	if slices.Contains(os.Args, "--agent") {
		main()
		return
	}
	os.Exit(m.Run())
}

// history3 is what a repository of scripts went through: what each commit writes.
var history3 = []map[string]string{
	{"sum.sh": "echo $(($1 + $2))\n", "tests/sum.test.sh": "test \"$(sh sum.sh 1 2)\" = 3 || exit 1\n"},
	{ // right as it is; a test tells of each of its files
		"double.sh": "sh sum.sh \"$1\" \"$1\"\n", "triple.sh": "sh sum.sh \"$1\" \"$(sh double.sh \"$1\")\"\n",
		"tests/sum.test.sh": "test \"$(sh sum.sh 1 2)\" = 3 || exit 1\ntest \"$(sh double.sh 2)\" = 4 || exit 1\ntest \"$(sh triple.sh 2)\" = 6 || exit 1\n",
	},
	{"README.md": "Sums.\n"}, // nothing to measure
}

func repositoryOf(t *testing.T, commits []map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	in := command{dir: dir}
	git := func(args ...string) {
		_, err := in.git(t.Context(), args...)
		check.OK(t, err)
	}
	git("init", "-q", "-b", "main")
	for _, files := range commits {
		for name, text := range files {
			check.OK(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
			check.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		git("add", "-A")
		git("commit", "-qm", "Change something")
	}
	return dir
}

// TestACorpusOfAProjectsHistoryIsReplayed from its commits to the table, with the ralph of this tree, and goes on where it was.
func TestACorpusOfAProjectsHistoryIsReplayed(t *testing.T) {
	t.Parallel()
	ralph, folder := filepath.Join(t.TempDir(), "ralph"), t.TempDir()
	build := exec.Command("go", "build", "-o", ralph, "./cmd/ralph")
	build.Dir, build.Env = filepath.Join("..", "..", ".."), append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build ralph: %v\n%s", err, out)
	}
	corpus, results := filepath.Join(folder, "corpus"), filepath.Join(folder, "results.jsonl")
	args := []string{
		"--history", "1", "--gate", "sh tests/sum.test.sh", "--out", results, "--work", folder, "--root",
		ralph, corpus, repositoryOf(t, history3), "--", "--sandbox", "off",
	}
	var stdout, stderr bytes.Buffer
	check.OK(t, run(t.Context(), args, nil, &stdout, &stderr))
	ids, err := instances(corpus)
	check.OK(t, err)
	check.Equal(t, "instances", 2, len(ids))
	for _, want := range []string{"right              1         0         0         1\n", "wrong              1         0         0         1\n", "wrong work that landed                     1 of 1    100 % [21, 100]"} {
		check.That(t, strings.Contains(stdout.String(), want), "%q is not in\n%s\n%s", want, stdout.String(), stderr.String())
	}
	first, err := os.ReadFile(results)
	check.OK(t, err)
	check.Equal(t, "results", 2, bytes.Count(first, []byte("\n")))
	cut := first[:len(first)-20] // it was killed while it wrote
	check.OK(t, os.WriteFile(results, append(cut, '\n'), 0o600))
	stderr.Reset()
	check.OK(t, run(t.Context(), args, nil, &stdout, &stderr))
	check.Equal(t, "what was replayed again", 1, strings.Count(stderr.String(), "accepted"))
}

func TestAVerdictIsReadFromTheResultOfARun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ out, want string }{
		"landed":   {`{"outcome":"complete","tasks":[{"id":"t-1","status":"done"}],"work":{"review":[]}}`, accepted},
		"held":     {"a line of the log\n" + `{"outcome":"blocked","tasks":[{"id":"t-1","status":"pending"}],"work":{"review":[{"task":"t-1"}]}}`, held},
		"rejected": {`{"outcome":"complete","tasks":[{"id":"t-1","status":"failed"}],"work":{"review":[{"task":"t-2"}]}}`, rejected},
		"no run":   {`{"outcome":"agent_unavailable","tasks":[],"work":{}}`, ""},
		"a crash":  {"panic: x", ""},
	} {
		got, err := verdict(tt.out, "t-1")
		check.Equal(t, name, tt.want, got)
		check.Equal(t, name+": an error", tt.want == "", err != nil)
	}
}

const patchOfTwo = `diff --git a/a.go b/a.go
--- a/a.go
+++ b/a.go
@@ -1,2 +1,3 @@
 a
+if x == 1 {
 b
@@ -9,2 +10,3 @@
 c
+d
 e
diff --git a/b.go b/b.go
--- a/b.go
+++ b/b.go
@@ -1 +1,2 @@
 a
+b
`

// TestWrongWorkIsMadeOfRightWork by leaving out each hunk, then by changing one line.
func TestWrongWorkIsMadeOfRightWork(t *testing.T) {
	t.Parallel()
	list := without(patchOfTwo)
	check.Equal(t, "patches without a hunk", 3, len(list))
	check.That(t, !strings.Contains(list[0], "x == 1") && strings.Contains(list[0], "+d\n") && strings.Contains(list[0], "b.go"), "the first: %s", list[0])
	check.That(t, !strings.Contains(list[2], "b.go"), "a file without hunks is still there: %s", list[2])
	check.Equal(t, "a single hunk", 0, len(without(list[2][:strings.Index(list[2], "@@ -9")])))
	check.Equal(t, "mutants", []string{strings.Replace(patchOfTwo, "==", "!=", 1), strings.Replace(patchOfTwo, "1 {", "2 {", 1)}, mutants(patchOfTwo))
}

func TestTheIntervalOfAShare(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		n, of     int
		low, high float64
	}{{0, 10, 0, 0.278}, {29, 35, 0.674, 0.919}, {10, 10, 0.722, 1}, {5, 22, 0.101, 0.434}} {
		low, high := wilson(tt.n, tt.of)
		check.That(t, math.Abs(low-tt.low) < 0.001 && math.Abs(high-tt.high) < 0.001, "%d of %d: %.3f to %.3f, want %.3f to %.3f", tt.n, tt.of, low, high, tt.low, tt.high)
	}
}

// TestTheUsualFifth has room for more wrong work where most of a corpus is wrong.
func TestTheUsualFifth(t *testing.T) {
	t.Parallel()
	var list []ranked
	for i := range 20 { // the four riskiest, and every second one of the others
		list = append(list, ranked{1 - float64(i)/20, i < 4 || i%2 == 0})
	}
	n, of := inFirstFifth(list)
	check.Equal(t, "in a fifth", [2]int{4, 12}, [2]int{n, of})
	n, of = inUsualFifth(list) // five wrong ones and one right one, 0.2003 together, are too much
	check.Equal(t, "in the usual fifth", [2]int{5, 12}, [2]int{n, of})
	n, of = inUsualFifth(list[:4])
	check.Equal(t, "where all are wrong", [2]int{0, 0}, [2]int{n, of})
}

// TestRiskRanksRecordedWork: testdata/features.json has the numbers of 246 attempts of a real agent, of which 67 are wrong. What they
// cost tells more than how large the change is. The weights are fitted on these, so that they rank others is not shown here.
func TestRiskRanksRecordedWork(t *testing.T) {
	t.Parallel()
	list, err := readFeatures("testdata/features.json")
	check.OK(t, err)
	scored := score(list)
	check.That(t, auc(scored) >= 0.64, "the AUC fell to %.3f", auc(scored))
	n, of := inFirstFifth(scored)
	check.That(t, of == 67 && n >= 20, "%d of %d wrong ones are in the first fifth", n, of)
	for i := range list {
		list[i].Cost = nil
	}
	check.That(t, auc(score(list)) < 0.6, "size alone has an AUC of %.3f", auc(score(list)))
}
