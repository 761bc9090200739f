package dag

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/db"
)

// Reason is one thing that keeps a task from running.
type Reason struct {
	Kind  string    // status, children, blocker, ancestor, leaving, paused, asks, review, stands, wait, lock, claim, failed
	Task  string    // the other task, if there is one
	Text  string    // a sentence
	Until time.Time // zero unless it ends by itself
}

// Why lists everything that keeps a task from running; nothing means that it is ready.
func (g Tasks) Why(t Task) ([]Reason, error) {
	reasons := ownReasons(t, g.now)
	switch t.Status {
	case Pending:
	case Blocked, Cancelled:
		why, err := g.WhyLeft(t)
		reasons[0].Text = cmp.Or(why, reasons[0].Text)
		return reasons, err
	default:
		return reasons, nil
	}
	reasons = append(reasons, g.askReasons(t)...)
	for at := t; ; {
		reasons = append(reasons, g.blockerReasons(t, at)...)
		if at.Parent == "" {
			return reasons, g.tx.Err()
		}
		var err error
		if at, err = g.Get(at.Parent); err != nil {
			return nil, err
		}
		if at.Paused {
			reasons = append(reasons, Reason{Kind: "ancestor", Task: at.ID, Text: fmt.Sprintf("its ancestor %s is paused: %s", at.ID, at.Title)})
		}
		if at.KeepsBack(g.keeps) {
			reasons = append(reasons, Reason{Kind: "ancestor", Task: at.ID, Text: fmt.Sprintf("its ancestor %s is %s: %s", at.ID, at.Status, at.Title)})
		}
	}
}

// DiedText is about a task that only looks as if it were running.
const DiedText = "its run has died; the next run recovers it, or: ralph recover"

// Explain lists everything that keeps a task from being done: what Why says and the failed
// tasks behind it, or that the run that claimed it died; of a ready one, what a claim with those
// options could not have.
func (g Tasks) Explain(t Task, life func(Process) Life, opts ClaimOptions) ([]Reason, error) {
	stale, err := g.queue().Stale(life)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(stale, func(s Task) bool { return s.ID == t.ID }) {
		return []Reason{{Kind: "claim", Text: DiedText}}, nil
	}
	if t.Ready(g.now) {
		return g.queue().waits(t, opts)
	}
	reasons, err := g.Why(t)
	if err != nil {
		return nil, err
	}
	failed, err := g.AtFault(t)
	return append(reasons, failed...), err
}

// A task waits for blockers, its own and those of its ancestors; a group that is waited
// for, for all below it. The search follows what is waited for down to the failed tasks
// that have to succeed first.
const atFaultSQL = `
WITH RECURSIVE w (n, whole) AS (
    SELECT :n, 1
    UNION
    SELECT b.n, 1 FROM w JOIN dependencies d ON d.blocked = w.n JOIN tasks b ON b.n = d.blocker WHERE NOT b.satisfies
    UNION
    SELECT p.n, p.status = 'failed' AND :stops AND NOT p.given_up FROM w JOIN tasks c ON c.n = w.n JOIN tasks p ON p.n = c.parent
    UNION
    SELECT c.n, 1 FROM w JOIN tasks c ON c.parent = w.n WHERE w.whole AND NOT c.satisfies
)
SELECT {task} FROM tasks WHERE n IN (SELECT n FROM w) AND status = 'failed' AND (children = 0 OR given_up) ORDER BY n LIMIT +:limit;`

// AtFault names the failed tasks that keep a task from being done, however far away, and
// what to type about each.
func (g Tasks) AtFault(t Task) ([]Reason, error) {
	if t.Status == Done {
		return nil, nil
	}
	const named = 5
	failed, err := g.all(atFaultSQL, ":n", t.N, ":stops", !g.keeps, ":limit", named+1)
	var reasons []Reason
	for _, f := range failed[:min(len(failed), named)] {
		text := "let it run again with: ralph task reset " + f.ID
		if f.ID != t.ID {
			text = fmt.Sprintf("%s failed (%s): %s", f.ID, f.Title, text)
		}
		reasons = append(reasons, Reason{Kind: "failed", Task: f.ID, Text: text})
	}
	if len(failed) > named {
		reasons = append(reasons, Reason{Kind: "failed", Text: "more tasks failed; let all of them run again with: ralph task reset --failed"})
	}
	return reasons, err
}

func ownReasons(t Task, now time.Time) []Reason {
	switch {
	case t.Status == InProgress:
		return []Reason{{Kind: "claim", Text: fmt.Sprintf("it is running: claimed by %s", t.Owner), Until: t.LeaseUntil}}
	case t.Status == Blocked:
		return []Reason{{Kind: "status", Text: "a person blocked it"}}
	case t.Status != Pending:
		return []Reason{{Kind: "status", Text: fmt.Sprintf("it is %s", t.Status)}}
	}
	var reasons []Reason
	add := func(kind, text string, until time.Time) {
		reasons = append(reasons, Reason{Kind: kind, Text: text, Until: until})
	}
	switch {
	case t.Emptied:
		add("children", fmt.Sprintf("it is a group that lost its last subtask; make it a task with: ralph task update %s --kind work", t.ID), time.Time{})
	case t.Children == 1:
		add("children", "it is a group: its subtask runs, and it ends with it", time.Time{})
	case t.Children > 1:
		add("children", fmt.Sprintf("it is a group: its %d subtasks run, and it ends with them", t.Children), time.Time{})
	}
	if t.Leaving != "" {
		add("leaving", "the agent that had it is being stopped", time.Time{})
	}
	if t.Paused {
		add("paused", "a person paused it; continue with: ralph resume "+t.ID, time.Time{})
	}
	if t.ToReview {
		add("review", "its work is to review: ralph review "+t.ID, time.Time{})
	}
	if t.StandsOn != "" {
		add("stands", fmt.Sprintf("its work passed, and stands on that of %s, which is held: it lands after that; what waits for you: ralph review", t.StandsOn), time.Time{})
	}
	if t.NotBefore.After(now) {
		text := "it waits for a time"
		if t.WaitReason != "" {
			text += ": " + t.WaitReason
		}
		add("wait", text, t.NotBefore)
	}
	return reasons
}

const openAsksSQL = `SELECT id, substr(text, 1, 200) FROM requests WHERE task = :task AND state = 'open' AND parks ORDER BY n;`

// askReasons lists the questions whose answers the task waits for.
func (g Tasks) askReasons(t Task) []Reason {
	if t.Asks == 0 {
		return nil
	}
	reasons, _ := db.All(g.tx, openAsksSQL, func(r *db.Row) Reason {
		id := r.Text()
		first, _, _ := strings.Cut(r.Text(), "\n")
		return Reason{Kind: "asks", Text: fmt.Sprintf("it waits for an answer (ralph inbox answer %s): %s", id, first)}
	}, ":task", t.N)
	return reasons
}

// blockerReasons lists the unfinished blockers of at, which is t or an ancestor.
func (g Tasks) blockerReasons(t, at Task) (reasons []Reason) {
	if at.OpenDeps == 0 {
		return nil
	}
	who := "it"
	if at.ID != t.ID {
		who = "its ancestor " + at.ID
	}
	blockers, _ := g.Blockers(at)
	for _, b := range blockers {
		if b.Satisfies {
			continue
		}
		r := Reason{Kind: "blocker", Task: b.ID, Text: fmt.Sprintf("%s waits for %s (%s): %s", who, b.ID, b.Status, b.Title)}
		if b.Status == Cancelled {
			r.Text += fmt.Sprintf("; let it go on with: ralph task cancel %s --satisfied", b.ID)
		}
		reasons = append(reasons, r)
	}
	return reasons
}
