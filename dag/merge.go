package dag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/risk"
)

// ErrLanding says that another entry of the target is landing: a moment later this one may.
var ErrLanding = errors.New("another entry is landing")

// MergeState is where work stands that is to land.
type MergeState string

// The states of an entry. The first two and landing are open: an attempt has it. Held work waits
// for a person, and enters the queue again once it is accepted.
const (
	MergeTesting MergeState = "testing"
	MergeGreen   MergeState = "green"
	MergeHeld    MergeState = "held"
	MergeLanding MergeState = "landing"
	MergeLanded  MergeState = "landed"
	MergeDropped MergeState = "dropped"
)

// MergeMove is one allowed change of an entry's state. By is the name of the verb.
type MergeMove struct {
	From, To MergeState
	By       string
}

// MergeMoves is all that the verbs can do to an entry. Besides, the end of its attempt drops one
// that is testing or green, and whatever a person does to the task one that is held.
func MergeMoves() []MergeMove {
	return []MergeMove{
		{MergeTesting, MergeTesting, "built"},
		{MergeGreen, MergeTesting, "built"},
		{MergeLanding, MergeTesting, "built"},
		{MergeTesting, MergeGreen, "tested"},
		{MergeGreen, MergeHeld, "hold"},
		{MergeGreen, MergeLanding, "landing"},
		{MergeLanding, MergeLanding, "landing"},
		{MergeLanding, MergeLanded, "landed"},
		{MergeTesting, MergeDropped, "drop"},
		{MergeGreen, MergeDropped, "drop"},
		{MergeLanding, MergeDropped, "drop"},
		{MergeHeld, MergeDropped, "reject"},
	}
}

// Merge is an entry of the queue: work of one attempt that is to land on a branch.
type Merge struct {
	N             int64  // the order in which work lands
	Task          string // its ID
	Title         string // "" once the task is deleted
	Attempt       string
	Target        string
	Base          string // the commit below the work
	Work          string // the commit that is the work
	Patch         string // what tells whether two works are the same
	Onto          string // what the candidate was built on; "" before
	Candidate     string // the commit that is tested and lands; "" before
	Accepted      bool   // a person accepted this work
	StandsOn      string // the task whose held work lies below the candidate; "" if nothing does
	BaseForOthers bool   // before it lands
	Refs          []MadeRef
	Reason        string // why it was dropped, or cannot land yet
	State         MergeState
	At            time.Time
	EndedAt       time.Time // zero unless it landed or was dropped

	Rated      bool // its risk is known
	Risk       risk.Score
	ReviewedAt time.Time // when a person looked at it after it had landed; zero if nobody did
	ReviewedBy string
}

// String says how far an entry has come.
func (m Merge) String() string {
	switch {
	case m.State == MergeTesting && m.Candidate == "":
		return "waits to be tested"
	case m.State == MergeGreen, m.State == MergeLanding && m.Reason != "":
		return "waits to land"
	case m.State == MergeHeld:
		return "waits for review"
	}
	return string(m.State)
}

// NewMerge is what Enter needs to know.
type NewMerge struct {
	Target, Base, Work, Patch string
	Refs                      []MadeRef
}

const mergeColumns = `n, task_id, (SELECT t.title FROM tasks t WHERE t.n = merges.task), attempt, target, base, work, patch,
    onto, candidate, accepted, stands_on, sound, reason, state, at, ended_at, risk IS NOT NULL, coalesce(risk, 0), factors, reviewed_at, reviewed_by, refs`

func scanMerge(r *db.Row) Merge {
	return Merge{
		N: r.Int64(), Task: r.Text(), Title: r.Text(), Attempt: r.Text(), Target: r.Text(), Base: r.Text(), Work: r.Text(), Patch: r.Text(),
		Onto: r.Text(), Candidate: r.Text(), Accepted: r.Bool(), StandsOn: r.Text(), BaseForOthers: r.Bool(), Reason: r.Text(), State: MergeState(r.Text()), At: r.Time(), EndedAt: r.Time(),
		Rated: r.Bool(), Risk: risk.Score{Risk: r.Float(), Factors: db.List[risk.Factor](r)}, ReviewedAt: r.Time(), ReviewedBy: r.Text(),
		Refs: db.List[MadeRef](r),
	}
}

const (
	// What a person accepted stays accepted, however often it has to enter the queue, until the task begins anew.
	enterSQL = `
INSERT INTO merges (task, task_id, attempt, target, base, work, patch, at, state, stands_on, accepted, risk, factors, refs)
VALUES (:task, :task_id, :attempt, :target, :base, :work, :patch, :now, 'testing',
    (SELECT b.id FROM tasks t JOIN tasks b ON b.n = t.stands_on WHERE t.n = +:task),
    EXISTS (SELECT 1 FROM merges m WHERE m.task = +:task AND m.patch = +:patch AND m.accepted
        AND m.at >= (SELECT t.started_at FROM tasks t WHERE t.n = +:task)),
    (SELECT m.risk FROM merges m WHERE m.task = +:task AND m.patch = +:patch AND m.risk IS NOT NULL ORDER BY m.n DESC LIMIT 1),
    (SELECT m.factors FROM merges m WHERE m.task = +:task AND m.patch = +:patch AND m.risk IS NOT NULL ORDER BY m.n DESC LIMIT 1),
    :refs)
RETURNING ` + mergeColumns + `;`
	openMergeSQL = `SELECT count(*) FROM merges WHERE task = +:task AND state IN ('testing', 'green', 'landing');`
	reenterSQL   = `
UPDATE merges SET state = 'dropped', ended_at = :now, reason = 'it entered the queue again' WHERE task = +:task AND state = 'held';`
)

// Enter puts the work of a claimed task at the end of its target's queue. A task has one open entry.
func (g Queue) Enter(c Claim, m NewMerge) (Merge, error) {
	t, err := g.held(c)
	if err != nil {
		return Merge{}, err
	}
	if g.number(openMergeSQL, ":task", t.n) > 0 {
		return Merge{}, fmt.Errorf("%w: work of %s is in the queue already", ErrRefused, t.id)
	}
	entered, err := db.One(g.tx, enterSQL, scanMerge, ":task", t.n, ":task_id", t.id, ":attempt", c.Attempt, ":target", m.Target,
		":base", m.Base, ":work", m.Work, ":patch", m.Patch, ":refs", refsJSON(m.Refs), ":now", g.millis())
	g.tx.Do(reenterSQL, ":task", t.n, ":now", g.millis())
	return entered, cmp.Or(err, g.tx.Err())
}

// Built stores what is to be tested, and that it was not yet.
func (g Queue) Built(c Claim, n int64, onto, candidate string) error {
	if err := g.turn(c, n, MergeTesting, "built", ""); err != nil {
		return err
	}
	return g.tx.Exec(builtSQL, ":n", n, ":onto", onto, ":candidate", candidate)
}

// Tested says that its candidate is green.
func (g Queue) Tested(c Claim, n int64) error { return g.turn(c, n, MergeGreen, "tested", "") }

// Landing says that the target is about to be moved to the candidate, and, said again, what is in the
// way of that. With ErrLanding another entry of the target came first.
func (g Queue) Landing(c Claim, n int64, obstacle string) error {
	return g.turn(c, n, MergeLanding, "landing", obstacle)
}

// Landed says that the target was moved, and completes the task. What it took back is open again.
func (g Queue) Landed(c Claim, n int64, verification string) error {
	err := g.turn(c, n, MergeLanded, "landed", "")
	if err == nil {
		err = g.Complete(c, verification)
	}
	if err != nil {
		return err
	}
	return g.reopenUndone(c.Task)
}

// Drop takes an entry out of the queue. The task stays claimed, and may enter again.
func (g Queue) Drop(c Claim, n int64, reason string) error {
	return g.turn(c, n, MergeDropped, "drop", reason)
}

// SettleLanding says what became of an entry that was landing when its claim was lost. While somebody
// has that claim it is refused: Landed or Drop say it then.
func (g Queue) SettleLanding(n int64, landed bool, reason string) error {
	m, err := g.Merge(n)
	if err != nil {
		return err
	}
	a, err := g.history().Attempt(m.Attempt)
	switch {
	case err != nil:
		return err
	case a.EndedAt.IsZero() && m.Title != "":
		return fmt.Errorf("%w: entry %d of the queue is of %s, which is at work on it", ErrRefused, n, m.Attempt)
	case landed:
		if err := g.step(m, MergeLanded, "landed", reason); err != nil || m.Title == "" {
			return err
		}
		t, err := g.tasks().Get(m.Task)
		if err == nil {
			err = g.reopenUndone(t)
			g.dropUndo(t.N) // it would land once more
		}
		return err
	}
	return g.step(m, MergeDropped, "drop", reason)
}

// turn changes the state of an entry whose task is claimed.
func (g Queue) turn(c Claim, n int64, to MergeState, by, reason string) error {
	if err := g.Holds(c); err != nil {
		return err
	}
	m, err := g.Merge(n)
	switch {
	case err != nil:
		return err
	case m.Task != c.Task.ID:
		return fmt.Errorf("%w: entry %d of the queue is of %s, not of %s", ErrRefused, n, m.Task, c.Task.ID)
	case to == MergeGreen && m.Candidate == "":
		return fmt.Errorf("%w: entry %d of the queue was not built", ErrRefused, n)
	}
	return g.step(m, to, by, reason)
}

const (
	mergeSQL = `SELECT ` + mergeColumns + ` FROM merges WHERE n = :n;`
	builtSQL = `
UPDATE merges SET onto = :onto, candidate = :candidate, sound = 0,
    stands_on = (SELECT b.id FROM tasks t JOIN tasks b ON b.n = t.stands_on WHERE t.n = merges.task) WHERE n = :n;`
	// One entry of a target can be landing: it is ignored if another is.
	stateSQL = `UPDATE OR IGNORE merges SET state = :state, ended_at = :ended, reason = :reason WHERE n = :n;`
)

// step changes the state of an entry, if the table of moves has it.
func (g Queue) step(m Merge, to MergeState, by, reason string) error {
	if !slices.Contains(MergeMoves(), MergeMove{m.State, to, by}) {
		return fmt.Errorf("%w: entry %d of the queue, of %s, is %s", ErrRefused, m.N, m.Task, m.State)
	}
	var ended any
	if to == MergeLanded || to == MergeDropped {
		ended = g.millis()
	}
	return g.change(fmt.Errorf("%s: %w", m.Target, ErrLanding), stateSQL,
		":n", m.N, ":state", string(to), ":ended", ended, ":reason", db.OrNull(g.said(reason)))
}

const reviewSQL = `UPDATE tasks SET unverified = :attempt, review = 1 WHERE n = :n;`

// Hold ends a claim with the work green and a person to accept it. The task is pending, and out of
// the queue of claims until then. The reason says why.
func (g Queue) Hold(c Claim, n int64, reason string) error {
	g.tx.Do(unverifiedSQL, ":n", c.Task.N, ":attempt", nil) // before it is held: this drops what is
	err := g.turn(c, n, MergeHeld, "hold", "")
	if err == nil {
		err = g.settle(g.node(c.Task.N), c, Pending, ByRelease, event.AttemptReleased, reason)
	}
	if err != nil {
		return err
	}
	return g.tx.Exec(reviewSQL, ":n", c.Task.N, ":attempt", cmp.Or(c.Resumed.ID, c.Attempt))
}

// LoseWork forgets the work of a task that only had to land, because it is gone: an agent does the task again. A revert is given up
// instead. It is refused if a run has claimed the task meanwhile.
func (g Queue) LoseWork(id, reason string) error {
	t, err := g.nodeByID(id)
	switch {
	case err != nil:
		return err
	case t.status != Pending:
		return fmt.Errorf("%w: %s is %s, and does not wait to land", ErrRefused, t.id, t.status)
	case g.dropUndo(t.n):
		return g.tx.Err()
	}
	g.tx.Do(unverifiedSQL, ":n", t.n, ":attempt", nil)
	g.log(t.n, LogSystem, reason)
	return g.tx.Err()
}

const rejectSQL = `UPDATE tasks SET unverified = NULL, verification = 'failed', updated_at = :now WHERE n = :n;`

// awaiting is the work of a task that a person is to review, and the task.
func (g Queue) awaiting(id string) (node, Merge, error) {
	t, err := g.nodeByID(id)
	if err != nil {
		return t, Merge{}, err
	}
	held, err := g.ToReview()
	i := slices.IndexFunc(held, func(m Merge) bool { return m.Task == t.id })
	if err == nil && i < 0 {
		err = fmt.Errorf("%w: no work of %s waits for review", ErrRefused, t.id)
	}
	if err != nil {
		return t, Merge{}, err
	}
	return t, held[i], nil
}

// Reject is a person's word that held work may not land. The next attempt is told why.
func (g Queue) Reject(id, reason string) error {
	t, m, err := g.awaiting(id)
	if err == nil {
		err = g.step(m, MergeDropped, "reject", cmp.Or(reason, "rejected by hand"))
	}
	if err != nil {
		return err
	}
	g.tx.Do(rejectSQL, ":n", t.n, ":now", g.millis())
	if reason == "" {
		g.log(t.n, LogVerify, "a person rejected the work")
	} else {
		g.log(t.n, LogUser, reason) // which every later prompt has
	}
	return g.tx.Err()
}

const (
	queueSQL = `
SELECT ` + mergeColumns + ` FROM merges WHERE state IN ('testing', 'green', 'landing') AND (:target = '' OR target = :target) ORDER BY n;`
	mergesSQL = `SELECT ` + mergeColumns + ` FROM merges WHERE state = :state ORDER BY n;`
	// What an attempt entered is the work that later ones only verify. Entries before it are of other work.
	since       = ` AND (SELECT a.n FROM attempts a WHERE a.id = merges.attempt) >= (SELECT a.n FROM attempts a WHERE a.id = `
	resumedSQL  = `SELECT ` + mergeColumns + ` FROM merges WHERE task = :task` + since + `:attempt) ORDER BY n DESC LIMIT 1;`
	landedInSQL = `
SELECT ` + mergeColumns + ` FROM merges INDEXED BY merges_attempt
WHERE attempt IN (SELECT a.id FROM attempts a WHERE a.run = (SELECT r.n FROM runs r WHERE r.id = :run)) AND state = 'landed' ORDER BY n;`
)

// Merge returns one entry.
func (g Queue) Merge(n int64) (Merge, error) {
	found, err := db.All(g.tx, mergeSQL, scanMerge, ":n", n)
	return only(found, err, fmt.Sprint("entry ", n, " of the queue"))
}

// OpenMerges lists the open entries of a target, or of all if it is "", in the order in which they land.
func (g Queue) OpenMerges(target string) ([]Merge, error) {
	return db.All(g.tx, queueSQL, scanMerge, ":target", target)
}

// MergesIn lists the entries in one state, oldest first.
func (g Queue) MergesIn(s MergeState) ([]Merge, error) {
	return db.All(g.tx, mergesSQL, scanMerge, ":state", string(s))
}

const finishedSQL = `
SELECT ` + mergeColumns + ` FROM merges WHERE n IN (
    SELECT (SELECT max(merges.n) FROM merges WHERE merges.task = tasks.n` + since + `tasks.unverified)) FROM tasks INDEXED BY queue_finished
    WHERE unverified IS NOT NULL AND queue <= 1) ORDER BY n;`

// Finished lists the last entries of work that only has to land, whether a person accepted it or its run died.
func (g Queue) Finished() ([]Merge, error) { return db.All(g.tx, finishedSQL, scanMerge) }

// ToReview lists the work that waits for a person, oldest first.
func (g Queue) ToReview() ([]Merge, error) {
	held, err := g.MergesIn(MergeHeld)
	return slices.DeleteFunc(held, func(m Merge) bool { return m.Accepted }), err
}

// Work says where the work of a run ended up. Its target is that of what landed. Kept are the refs of all
// work that did not land, by attempt; the last one of each task counts. What waits for review is not among them.
func (g Queue) Work(run string, kept map[string]string) (w event.Work, err error) {
	landed, _ := db.All(g.tx, landedInSQL, scanMerge, ":run", run) // the first error of the database is that of all that follow
	for _, m := range landed {
		if w.Target = m.Target; m.Candidate != m.Onto { // it changed something
			w.From, w.To, w.Commits = cmp.Or(w.From, m.Onto), m.Candidate, w.Commits+1
		}
	}
	held, _ := g.ToReview()
	behind, _ := db.All(g.tx, behindSQL, (*db.Row).Text)
	attempts, err := g.history().Receipts(ReceiptFilter{Run: run})
	for _, a := range attempts {
		k := event.Kept{Task: a.Task, Ref: kept[a.ID]}
		switch {
		case k.Ref == "":
		case slices.ContainsFunc(held, func(m Merge) bool { return m.Attempt == a.ID }):
			w.Review = append(w.Review, k)
		case slices.Contains(behind, a.ID):
			w.Behind = append(w.Behind, k)
		default:
			w.Kept = append(slices.DeleteFunc(w.Kept, func(old event.Kept) bool { return old.Task == k.Task }), k)
		}
	}
	return w, err
}
