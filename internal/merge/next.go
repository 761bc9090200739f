// Package merge decides how finished work lands on a branch, the target, and moves it there:
// the order of the queue, candidates, proofs, fast-forwards, and what is left of one that was
// interrupted. It never overwrites a person's files and knows nothing of tasks or their storage.
package merge

import "slices"

// State is how far an open entry of the queue has come with its candidate.
type State string

// An entry that is about to land is still Green.
const (
	Building State = "building" // not tested; it may have no candidate yet
	Testing  State = "testing"
	Green    State = "green"
	Red      State = "red"
	Conflict State = "conflict" // the work does not merge with Onto; there is no candidate
)

// Entry is one piece of work in the queue of a target.
type Entry struct {
	Onto      string // the commit below the candidate, "" before the first build
	Candidate string // the work merged onto it
	State     State
	Aside     bool // a person is to look at it before it lands
}

// Action is what the owner of an entry does next.
type Action string

// DoReject and DoResolve take the entry out of the queue.
const (
	DoWait    Action = "wait"    // look again when the queue or the target has changed
	DoBuild   Action = "build"   // make a candidate on Step.Onto; a test in progress is of no use any more
	DoTest    Action = "test"    // run the gates on the candidate
	DoLand    Action = "land"    // move the target to the candidate
	DoReject  Action = "reject"  // red on the tip: the fault is in this work
	DoResolve Action = "resolve" // the work conflicts with the tip
)

// Step is an action, and for DoBuild what to build on.
type Step struct {
	Do   Action
	Onto string
}

// Next is the whole policy of the queue. ahead has the open entries that came before me, in
// order; window is how many are tested at once.
//
// A candidate may lie on the tip, or on that of an entry ahead which may still land. Every other
// one is out of date, whether somebody committed to the target, or an entry ahead was dropped,
// failed or was rebuilt. What an entry ahead breaks is no fault of mine, so red and conflicts
// count on the tip only. Rebuilding goes in the order of the queue: whoever builds on a candidate
// that is out of date has to build again. Work that is to wait for a person lies on the tip, and
// nothing lies on it: the others would have to be built again as soon as it waits.
func Next(me Entry, tip string, ahead []Entry, window int) Step {
	bases := []string{tip}
	untested, outdated := 0, false
	for _, e := range ahead {
		switch {
		case e.Candidate == tip: // it has just landed
		case e.outdated(bases):
			untested++
			outdated = outdated || !e.Aside
		case e.State == Red, e.State == Conflict: // it will not land there
		default:
			if e.State != Green {
				untested++
			}
			if !e.Aside {
				bases = append(bases, e.Candidate)
			}
		}
	}
	if me.Aside {
		bases, outdated = bases[:1], false
	}
	full := untested >= window
	switch {
	case tip == "": // nothing can land
		return Step{Do: DoWait}
	case me.outdated(bases):
		if outdated || full {
			return Step{Do: DoWait}
		}
		return Step{Do: DoBuild, Onto: bases[len(bases)-1]}
	case me.State == Building && !full:
		return Step{Do: DoTest}
	case me.Onto != tip:
		return Step{Do: DoWait}
	case me.State == Green:
		return Step{Do: DoLand}
	case me.State == Red:
		return Step{Do: DoReject}
	case me.State == Conflict:
		return Step{Do: DoResolve}
	}
	return Step{Do: DoWait}
}

// outdated says that the entry has no candidate, nor a conflict, that may still count.
func (e Entry) outdated(bases []string) bool {
	return e.Onto == "" || e.Candidate == "" && e.State != Conflict || !slices.Contains(bases, e.Onto)
}
