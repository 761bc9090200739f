package proof

import (
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestTable(t *testing.T) {
	t.Parallel()
	spec := "## Success criteria\n- C1: one\n"
	seen := func(kind dag.ProofKind, change func(*dag.Proof)) dag.Proof {
		p := dag.Proof{Criterion: "C1", Text: "one", Kind: kind, Task: "t-1", Shown: "shown", Author: "ann", Gate: "make", Commit: "0123456789", Standing: true, At: time.Unix(0, 0)}
		if change != nil {
			change(&p)
		}
		return p
	}
	done := dag.Task{ID: "t-1", Status: dag.Done, Detail: dag.Detail{Proves: []string{"C1"}}}
	open := dag.Task{ID: "t-2", Status: dag.Pending, Detail: dag.Detail{Proves: []string{"C1"}}}
	for name, tt := range map[string]struct {
		tasks  []dag.Task
		proofs []dag.Proof
		words  string
		proven bool
	}{
		"nobody":            {nil, nil, "no task proves it", false},
		"not yet":           {[]dag.Task{open}, nil, "it waits for t-2", false},
		"done before":       {[]dag.Task{done}, nil, "nothing looked here for a proof when t-1 was done", false},
		"a test":            {[]dag.Task{done}, []dag.Proof{seen(dag.ProofTest, nil)}, "test: make, which fails without the work: shown", true},
		"a verdict":         {[]dag.Task{done}, []dag.Proof{seen(dag.ProofVerdict, nil)}, "verdict of ann: shown", true},
		"a person":          {nil, []dag.Proof{seen(dag.ProofPerson, nil)}, "ann says so: shown", true},
		"a test says more":  {nil, []dag.Proof{seen(dag.ProofTest, nil), seen(dag.ProofPerson, nil)}, "test: make, which fails without the work: shown", true},
		"the newest":        {nil, []dag.Proof{seen(dag.ProofVerdict, nil), seen(dag.ProofPerson, nil)}, "ann says so: shown", true},
		"in part":           {[]dag.Task{done}, []dag.Proof{seen(dag.ProofPartial, nil)}, "t-1: shown", false},
		"in part, and open": {[]dag.Task{open}, []dag.Proof{seen(dag.ProofPartial, nil)}, "it waits for t-2", false},
		"a word says more":  {[]dag.Task{done}, []dag.Proof{seen(dag.ProofVerdict, nil), seen(dag.ProofPartial, nil)}, "verdict of ann: shown", true},
		"none":              {[]dag.Task{done}, []dag.Proof{seen(dag.ProofNone, nil)}, "t-1: shown", false},
		"none, and a word":  {[]dag.Task{done}, []dag.Proof{seen(dag.ProofPerson, nil), seen(dag.ProofNone, nil)}, "ann says so: shown", true},
		"other words":       {[]dag.Task{done}, []dag.Proof{seen(dag.ProofTest, func(p *dag.Proof) { p.Text = "two" })}, "it said something else when it was proven (1970-01-01)", false},
		"undone since":      {[]dag.Task{open}, []dag.Proof{seen(dag.ProofTest, func(p *dag.Proof) { p.Standing = false })}, "it waits for t-2", false},
		"a word, and open":  {[]dag.Task{open}, []dag.Proof{seen(dag.ProofPerson, nil)}, "it waits for t-2", false},
		"another one":       {nil, []dag.Proof{seen(dag.ProofTest, func(p *dag.Proof) { p.Criterion = "C2" })}, "no task proves it", false},
		"in part, and none": {[]dag.Task{done}, []dag.Proof{seen(dag.ProofPartial, nil), seen(dag.ProofNone, func(p *dag.Proof) { p.Shown = "nothing" })}, "t-1: shown", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows := Table(spec, tt.tasks, tt.proofs)
			check.Equal(t, "criteria", 1, len(rows))
			check.Equal(t, "proven", tt.proven, rows[0].Proven)
			check.Equal(t, "words", tt.words, rows[0].Words())
			sign := map[bool]string{true: "✓", false: "✗"}[tt.proven]
			if rows[0].Partial() {
				sign = "◐"
				check.Equal(t, "summary", "0 of 1 criterion proven, 1 in part; not proven: C1", Summary(rows))
			}
			check.Equal(t, "sign", sign, rows[0].Sign())
		})
	}
	lost := Table("no heading", []dag.Task{done}, []dag.Proof{seen(dag.ProofTest, nil)})
	check.Equal(t, "a specification without it", "C1 the specification has no such criterion, and t-1 is to prove it", lost[0].ID+" "+lost[0].Words())
	check.Equal(t, "a criterion that was taken out", 1, len(Table("## Acceptance\n- C2: two\n", []dag.Task{done}, []dag.Proof{seen(dag.ProofTest, nil)})))
	check.Equal(t, "one that never was", 2, len(Table("## Acceptance\n- C2: two\n", []dag.Task{done}, nil)))
	rows := Table("## Acceptance\n- C1: one\n- two\n- C3: three\n", nil, []dag.Proof{seen(dag.ProofTest, nil)})
	check.Equal(t, "summary", "1 of 3 criteria proven; not proven: one without an ID, C3", Summary(rows))
	check.Equal(t, "where", "t-1 0123456", rows[0].At())
}
