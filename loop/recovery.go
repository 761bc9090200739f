package loop

import (
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/human"
)

// RecoveryRules are how much is made of what dead runs left. The zero value takes
// everything up, however old, and charges nothing.
type RecoveryRules struct {
	MaxAge           time.Duration // older than that is begun anew; 0 means never too old
	MaxInterruptions int           // in a row, before they cost an attempt each; 0 means never
	MaxAttempts      int           // after so many the task fails; 0 means never
	OnDirty          Dirty         // empty means Keep
}

// Dirty is what happens to uncommitted work of a dead attempt.
type Dirty string

// What may happen to it.
const (
	Keep  Dirty = "keep"  // it stays, and the next agent is told
	Stash Dirty = "stash" // it is put into git's stash
	Spoil Dirty = "fail"  // the task fails, so that a person looks
)

// Taking is what becomes of the task of a dead run.
type Taking string

// What may become of it. All but TakenFailed make the task pending.
const (
	TakenReleased  Taking = "released"  // it is begun anew
	TakenResumed   Taking = "resumed"   // its work is finished: the next claim only verifies it
	TakenAbandoned Taking = "abandoned" // too old to be taken up: it is begun anew
	TakenFailed    Taking = "failed"
)

// Reclaimed is one task that was taken back from a dead run.
type Reclaimed struct {
	Task, Title  string
	Run, Attempt string
	Phase        dag.Phase // how far the attempt came
	Action       Taking
	Reason       string // a sentence
}

// Recovery is what was found of dead runs, and what became of it.
type Recovery struct {
	Runs    []string // that died
	Tasks   []Reclaimed
	Orphans int // processes that were still running, and were ended
}

// Nothing says that no dead run had left anything.
func (r Recovery) Nothing() bool { return len(r.Runs) == 0 && len(r.Tasks) == 0 && r.Orphans == 0 }

// Count is how many tasks that became of.
func (r Recovery) Count(action Taking) int {
	n := 0
	for _, t := range r.Tasks {
		if t.Action == action {
			n++
		}
	}
	return n
}

// Summary is the numbers, as events carry them.
func (r Recovery) Summary() RecoveryEvent {
	return RecoveryEvent{Runs: len(r.Runs), RecoveryCounts: RecoveryCounts{
		Released: r.Count(TakenReleased), Resumed: r.Count(TakenResumed), Abandoned: r.Count(TakenAbandoned),
		Failed: r.Count(TakenFailed), Orphans: r.Orphans,
	}}
}

// String is the summary in words.
func (e RecoveryEvent) String() string {
	var parts []string
	add := func(n int, one, many string) {
		switch n {
		case 0:
		case 1:
			parts = append(parts, "1 "+one)
		default:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(e.Runs, "run had died", "runs had died")
	add(e.Released, "task released", "tasks released")
	add(e.Resumed, "task resumed at verification", "tasks resumed at verification")
	add(e.Abandoned, "task too old to be taken up, begun anew", "tasks too old to be taken up, begun anew")
	add(e.Failed, "task failed", "tasks failed")
	add(e.Orphans, "orphaned process ended", "orphaned processes ended")
	if len(parts) == 0 {
		return "nothing to recover"
	}
	return strings.Join(parts, ", ")
}

// judge decides about the task of a dead run: facts in, one answer out. seen is
// when the run was last known to live.
func (rules RecoveryRules) judge(t dag.Task, last dag.Attempt, seen, now time.Time) (Taking, dag.Taken) {
	finished := t.Unverified // it died while it took up an earlier one's work
	if last.Phase == dag.Answered || last.Phase == dag.Verifying {
		finished = or(finished, last.ID)
	}
	action, taken := TakenReleased, dag.Taken{Reason: "its run died " + during(last.Phase)}
	age := now.Sub(seen)
	switch {
	case rules.MaxAge > 0 && age > rules.MaxAge:
		action = TakenAbandoned
		taken.Reason += fmt.Sprintf(", %s ago: too old to be taken up, begun anew", human.Span(age.Round(time.Second)))
	case finished != "":
		action, taken.Unverified = TakenResumed, finished
		taken.Reason += "; resumed at verification"
	default:
		taken.Reason += "; released"
	}
	row := t.Interruptions + 1
	if rules.MaxInterruptions <= 0 || row < rules.MaxInterruptions {
		return action, taken
	}
	taken.Counted = true
	if rules.MaxAttempts > 0 && t.Attempts+1 >= rules.MaxAttempts {
		return TakenFailed, dag.Taken{
			Counted: true, Fail: true,
			Reason: fmt.Sprintf("its run died %d times in a row, the last time %s: no result in %d attempts", row, during(last.Phase), t.Attempts+1),
		}
	}
	taken.Reason += fmt.Sprintf(" (%d times in a row: that costs an attempt)", row)
	return action, taken
}

// during says what an attempt was at.
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

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}
