package attempt

import (
	"slices"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/glob"
	"ralph/verify"
)

// doubt notes a check of the candidate that could not be carried out. The verifier is asked about it by name; without one, or without
// its answer, the work waits for a person.
func (a *attempt) doubt(text string) {
	if !slices.ContainsFunc(a.work.Doubts, func(d verify.Doubt) bool { return d.Why == text }) {
		a.hold(verify.Doubt{Why: text, Open: true})
	}
}

// hold notes what a verifier or a person has to clear before the work lands.
func (a *attempt) hold(doubts ...verify.Doubt) {
	w := &a.work
	if w.Doubts = append(w.Doubts, doubts...); w.Verdict != nil { // which is about those before
		w.Verdict.Left = append(w.Verdict.Left, doubts...)
	}
}

// mayChange reports whether the task allows its work to change a file that checks it.
func (a *attempt) mayChange(file string) bool { return mayChange(a.job.Task, file) }

// leavesOutside lists files outside the project's folder that the work changes although the task does not allow it. To move one changes two.
func leavesOutside(t dag.Task, changes []git.Change) (list []string) {
	for _, c := range changes {
		for _, file := range []string{c.Path, c.Old} {
			if git.Outside(file) && !mayChange(t, file) {
				list = append(list, file)
			}
		}
	}
	return list
}

func mayChange(t dag.Task, file string) bool { return glob.Match(t.MayChange, file) }
