// Package recovery reclaims the tasks of runs that died. It emits no events: its callers
// turn a Recovery into them.
package recovery

import (
	"cmp"
	"fmt"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/loop/land"
)

// Rules are how much is made of what dead runs left. The zero value resumes everything,
// however old, and charges nothing.
type Rules struct {
	MaxAge           time.Duration // an older attempt starts over; 0 means never too old
	MaxInterruptions int           // in a row, before they cost an attempt each; 0 means never
	MaxAttempts      int           // after so many the task fails; 0 means never
	OnDirty          OnDirty       // empty means Keep
}

// OnDirty is what happens to the work of a dead attempt that was not finished.
type OnDirty string

// What may happen to it.
const (
	Keep  OnDirty = "keep"  // the next attempt goes on with it
	Stash OnDirty = "stash" // it is kept below refs/ralph/stash, and no attempt goes on with it
	Fail  OnDirty = "fail"  // the task fails, so that a person looks
)

// Action is what becomes of the task of a dead run.
type Action string

// All actions but Failed and Landed make the task pending.
const (
	Landed    Action = "landed"    // its work is on the target: it is done
	Released  Action = "released"  // it starts over
	Resumed   Action = "resumed"   // its work is finished: the next claim only verifies it
	Abandoned Action = "abandoned" // too old to resume: it starts over
	Failed    Action = "failed"
)

// Reclaimed is one task that was reclaimed from a dead run.
type Reclaimed struct {
	Task, Title  string
	Run, Attempt string
	Phase        dag.Phase // how far the attempt came
	Action       Action
	Reason       string // a sentence

	Asked []inbox.Request // what a person is asked about it
}

// Recovery is what was found of dead runs, and what became of it.
type Recovery struct {
	Runs    []string // that died
	Tasks   []Reclaimed
	Orphans int // processes that were still running, and were killed
}

// Empty reports whether no dead run had left anything.
func (r Recovery) Empty() bool { return len(r.Runs) == 0 && len(r.Tasks) == 0 && r.Orphans == 0 }

// Summary returns the numbers, as events carry them.
func (r Recovery) Summary() event.Recovery {
	count := map[Action]int{}
	for _, t := range r.Tasks {
		count[t.Action]++
	}
	return event.Recovery{Runs: len(r.Runs), RecoveryCounts: event.RecoveryCounts{
		Landed: count[Landed], Released: count[Released], Resumed: count[Resumed], Abandoned: count[Abandoned], Failed: count[Failed], Orphans: r.Orphans,
	}}
}

// decide says what becomes of the task of a dead run. seen is when the run was last known to live. What a person
// accepted is never too old.
func (rules Rules) decide(t dag.Task, last dag.Attempt, accepted bool, seen, now time.Time) (Action, dag.ReclaimOptions) {
	finished := t.Unverified // it died while it verified an earlier attempt's work
	if Finished(last) {
		finished = cmp.Or(finished, last.ID)
	}
	action, how := Released, dag.ReclaimOptions{Reason: "its run died " + during(last.Phase)}
	age := now.Sub(seen)
	switch {
	case rules.MaxAge > 0 && age > rules.MaxAge && !accepted:
		action = Abandoned
		how.Reason += fmt.Sprintf(", %s ago: too old to resume, starting over", human.Span(age.Round(time.Second)))
	case finished != "": // what was paid for is not given up because runs die
		how.Unverified = finished
		how.Reason += "; resumed at verification"
		return Resumed, how
	default:
		how.Reason += "; released"
	}
	row := t.Interruptions + 1
	if rules.MaxInterruptions <= 0 || row < rules.MaxInterruptions {
		return action, how
	}
	how.Counted = true
	if rules.MaxAttempts > 0 && t.Attempts+1 >= rules.MaxAttempts {
		return Failed, dag.ReclaimOptions{
			Counted: true, Fail: true,
			Reason: fmt.Sprintf("its run died %d times in a row, the last time %s: no result in %d attempts", row, during(last.Phase), t.Attempts+1),
		}
	}
	how.Reason += fmt.Sprintf(" (%d times in a row: that costs an attempt)", row)
	return action, how
}

// Finished reports whether the agent of an attempt had finished its work when the attempt ended.
func Finished(at dag.Attempt) bool { return at.Phase == dag.Answered || at.Phase == dag.Verifying }

// during says what an attempt was doing.
func during(p dag.Phase) string {
	switch p {
	case dag.Claimed:
		return "before its agent was started"
	case dag.Starting:
		return "while its agent was starting"
	case dag.Answered:
		return "before its finished work was verified"
	case dag.Verifying:
		return "while its finished work was being verified"
	default:
		return "while its agent was at work"
	}
}

const leftText = "left uncommitted work, which recovery.on_dirty does not allow: "

// dirty says what became of the work that a dead attempt left, or why the task has to fail. What has no ref is still in the project's own
// folder, where an older ralph's agent worked: that cannot be told from a person's, and stays.
func (rules Rules) dirty(slot land.Kept) (note string, fail bool) {
	files := human.Few(slot.Files)
	fail = rules.OnDirty == Fail && len(slot.Files) > 0
	switch {
	case len(slot.Files) == 0:
	case fail && slot.Ref != "":
		note = leftText + files + "; it is kept at " + slot.Ref
	case fail:
		note = leftText + files
	case slot.Ref != "":
		note = "; its work is kept at " + slot.Ref + ": " + files
	default:
		note = "; not committed in this folder, and left there: " + files
	}
	return note, fail
}
