package dag

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/human"
)

// When is what an earlier task has to have come to for a task to be worked on. All that it says has to hold.
type When struct {
	Output  string `json:"output"`            // the name that the earlier task gives its result: one that the task, or a group that it is in, waits for itself
	Status  Status `json:"status,omitempty"`  // how that ended
	Exit    *int   `json:"exit,omitempty"`    // with what its script ended
	Matches string `json:"matches,omitempty"` // a regular expression that is found in its result
	Lacks   string `json:"lacks,omitempty"`   // and one that is not
}

// maxPattern is how long an expression may be.
const maxPattern = 1000

// Check refuses what could never be decided.
func (w *When) check() error {
	switch {
	case w.Output == "":
		return errors.New("when names no output: an earlier task has one, and this one waits for that")
	case w.Status == "" && w.Exit == nil && w.Matches == "" && w.Lacks == "":
		return errors.New("when asks nothing: say status, exit, matches or lacks")
	case w.Exit != nil && *w.Exit < 0:
		return fmt.Errorf("exit of when is %d; no script ends with that", *w.Exit)
	case w.Status != "" && !slices.Contains(whenStatuses, w.Status):
		return fmt.Errorf("status of when is %s, not %q", human.Series(whenStatuses, "or"), w.Status)
	}
	for _, pattern := range []string{w.Matches, w.Lacks} {
		if _, err := regexp.Compile(pattern); err != nil {
			return fmt.Errorf("when: %w", err)
		}
		if len(pattern) > maxPattern {
			return fmt.Errorf("when: an expression has at most %d bytes", maxPattern)
		}
	}
	return checkLabels(w.Output)
}

var whenStatuses = []Status{Done, Failed, Cancelled}

// String is the condition as people type it.
func (w *When) String() string {
	b, _ := json.Marshal(w) // of texts and a number
	return string(b)
}

// condition is a When; nil means that the task is worked on whatever others came to.
var condition = kind[*When]{
	bind: func(w *When) any {
		if w == nil {
			return nil
		}
		return w.String()
	},
	scan: db.Decoded[*When],
	check: func(_ string, w *When) (*When, error) {
		if w == nil {
			return nil, nil
		}
		if err := w.check(); err != nil {
			return w, fmt.Errorf("%w: %w", ErrRefused, err)
		}
		return w, nil
	},
	parse: func(_ string, typed []string) (*When, error) {
		if strings.TrimSpace(one(typed)) == "" {
			return nil, nil
		}
		w := &When{}
		dec := json.NewDecoder(strings.NewReader(one(typed)))
		if dec.DisallowUnknownFields(); dec.Decode(w) != nil || dec.More() {
			return nil, fmt.Errorf(`%q is not a condition; write it as {"output": "build", "status": "failed"}, with exit, matches or lacks instead of status or beside it`, one(typed))
		}
		return w, nil
	},
	json: func(w *When) any {
		if w == nil {
			return nil
		}
		return w
	},
	texts: func(w *When) []string {
		if w == nil {
			return nil
		}
		return []string{w.String()}
	},
	value: "",
}

// Came is what an attempt came to, for the conditions of later tasks. What is nil is not known.
type Came struct {
	Exit    *int    // with what its script ended
	Printed *string // the end of what that printed, or of what its agent said
}

// BySignal is the exit status of a script that a signal ended: it is none that a script has.
const BySignal = -1

// MaxPrinted is how much of that is kept.
const MaxPrinted = 8 << 10

// earlier is a task that a condition is about.
type earlier struct {
	id      string
	status  Status
	outcome event.AttemptOutcome // of its last attempt; "" if there was none
	Came
}

// decide says whether a condition holds, and why not. An error is a doubt: what it asks is not known, so nobody can say.
func (w *When) decide(found []earlier) (why string, err error) {
	if len(found) != 1 {
		return "", fmt.Errorf("%s that it waits for %s the output %s", human.Count(len(found), "task"), map[bool]string{true: "has", false: "have"}[len(found) == 1], w.Output)
	}
	c := found[0]
	name := fmt.Sprintf("%s (%s)", w.Output, c.id)
	switch {
	case w.Status != "" && c.status != w.Status:
		return fmt.Sprintf("%s is %s, not %s", name, c.status, w.Status), nil
	case w.Exit == nil && w.Matches == "" && w.Lacks == "":
		return "", nil
	case c.status == Cancelled:
		return name + " is cancelled: it came to nothing", nil
	case c.status == Done && !c.outcome.Done(), c.status == Failed && !c.outcome.Trouble():
		return "", fmt.Errorf("%s was made %s by hand", name, c.status)
	case w.Exit != nil && c.Exit == nil:
		return "", fmt.Errorf("no exit status of %s is stored", name)
	case w.Exit != nil && *c.Exit == BySignal:
		return fmt.Sprintf("a signal ended %s before it had an exit status", name), nil
	case w.Exit != nil && *c.Exit != *w.Exit:
		return fmt.Sprintf("%s ended with exit status %d, not %d", name, *c.Exit, *w.Exit), nil
	case w.Matches == "" && w.Lacks == "":
		return "", nil
	case c.Printed == nil:
		return "", fmt.Errorf("no result of %s is stored", name)
	}
	matches, err := regexp.Compile(w.Matches)
	if err != nil {
		return "", err
	}
	lacks, err := regexp.Compile(w.Lacks)
	switch {
	case err != nil:
		return "", err
	case !matches.MatchString(*c.Printed):
		return fmt.Sprintf("the result of %s does not match %s", name, w.Matches), nil
	case w.Lacks != "" && lacks.MatchString(*c.Printed):
		return fmt.Sprintf("the result of %s matches %s", name, w.Lacks), nil
	}
	return "", nil
}

const (
	undecided          = ` WHERE [when] IS NOT NULL AND queue <= :doomed AND unverified IS NULL `
	undecidedSQL       = `SELECT {task} FROM tasks INDEXED BY tasks_when` + undecided + `AND (:feature = 0 OR feature = :feature) ORDER BY n;`
	undecidedInTreeSQL = trees + `SELECT {task} FROM tasks INDEXED BY tasks_when` + undecided + `AND n IN (SELECT n FROM sub) ORDER BY n;`

	// Finished work that was verified later has its result with the attempt that was verified.
	cameSQL = `
WITH RECURSIVE self (n) AS (SELECT :n UNION SELECT t.parent FROM self JOIN tasks t ON t.n = self.n WHERE t.parent IS NOT NULL)
SELECT b.id, b.status, a.outcome, a.exit_status, a.printed
FROM tasks b LEFT JOIN attempts a ON a.n = (SELECT max(n) FROM attempts WHERE task = b.n)
WHERE b.output = :output AND b.n IN (SELECT d.blocker FROM self CROSS JOIN dependencies d ON d.blocked = self.n);`
)

// Decided is a task whose condition does not hold, or cannot be decided.
type Decided struct {
	Task   Task
	Reason string
	Doubt  bool // nobody can say: it waits for a person
}

const doubtHint = "%s; run it all the same: ralph task update %[2]s --when '' && ralph task unblock %[2]s; or leave it out: ralph task cancel %[2]s --satisfied"

// Decide looks at what the tasks of a scope that are ready say of earlier ones. One of which that does not hold ends without work, and who waits for
// it goes on; one of which nobody can say it waits for a person. What earlier tasks came to is read in the transaction in which that is
// stored, so a claim decides the same again until it commits.
func (g Queue) Decide(scope Scope, doomed bool) (list []Decided, err error) {
	feature, err := g.featureNumber(scope.Feature)
	if err != nil {
		return nil, err
	}
	query, args := undecidedSQL, []any{":doomed", doomed, ":feature", feature}
	if scope.Task != "" || scope.Tag != "" {
		roots, err := g.roots(scope)
		if err != nil { // it is gone, and nothing is to be decided
			return nil, g.tx.Err()
		}
		query, args = undecidedInTreeSQL, []any{":doomed", doomed, ":n", roots}
	}
	for again := true; again; { // what is left out may free others
		again = false
		tasks, err := g.all(query, args...)
		if err != nil {
			return nil, err
		}
		for _, t := range tasks {
			found, err := db.All(g.tx, cameSQL, func(r *db.Row) earlier {
				return earlier{r.Text(), Status(r.Text()), event.AttemptOutcome(r.Text()), Came{db.Optional(r, r.Int), db.Optional(r, r.Text)}}
			}, ":n", t.N, ":output", t.When.Output)
			if err != nil {
				return nil, err
			}
			switch why, err := t.When.decide(found); {
			case err != nil:
				g.move(g.node(t.N), Blocked, ByDoubt)
				why = fmt.Sprintf(doubtHint, err, t.ID)
				g.log(t.N, LogSystem, blockedInDoubt+": "+why)
				list, again = append(list, Decided{t, why, true}), true
			case why != "":
				g.tx.Do(satisfySQL, ":n", t.N, ":satisfied", true)
				g.move(g.node(t.N), Cancelled, BySkip)
				g.log(t.N, LogSystem, cancelledByWhen+": "+why)
				list, again = append(list, Decided{Task: t, Reason: why}), true
			}
		}
	}
	return list, g.tx.Err()
}
