package attempt

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/testing/check"
	_ "ralph/internal/testing/seeded"
	"ralph/verify"
)

// said is what a gate says that names these tests.
func said(gate string, failures ...string) verify.Result {
	return verify.Result{Command: gate, Passed: len(failures) == 0, Exit: "exit status 1", Failures: strings.Join(failures, "\n")}
}

const failedA, failedB = "--- FAIL: TestA", "--- FAIL: TestB"

func TestAnExcuseEndsWhenItsTestPasses(t *testing.T) {
	t.Parallel()
	a := Allowed{}
	a.Allow(a.Begin([]verify.Result{said("make", failedA, failedB), said("lint")}))
	check.Equal(t, "excused", Allowed{"make": failedA + "\n" + failedB}, a)
	check.Equal(t, "what fails as it did", 0, len(a.Begin([]verify.Result{said("make", failedA, failedB)})))
	check.Equal(t, "with one repaired", 0, len(a.Begin([]verify.Result{said("make", failedB)})))
	check.Equal(t, "the repaired one again", 1, len(a.Begin([]verify.Result{said("make", failedA)})))
	a.Accept([]verify.Check{{Result: said("make")}})
	check.Equal(t, "after it passed", Allowed{}, a)
	check.Equal(t, "what was excused once", 1, len(a.Begin([]verify.Result{said("make", failedB)})))
}

// TestWorkExcusesNothingByItself: only what may fail already, or what a task was to make fail, is noted when work is accepted.
func TestWorkExcusesNothingByItself(t *testing.T) {
	t.Parallel()
	a := Allowed{}
	a.Accept([]verify.Check{{Result: said("make", failedA)}})
	check.Equal(t, "excused by work", Allowed{}, a)
	a.Accept([]verify.Check{{Result: said("make", failedA), ExpectRed: true}})
	check.Equal(t, "excused by tests that come first", Allowed{"make": failedA}, a)
}

// TestNoExcuseIsWiderThanWhatAPersonAllowed, in whatever order gates speak.
func TestNoExcuseIsWiderThanWhatAPersonAllowed(t *testing.T) {
	t.Parallel()
	lines := rapid.SampledFrom([]string{failedA, failedB, "--- FAIL: TestC", "FAIL"})
	rapid.Check(t, func(t *rapid.T) {
		a, seen := Allowed{}, map[string]bool{}
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			r := said(rapid.SampledFrom([]string{"make", "lint"}).Draw(t, "gate"), rapid.SliceOfNDistinct(lines, 0, 3, rapid.ID[string]).Draw(t, "failures")...)
			failing := a.Begin([]verify.Result{r})
			if len(failing) > 0 && rapid.Bool().Draw(t, "a person allows it") {
				a.Allow(failing)
				for line := range strings.SplitSeq(r.Failures, "\n") {
					seen[r.Command+line] = true
				}
				if !r.Passed && r.Named() && len(a.Begin([]verify.Result{r})) > 0 {
					t.Fatalf("%q is not excused by %v", r.Failures, a)
				}
			}
			if _, excused := a[r.Command]; r.Passed && excused {
				t.Fatalf("%s passed and is excused: %v", r.Command, a)
			}
			for _, gate := range slices.Collect(maps.Keys(a)) {
				for line := range strings.SplitSeq(a[gate], "\n") {
					if line != "" && !seen[gate+line] {
						t.Fatalf("%q of %s was never allowed", line, gate)
					}
				}
			}
		}
	})
}

// TestARecordOutlivesItsProcess: what an attempt stores, another machine sends and a later run reads is the same.
func TestARecordOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	usd := 0.25
	one := said("make", failedA)
	for name, record := range map[string]Record{
		"a base":     {Base: &Base{Tree: "abc", Gone: true, Gates: map[string]verify.Result{"make": one}}},
		"the end":    {Finished: &Finished{Stop: "end_turn", Evident: true, Told: []string{"k-1"}, Patch: "p", Trees: [2]string{"a", "b"}, Gates: []verify.Check{{Result: one, ExpectRed: true}}}},
		"proofs":     {Proofs: Proofs{{Criterion: "C1", Text: "it <works>", Kind: "test", Task: "t-1", Gate: "make", Shown: "\x00"}, {Criterion: "C2"}}},
		"no proof":   {Proofs: Proofs{}},
		"excuses":    {Allowed: []verify.Result{one}, Accepted: []verify.Check{{Result: one}}},
		"a question": {Asked: &inbox.Request{ID: "q-1", Text: "why?"}},
		"messages":   {Sent: &Message{Task: "t-2", Text: "hi"}, Received: []string{"m-1"}},
		"use":        {Used: &Used{Usage: event.Usage{TokensIn: 1, TokensOut: 2, CostUSD: &usd, Unknown: true}, SessionUSD: &usd}},
		"a note":     {Note: &dag.Note{}},
	} {
		data, err := json.Marshal(record)
		check.OK(t, err)
		var got Record
		check.OK(t, json.Unmarshal(data, &got))
		if diff := cmp.Diff(record, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestUseIsDividedWithoutLoss: what an attempt used elsewhere and here is what its agents used together, the worker first.
func TestUseIsDividedWithoutLoss(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var sum event.Usage
		var elsewhere AgentUse
		for _, agent := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"one", "two", "three"}), 1, 3, rapid.ID[string]).Draw(t, "agents") {
			u := event.Usage{TokensIn: rapid.Int64Range(0, 99).Draw(t, "in"), TokensOut: rapid.Int64Range(0, 99).Draw(t, "out"), Unknown: rapid.Bool().Draw(t, "unknown")}
			sum = sum.Add(u)
			elsewhere.Shares = append(elsewhere.Shares, dag.ShareOf(agent, "big", u))
		}
		elsewhere.Usage = sum
		m := &meter{report: func(u Used) {
			if u.Usage.TokensIn != sum.TokensIn || u.Usage.TokensOut != sum.TokensOut {
				t.Fatalf("got %+v, want %+v", u.Usage, sum)
			}
		}}
		m.resume(elsewhere, "big")
		m.tell()
		list := m.split("one", "big")
		if list == nil { // all of it is the worker's
			list = elsewhere.Shares
		}
		var in, out int64
		for _, s := range list {
			in, out = in+s.TokensIn, out+s.TokensOut
		}
		if list[0].Agent != "one" || in != sum.TokensIn || out != sum.TokensOut {
			t.Fatalf("got %+v of %+v", list, elsewhere)
		}
	})
}
