package dag

import (
	"encoding/json"
	"fmt"
	"time"

	"ralph/internal/db"
	"ralph/internal/event"
)

// Attempt is one agent's try at one task.
type Attempt struct {
	ID        string
	Run       string
	Task      string
	Iteration int
	Slot      int // that it worked in; 0 for none
	Phase     Phase
	Agent     string
	Model     string // asked for
	StartedAt time.Time
	Heartbeat time.Time // of its run, while it had the claim; zero if there was none
	EndedAt   time.Time // zero while it runs
	Outcome   event.AttemptOutcome
	Reason    string
	Rejected  event.Rejection // why its work was not accepted; "" if it was, or was not called done
	Accepted  Status          // of the task when a person accepted its work all the same; "" if nobody did

	ModelEffective string // what the agent said it uses
	Session        string
	SessionUSD     *float64 // what the session had cost by then, in all attempts
	Sandbox        string   // the level that confined it
	StopReason     string
	Verdict        string // what the verifying agent said, or in its place the task; empty if neither was asked
	Gates          []GateRecord
	Files          []string
	Base           string // the commit it began at
	Tree           string // the tree it began with
	TreeAfter      string // and ended with; empty if nobody knows, because its run died while its agent worked
	Transcript     string
	PrunedAt       time.Time // when the files of its run were removed; zero if they were not

	event.Usage
	Steps int // calls of tools; 0 if none were reported

	Drift []string // the detectors of drift that fired
	Came  Came
}

// Void reports whether an attempt that has ended says nothing about its task: it was cut off from outside or waits for a
// person, or it ended before anything was said to its agent, and no work was judged either.
func (a Attempt) Void() bool {
	begun := a.Session != "" || a.Rejected != ""
	return a.Outcome.Fruitless() || !begun && !a.Outcome.Done()
}

// GateRecord is what a gate said about an attempt, as it is stored.
type GateRecord struct {
	Command  string            `json:"command"`
	Passed   bool              `json:"passed"`
	Exit     string            `json:"exit"`
	Baseline event.Baseline    `json:"baseline,omitempty"` // green or red before the work; empty if that is not known
	Verdict  event.GateVerdict `json:"verdict"`            // passed, flaky, failed, or excused: it was red before and did not get worse

	Tests       *int `json:"tests,omitempty"` // that passed, if the output says so
	TestsBefore *int `json:"tests_before,omitempty"`
}

const beginAttemptSQL = `
INSERT INTO attempts (id, run, task, task_id, iteration, generation, slot, started_at)
VALUES (:id, (SELECT n FROM runs WHERE id = :run), :task, :task_id, :iteration, :generation, :slot, :now)
ON CONFLICT (id) DO NOTHING;`

func (g Queue) beginAttempt(opts ClaimOptions, t Task, slot int) (string, error) {
	return g.plan().WithFreeID("a-", "", func(id string) error {
		return g.tx.Exec(beginAttemptSQL, ":id", id, ":run", opts.Run.ID, ":task", t.N, ":task_id", t.ID,
			":iteration", opts.Iteration, ":generation", t.Generation, ":slot", db.OrNull(slot), ":now", g.millis())
	})
}

const endAttemptSQL = `
UPDATE attempts SET phase = 'settled', ended_at = :now, outcome = :outcome, reason = :reason
WHERE task = :task AND generation = :generation AND ended_at IS NULL;`

const landingSQL = `SELECT count(*) FROM merges WHERE attempt = :attempt AND state = 'landing';`

// endAttempt ends the attempt of a claim, but not before it is known what became of work that was
// landing: given back, the task would be worked on twice.
func (g Queue) endAttempt(task int64, c Claim, outcome event.AttemptOutcome, reason string) error {
	if g.number(landingSQL, ":attempt", c.Attempt) > 0 {
		return fmt.Errorf("%w: work of %s may have landed: the next run finds out", ErrRefused, c.Task.ID)
	}
	return g.tx.Exec(endAttemptSQL, ":task", task, ":generation", c.Generation,
		":outcome", string(outcome), ":reason", db.OrNull(g.said(reason)), ":now", g.millis())
}

// scanAttempt reads these.
const attemptColumns = `a.id, r.id, a.task_id, a.iteration, a.phase, a.agent, a.model, a.started_at, a.heartbeat_at, a.ended_at, a.outcome, a.reason,
    a.model_effective, a.session, a.sandbox, a.stop_reason, a.verdict, a.gates, a.files, a.base, a.tree, a.tree_after, a.transcript,
    a.tokens_in, a.tokens_cached, a.tokens_out, a.cost_usd, a.cost_estimated, a.cost_unknown, a.session_usd, a.drift, r.pruned_at, a.slot, a.rejected, a.accepted, a.steps, a.exit_status, a.printed`

const (
	attemptSelect = `SELECT ` + attemptColumns + ` FROM attempts a JOIN runs r ON r.n = a.run `
	attemptsSQL   = attemptSelect + `WHERE a.task = +:task ORDER BY a.n;`
	attemptSQL    = attemptSelect + `WHERE a.id = +:id;`
	lastTrySQL    = attemptSelect + `WHERE a.task_id = :task ORDER BY a.n DESC LIMIT 1;`
	openSQL       = attemptSelect + `WHERE a.ended_at IS NULL ORDER BY a.n;`
)

// Attempts lists the attempts at a task, oldest first.
func (g History) Attempts(t Task) ([]Attempt, error) {
	return db.All(g.tx, attemptsSQL, scanAttempt, ":task", t.N)
}

// LastAttempt is the last attempt at a task, which may be deleted; the zero one if there is none.
func (g History) LastAttempt(task string) (Attempt, error) {
	return db.One(g.tx, lastTrySQL, scanAttempt, ":task", task)
}

// OpenAttempts lists those that have not ended, or whose run died, oldest first.
func (g History) OpenAttempts() ([]Attempt, error) { return db.All(g.tx, openSQL, scanAttempt) }

// Attempt returns the attempt with that full ID.
func (g History) Attempt(id string) (Attempt, error) {
	list, err := db.All(g.tx, attemptSQL, scanAttempt, ":id", id)
	return only(list, err, "attempt "+id)
}

func scanAttempt(r *db.Row) Attempt {
	return Attempt{
		ID: r.Text(), Run: r.Text(), Task: r.Text(), Iteration: r.Int(), Phase: Phase(r.Text()), Agent: r.Text(), Model: r.Text(),
		StartedAt: r.Time(), Heartbeat: r.Time(), EndedAt: r.Time(), Outcome: event.AttemptOutcome(r.Text()), Reason: r.Text(),
		ModelEffective: r.Text(), Session: r.Text(), Sandbox: r.Text(), StopReason: r.Text(), Verdict: r.Text(), Gates: db.List[GateRecord](r),
		Files: db.List[string](r), Base: r.Text(), Tree: r.Text(), TreeAfter: r.Text(), Transcript: r.Text(),
		Usage: usageOf(r), SessionUSD: db.Optional(r, r.Float), Drift: db.List[string](r), PrunedAt: r.Time(), Slot: r.Int(), Rejected: event.Rejection(r.Text()), Accepted: Status(r.Text()), Steps: r.Int(), Came: Came{db.Optional(r, r.Int), db.Optional(r, r.Text)},
	}
}

// Phase is how far an attempt came; recovery after a crash goes by it.
type Phase string

// The phases of an attempt.
const (
	Claimed   Phase = "claimed"   // no agent yet
	Starting  Phase = "starting"  // its process runs
	Prompted  Phase = "prompted"  // it is at work
	Answered  Phase = "answered"  // it says that it is done
	Verifying Phase = "verifying" // that is being checked
	Settled   Phase = "settled"   // over
)

// Note is what becomes known about an attempt while it runs. What is empty or
// nil leaves what is stored as it is.
type Note struct {
	Phase          Phase
	Agent          string
	Model          string
	ModelEffective string
	Session        string
	SessionUSD     *float64
	Sandbox        string
	AgentPID       int64
	AgentPIDStart  int64
	StopReason     string
	Verdict        string
	Usage          *event.Usage
	Steps          int
	Shares         []Share
	Drift          []string
	Files          []string
	Gates          []GateRecord
	Rejected       event.Rejection
	Base           string // the commit it began at
	Tree           string // the tree it began with
	TreeAfter      string // and ended with; Prompted takes it back
	Transcript     string
	Came           Came
	Knowledge      string // JSON that is still to be written to files
}

const noteSQL = `
UPDATE attempts SET phase = coalesce(:phase, phase), agent = coalesce(:agent, agent), model = coalesce(:model, model),
    model_effective = coalesce(:effective, model_effective), session = coalesce(:session, session),
    session_usd = coalesce(:session_usd, session_usd),
    sandbox = coalesce(:sandbox, sandbox), agent_pid = coalesce(:pid, agent_pid),
    agent_pid_start = coalesce(:pid_start, agent_pid_start), stop_reason = coalesce(:stop, stop_reason),
    verdict = coalesce(:verdict, verdict), tokens_in = coalesce(:tokens_in, tokens_in),
    tokens_cached = coalesce(:tokens_cached, tokens_cached), tokens_out = coalesce(:tokens_out, tokens_out),
    cost_usd = coalesce(:cost, cost_usd), cost_estimated = iif(:cost IS NULL, cost_estimated, :estimated),
    cost_unknown = coalesce(:unknown, cost_unknown), steps = coalesce(:steps, steps), shares = coalesce(:shares, shares),
    drift = coalesce(:drift, drift), files = coalesce(:files, files), base = coalesce(:base, base),
    tree = coalesce(:tree, tree), tree_after = iif(:phase = 'prompted', NULL, coalesce(:tree_after, tree_after)),
    gates = coalesce(:gates, gates), rejected = coalesce(:rejected, rejected), exit_status = iif(:phase = 'prompted', NULL, coalesce(:exit, exit_status)),
    printed = iif(:phase = 'prompted', NULL, coalesce(:printed, printed)), transcript = coalesce(:transcript, transcript), knowledge = coalesce(:knowledge, knowledge)
WHERE id = :id;`

// NoteAttempt stores what became known. It needs no claim: what an attempt cost
// is true even if its task was taken away meanwhile.
func (g History) NoteAttempt(id string, n Note) error {
	used, unknown := event.Usage{}, any(nil)
	if n.Usage != nil {
		used, unknown = *n.Usage, n.Usage.Unknown
	}
	in, cached, out := used.Counts()
	missing := fmt.Errorf("attempt %s: %w", id, ErrNotFound)
	return g.change(missing, noteSQL, ":id", id,
		":phase", db.OrNull(string(n.Phase)), ":agent", db.OrNull(n.Agent), ":model", db.OrNull(n.Model), ":effective", db.OrNull(n.ModelEffective), ":session", db.OrNull(n.Session), ":session_usd", n.SessionUSD, ":sandbox", db.OrNull(n.Sandbox),
		":pid", db.OrNull(n.AgentPID), ":pid_start", db.OrNull(n.AgentPIDStart), ":stop", db.OrNull(n.StopReason),
		":verdict", db.OrNull(g.said(n.Verdict)), ":tokens_in", in, ":tokens_cached", cached,
		":tokens_out", out, ":cost", used.CostUSD, ":estimated", used.Estimated, ":unknown", unknown, ":steps", db.OrNull(n.Steps),
		":shares", listOrNull(g.transaction, n.Shares, asIs), ":drift", listOrNull(g.transaction, n.Drift, g.said), ":files", listOrNull(g.transaction, n.Files, g.said),
		":gates", listOrNull(g.transaction, n.Gates, g.said), ":base", db.OrNull(n.Base), ":tree", db.OrNull(n.Tree), ":tree_after", db.OrNull(n.TreeAfter),
		":rejected", db.OrNull(string(n.Rejected)), ":exit", n.Came.Exit, ":printed", g.saidOf(n.Came.Printed), ":transcript", db.OrNull(n.Transcript), ":knowledge", db.OrNull(g.said(n.Knowledge)))
}

// saidOf is a text without secrets as it is stored; nil leaves what is stored as it is.
func (g History) saidOf(text *string) any {
	if text == nil {
		return nil
	}
	return g.said(*text)
}

// listOrNull is a list as it is stored; nil leaves what is stored as it is.
func listOrNull[T any](g *transaction, list []T, redact func(string) string) any {
	if list == nil {
		return nil
	}
	b, err := json.Marshal(list)
	g.tx.Fail(err)
	return redact(string(b))
}

const abandonAttemptSQL = `
UPDATE attempts SET phase = 'settled', ended_at = :now, outcome = :outcome, reason = :reason
WHERE id = :id AND ended_at IS NULL;`

const leftSQL = `UPDATE tasks SET leaving = NULL WHERE leaving = :id;`

// AbandonAttempt ends an attempt whose claim was lost: its task has moved on. Its
// agent is gone, so the task may be claimed again.
func (g History) AbandonAttempt(id string, outcome event.AttemptOutcome, reason string) error {
	g.tx.Fail(g.queue().Left(id))
	return g.tx.Exec(abandonAttemptSQL, ":id", id, ":outcome", string(outcome), ":reason", db.OrNull(g.said(reason)), ":now", g.millis())
}

const (
	unwrittenSQL = `SELECT id, knowledge FROM attempts WHERE knowledge IS NOT NULL ORDER BY n;`
	writtenSQL   = `UPDATE attempts SET knowledge = NULL WHERE id = :id;`
)

// Unwritten is knowledge that is not in files yet.
type Unwritten struct{ Attempt, JSON string }

// Unwritten lists the knowledge that is not in files yet, oldest first.
func (g History) Unwritten() ([]Unwritten, error) {
	return db.All(g.tx, unwrittenSQL, func(r *db.Row) Unwritten { return Unwritten{r.Text(), r.Text()} })
}

// Written says that the knowledge of an attempt is in files now.
func (g History) Written(attempt string) error { return g.tx.Exec(writtenSQL, ":id", attempt) }
