package proof

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/human"
)

// Row is what is known of one criterion.
type Row struct {
	Criterion
	Proven bool       `json:"proven"`
	Proof  *dag.Proof `json:"proof"`          // nil if nothing shows it; of one that is not proven it is partial
	Tasks  []string   `json:"tasks"`          // that say they prove it
	Same   string     `json:"same,omitempty"` // the criterion that the same test proves
	Why    string     `json:"why,omitempty"`  // it is not proven
}

// Words say what shows that the criterion is met, or why nothing does.
func (r Row) Words() string {
	if !r.Proven {
		return r.Why
	}
	p := r.Proof
	switch p.Kind {
	case dag.ProofTest:
		if r.Same != "" {
			return "the same test as " + r.Same
		}
		return "test: " + p.Gate + human.Lead(", which fails without the work: ", p.Shown)
	case dag.ProofVerdict:
		return "verdict of " + p.Author + ": " + p.Shown
	default:
		return p.Author + " says so" + human.Lead(": ", p.Shown)
	}
}

// Partial reports whether something shows that the criterion is met, but not enough.
func (r Row) Partial() bool { return !r.Proven && r.Proof != nil }

// Sign is a mark for it.
func (r Row) Sign() string {
	switch {
	case r.Proven:
		return "✓"
	case r.Partial():
		return "◐"
	}
	return "✗"
}

// At says where that was seen: the task and the commit.
func (r Row) At() string {
	if r.Proof == nil {
		return ""
	}
	return strings.Join(human.Parts(r.Proof.Task, r.Proof.Commit[:min(len(r.Proof.Commit), 7)]), " ")
}

// Table holds the criteria of a specification against what was seen of them. The words of a criterion count: one that was
// rewritten since is to be proven again. A test says more than a verdict does, which says more than a partial
// proof, and the newest of the same kind counts.
func Table(spec string, tasks []dag.Task, proofs []dag.Proof) (rows []Row) {
	for _, c := range Criteria(spec) {
		r := Row{Criterion: c, Tasks: []string{}}
		r.Commands = append([]string{}, c.Commands...)
		open := []string{}
		for _, t := range tasks {
			if c.ID == "" || !slices.Contains(t.Proves, c.ID) {
				continue
			}
			if r.Tasks = append(r.Tasks, t.ID); t.Status != dag.Done {
				open = append(open, t.ID)
			}
		}
		var missed, other, partial *dag.Proof
		for i := range proofs {
			switch p := &proofs[i]; {
			case p.Criterion != c.ID || c.ID == "":
			case p.Text != c.Text:
				other = p
			case !p.Standing:
			case p.Kind == dag.ProofNone:
				missed = p
			case p.Kind == dag.ProofPartial:
				partial = p
			case r.Proof == nil || p.Kind == dag.ProofTest || r.Proof.Kind != dag.ProofTest:
				r.Proof = p
			}
		}
		if r.Proof != nil && r.Proof.Kind != dag.ProofTest && len(open) > 0 {
			r.Proof = nil // it was said of work that is not done, or not any more
		}
		if r.Proven = r.Proof != nil; !r.Proven {
			r.Why = why(r, open, cmp.Or(partial, missed), other)
			if len(open) == 0 {
				r.Proof = partial
			}
		}
		rows = append(rows, r)
	}
	sameAs(rows)
	return append(rows, missing(rows, tasks, proofs)...)
}

// sameTest reports whether both proofs are one run of one test.
func sameTest(x, y *dag.Proof) bool {
	if x == nil || y == nil || x.Kind != dag.ProofTest {
		return false
	}
	return x.Kind == y.Kind && x.Attempt == y.Attempt && x.Gate == y.Gate
}

// sameAs says of criteria that one test proves which other it proves, so that it does not count as several.
func sameAs(rows []Row) {
	for i := range rows {
		for j := range rows[:i] {
			if sameTest(rows[j].Proof, rows[i].Proof) {
				rows[i].Same = rows[j].ID
				break
			}
		}
	}
}

// missing are criteria that tasks are to prove, and that are none: an ID is mistyped, or the specification is gone. One that
// was checked once is not missing: it was taken out of the specification on purpose.
func missing(rows []Row, tasks []dag.Task, proofs []dag.Proof) (list []Row) {
	for _, t := range tasks {
		for _, id := range t.Proves {
			known := slices.ContainsFunc(rows, func(r Row) bool { return r.ID == id }) || slices.ContainsFunc(list, func(r Row) bool { return r.ID == id })
			looked := slices.ContainsFunc(proofs, func(p dag.Proof) bool { return p.Criterion == id })
			if wanted := !looked || len(rows) == 0; wanted && !known && t.Status != dag.Cancelled {
				list = append(list, Row{Criterion: Criterion{ID: id, Commands: []string{}}, Tasks: []string{t.ID}, Why: "the specification has no such criterion, and " + t.ID + " is to prove it"})
			}
		}
	}
	return list
}

func why(r Row, open []string, missed, other *dag.Proof) string {
	switch {
	case r.Taken != "":
		return "it has the ID of an earlier criterion: " + r.Taken
	case r.ID == "":
		return "it has no ID: write C1, C2 and so on in front of criteria, each with a colon"
	case len(open) > 0:
		return "it waits for " + human.Few(open)
	case missed != nil:
		return missed.Task + ": " + missed.Shown
	case other != nil:
		return fmt.Sprintf("it said something else when it was proven (%s)", other.At.UTC().Format("2006-01-02"))
	case len(r.Tasks) > 0:
		return "nothing looked here for a proof when " + human.Few(r.Tasks) + " was done"
	}
	return "no task proves it"
}

// Unproven lists the criteria that nothing shows to be met.
func Unproven(rows []Row) (list []Row) {
	return slices.DeleteFunc(slices.Clone(rows), func(r Row) bool { return r.Proven })
}

// Summary says in a few words how many are proven, and which are not.
func Summary(rows []Row) string {
	left := Unproven(rows)
	text := fmt.Sprintf("%d of %s proven", len(rows)-len(left), human.Count(len(rows), "criterion"))
	if n := len(slices.DeleteFunc(slices.Clone(left), func(r Row) bool { return !r.Partial() })); n > 0 {
		text += fmt.Sprintf(", %d in part", n)
	}
	if len(left) > 0 {
		names := make([]string, len(left))
		for i, r := range left {
			if names[i] = r.ID; r.ID == "" {
				names[i] = "one without an ID"
			}
		}
		text += "; not proven: " + strings.Join(slices.Compact(names), ", ")
	}
	return text
}
