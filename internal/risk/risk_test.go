package risk_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/risk"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
)

// more has a way for each factor to have more of it.
func more() map[risk.Name]func(*risk.Facts) {
	name := func(n int) string { return fmt.Sprintf("f%d", n) }
	return map[risk.Name]func(*risk.Facts){
		risk.Protected: func(f *risk.Facts) { f.Protected = append(f.Protected, name(len(f.Protected))) },
		risk.Checks:    func(f *risk.Facts) { f.Checks = append(f.Checks, name(len(f.Checks))) },
		risk.Retries:   func(f *risk.Facts) { f.Retries++ },
		risk.Doubts:    func(f *risk.Facts) { f.Doubts = append(f.Doubts, name(len(f.Doubts))) },
		risk.Size:      func(f *risk.Facts) { f.Lines++ },
		risk.Authors:   func(f *risk.Facts) { f.Authors = max(f.Authors, 1) + 1 },
		risk.Failures:  func(f *risk.Facts) { f.Failures++ },
		risk.Unproven:  func(f *risk.Facts) { f.Unproven++ },

		risk.Unexecuted: func(f *risk.Facts) {
			f.Executable, f.Unexecuted = max(f.Executable, f.Unexecuted, 0)+1, max(f.Unexecuted, 0)+1
		},
		risk.Cost: func(f *risk.Facts) {
			if f.Usual.CostUSD == 0 {
				f.Usual, f.Spent = risk.Usual{CostUSD: 0.3, StepUSD: 0.01}, risk.Spent{Steps: 45}
			}
			f.Spent.CostUSD = max(f.Spent.CostUSD, 0) + 0.9
		},
		risk.Secrets:   func(f *risk.Facts) { f.Secrets = append(f.Secrets, name(len(f.Secrets))) },
		risk.Programs:  func(f *risk.Facts) { f.Programs = append(f.Programs, name(len(f.Programs))) },
		risk.Deleted:   func(f *risk.Facts) { f.Deleted = append(f.Deleted, name(len(f.Deleted))) },
		risk.Data:      func(f *risk.Facts) { f.Data = append(f.Data, name(len(f.Data))) },
		risk.Access:    func(f *risk.Facts) { f.Access = append(f.Access, name(len(f.Access))) },
		risk.Network:   func(f *risk.Facts) { f.Network = append(f.Network, name(len(f.Network))) },
		risk.Libraries: func(f *risk.Facts) { f.Libraries = append(f.Libraries, name(len(f.Libraries))) },
	}
}

// TestEachFactorAloneRaisesTheScore, is its only reason, and says so in words.
func TestEachFactorAloneRaisesTheScore(t *testing.T) {
	t.Parallel()
	check.Equal(t, "the risk of nothing", risk.Score{}, risk.Of(risk.Facts{}))
	said := map[risk.Name]string{
		risk.Protected: "changes protected or CI files: f0",
		risk.Checks:    "changes files that check it: f0",
		risk.Retries:   "took 2 attempts",
		risk.Doubts:    "in doubt: f0",
		risk.Size:      "nothing stands out, 1 line in 0 files",
		risk.Authors:   "one of its files was changed by 2 authors lately",
		risk.Failures:  "1 other piece of work on its files failed",
		risk.Unproven:  "leaves 1 criterion unproven",

		risk.Unexecuted: "no check executed 1 of 1 changed line of code",
		risk.Cost:       "cost $0.90 in 45 steps: 3.0 times the usual, 2.0 times for each step",
		risk.Secrets:    "has what looks like a secret: f0",
		risk.Programs:   "brings programs or binary files: f0",
		risk.Deleted:    "deletes tests: f0",
		risk.Data:       "changes how data is stored, or drops some: f0",
		risk.Access:     "changes who may do what: f0",
		risk.Network:    "calls the network in scripts: f0",
		risk.Libraries:  "changes what is installed: f0",
	}
	unseen := risk.Of(risk.Facts{Unseen: "git failed", Lines: 1})
	check.Equal(t, "the risk of what nobody saw", 1.0, unseen.Risk)
	check.Equal(t, "what is said of it", "what it changes cannot be seen: git failed", unseen.String())
	for name, add := range more() {
		var f risk.Facts
		add(&f)
		s := risk.Of(f)
		check.That(t, s.Risk > 0, "%s: the risk is %v", name, s.Risk)
		check.That(t, len(s.Factors) == 1 && s.Factors[0].Name == name, "%s: the factors are %v", name, s.Factors)
		check.Equal(t, "what is said of "+string(name), said[name], s.String())
	}
}

// TestWhatIsHeldWithoutHistory pins what the weights are chosen for.
func TestWhatIsHeldWithoutHistory(t *testing.T) {
	t.Parallel()
	files := []string{"a.go", "b.go", "c.go"}
	tests := map[string]struct {
		facts risk.Facts
		held  bool
	}{
		"a small change":                        {risk.Facts{Files: files, Lines: 40, Authors: 2}, false},
		"a large change alone":                  {risk.Facts{Files: files, Lines: 100000}, false},
		"one protected file":                    {risk.Facts{Files: files[:1], Lines: 1, Protected: files[:1]}, true},
		"one test changed":                      {risk.Facts{Files: files, Lines: 40, Checks: files[:1]}, false},
		"a test changed, and a doubt about it":  {risk.Facts{Files: files, Lines: 40, Checks: files[:1], Doubts: files[:1]}, true},
		"two retries":                           {risk.Facts{Files: files, Lines: 40, Retries: 2}, false},
		"a retry in files that often fail":      {risk.Facts{Files: files, Lines: 300, Retries: 1, Failures: 4, Authors: 4}, true},
		"a token":                               {risk.Facts{Files: files[:1], Lines: 1, Content: risk.Content{Secrets: files[:1]}}, true},
		"a new library":                         {risk.Facts{Files: files, Lines: 40, Content: risk.Content{Libraries: files[:2]}}, false},
		"a migration and a program":             {risk.Facts{Files: files, Lines: 40, Content: risk.Content{Data: files[:1], Programs: files[:1]}}, true},
		"one line that nothing executed":        {risk.Facts{Files: files, Lines: 40, Executable: 30, Unexecuted: 1}, false},
		"many lines that nothing executed":      {risk.Facts{Files: files, Lines: 40, Executable: 30, Unexecuted: 20}, true},
		"a large change with unproven criteria": {risk.Facts{Files: files, Lines: 800, Unproven: 3}, true},
	}
	for name, tt := range tests {
		s := risk.Of(tt.facts)
		check.That(t, s.Risk > risk.Half == tt.held, "%s: %v", name, s)
	}
}

func drawFacts(t *rapid.T) risk.Facts {
	list := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,3}`), 0, 5)
	some := rapid.OneOf(rapid.IntRange(0, 9), rapid.IntRange(0, math.MaxInt32), rapid.IntRange(-3, 0))
	return risk.Facts{
		Files: list.Draw(t, "files"), Lines: some.Draw(t, "lines"), Protected: list.Draw(t, "protected"), Checks: list.Draw(t, "checks"),
		Retries: some.Draw(t, "retries"), Doubts: list.Draw(t, "doubts"), Authors: some.Draw(t, "authors"), Failures: some.Draw(t, "failures"),
		Unproven: some.Draw(t, "unproven"), Executable: some.Draw(t, "executable"), Unexecuted: some.Draw(t, "unexecuted"),
		Spent:   risk.Spent{CostUSD: rapid.Float64Range(-1, 1e9).Draw(t, "cost"), Steps: some.Draw(t, "steps")},
		Usual:   risk.Usual{CostUSD: rapid.Float64Range(0, 1e9).Draw(t, "usual cost"), StepUSD: rapid.Float64Range(0, 1e9).Draw(t, "usual step")},
		Content: risk.Content{Secrets: list.Draw(t, "secrets"), Libraries: list.Draw(t, "libraries")},
	}
}

// TestARiskIsBoundedAndItsSharesAddUp whatever the facts are.
func TestARiskIsBoundedAndItsSharesAddUp(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := risk.Of(drawFacts(t))
		sum := 0.0
		for _, f := range s.Factors {
			sum += f.Share
			if !(f.Share > 0) || f.What == "" {
				t.Fatalf("a factor without a share, or a word: %v", f)
			}
		}
		if !(s.Risk >= 0) || s.Risk >= 1 || math.Abs(sum-s.Risk) > 1e-9 {
			t.Fatalf("the risk is %v, and the shares add up to %v", s.Risk, sum)
		}
		if !slices.IsSortedFunc(s.Factors, func(x, y risk.Factor) int { return cmp.Compare(y.Share, x.Share) }) {
			t.Fatalf("the largest share is not first: %v", s.Factors)
		}
	})
}

// TestMoreOfAFactorIsNeverLessRisk, and is more where it can still be seen in a number.
func TestMoreOfAFactorIsNeverLessRisk(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := drawFacts(t)
		before := risk.Of(f).Risk
		name := rapid.SampledFrom(slices.Sorted(maps.Keys(more()))).Draw(t, "factor")
		more()[name](&f)
		if after := risk.Of(f).Risk; after < before {
			t.Fatalf("with more %s the risk falls from %v to %v", name, before, after)
		}
	})
}

// TestAtMostAFifthOfPastWorkIsAboveTheThreshold, and without equal scores just a fifth.
func TestAtMostAFifthOfPastWorkIsAboveTheThreshold(t *testing.T) {
	t.Parallel()
	check.Equal(t, "without history", risk.Half, risk.Threshold(nil))
	check.Equal(t, "with little of it", risk.Half, risk.Threshold(make([]float64, 9)))
	check.Equal(t, "of ten", 0.7, risk.Threshold([]float64{0.9, 0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8}))
	rapid.Check(t, func(t *rapid.T) {
		past := rapid.SliceOfN(rapid.Float64Range(0, 1), 10, 60).Draw(t, "past")
		at, above, distinct := risk.Threshold(past), 0, map[float64]bool{}
		for _, r := range past {
			distinct[r] = true
			if r > at {
				above++
			}
		}
		if most := len(past) / 5; above > most || len(distinct) == len(past) && above != most {
			t.Fatalf("%d of %d are above %v", above, len(past), at)
		}
	})
}

// TestTheOrderOfARecordedRun: testdata/run.json has what a run of twelve tasks of the shell agent measured, in the order in
// which its work landed.
func TestTheOrderOfARecordedRun(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/run.json")
	check.OK(t, err)
	type work struct {
		Title string
		Facts risk.Facts
	}
	var run []work
	check.OK(t, json.Unmarshal(data, &run))
	slices.SortStableFunc(run, func(x, y work) int { return cmp.Compare(risk.Of(y.Facts).Risk, risk.Of(x.Facts).Risk) })
	var got strings.Builder
	for _, w := range run {
		s := risk.Of(w.Facts)
		fmt.Fprintf(&got, "%.2f  %s: %s\n", s.Risk, w.Title, s)
	}
	want := `0.61  Change the pipeline: changes protected or CI files: .github/workflows/ci.yml
0.45  Import the vendored tables: 3200 lines in 8 files
0.31  Tidy what failed before: 1 other piece of work on its files failed; 93 lines in 3 files; one of its files was changed by 4 authors lately
0.30  Drop the old test of main: changes files that check it: tests/main.test.sh; the old ones: passed
0.28  Rename the main loop: took 2 attempts; one of its files was changed by 3 authors lately
0.26  Test that main has a first line: changes files that check it: tests/main.test.sh; the old ones: passed
0.23  Mend a typo: 1 other piece of work on its files failed; one of its files was changed by 4 authors lately
0.20  Parse dates: 240 lines in 2 files
0.01  Say hello: nothing stands out, 1 line in 1 file
0.01  Check the units: nothing stands out, 1 line in 1 file
0.01  Add tests of dates: nothing stands out, 1 line in 1 file
0.01  Draw a logo: nothing stands out, 0 lines in 1 file
`
	check.Equal(t, "the order", want, got.String())
}
