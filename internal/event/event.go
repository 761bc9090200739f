// Package event is what a run reports: its events, the outcomes and verdicts in them, and
// what was used. It imports nothing of ours, and neither writes nor words anything.
package event

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"
)

// Version is the version of the lines in events.jsonl. Fields and types may
// be added to a version; what exists keeps its meaning.
const Version = 1

// Type says what happened, and so which fields of an Event are set.
type Type string

// The events of a run, in the order in which they usually come.
const (
	RunStarted      Type = "run_started"
	Recovered       Type = "recovered"      // a task was reclaimed from a dead run
	RecoveryDone    Type = "recovery"       // recovery from dead runs is finished
	TaskClaimed     Type = "task_claimed"   // an iteration begins
	AgentStarted    Type = "agent_started"  // its process runs and a session is open
	AgentResumed    Type = "agent_resumed"  // it continues the session of an interrupted attempt
	AgentText       Type = "agent_text"     // a piece of what it says
	AgentThought    Type = "agent_thought"  // a piece of what it thinks
	AgentTool       Type = "agent_tool"     // a tool call began or changed
	AgentPlan       Type = "agent_plan"     // what it means to do
	AgentUsage      Type = "agent_usage"    // what it has used so far
	AgentAsked      Type = "agent_asked"    // a permission was asked for and answered
	Asked           Type = "question_asked" // an agent asks a person
	Answered        Type = "question_answered"
	Prompted        Type = "prompted"        // a prompt was sent, the first or a follow-up
	GateStarted     Type = "gate_started"    // ralph runs a command to check the work
	GateEnded       Type = "gate_ended"      //
	VerifierStarted Type = "judge_started"   // the verifier agent reviews the work
	VerifierEnded   Type = "judge_ended"     // its verdict: pass, fail or none
	Drifted         Type = "drift"           // an attempt makes no progress, and what is done about it
	Anomaly         Type = "anomaly"         // an agent does what one at work does not do
	SlotSetup       Type = "slot_setup"      // a folder for an agent is made ready by the project's own command
	TargetMoved     Type = "target_moved"    // what landed was merged with the work of an attempt, or the branch has moved to what landed
	MergeQueued     Type = "merge_queued"    // finished work waits to land on the target
	MergeRebuilt    Type = "merge_rebuilt"   // what it was to land on is gone: it is tested on something else
	MergeConflict   Type = "merge_conflict"  // it cannot be merged into the target
	MergeWaiting    Type = "merge_waiting"   // something in a checkout is in its way
	MergeHeld       Type = "merge_held"      // it is green, and waits for a person to accept it
	MergeLanded     Type = "merge_landed"    // it is on the target; with a reason, the branch itself waits
	MergeDropped    Type = "merge_dropped"   // it left the queue without landing
	AttemptEnded    Type = "attempt_ended"   // the iteration is settled
	TaskAdded       Type = "task_added"      // an agent added a task
	TaskSkipped     Type = "task_skipped"    // its condition does not hold: it ends without work
	Notified        Type = "notified"        // a task has told people what it says
	LocksChanged    Type = "locks_changed"   // an agent took locks beside those of its task, or gave them back
	Learned         Type = "learned"         // what an attempt wants later ones to know was written to a file
	Waiting         Type = "waiting"         // nothing can be claimed until a time
	Warned          Type = "warning"         // a person should look
	RunInterrupted  Type = "run_interrupted" // by a signal
	RunEnded        Type = "run_ended"
)

// Event is one thing that happened in a run: one line of events.jsonl. Fields
// that do not belong to its type are absent.
type Event struct {
	V    int       `json:"v"`
	At   time.Time `json:"at"`
	Run  string    `json:"run"`
	Type Type      `json:"type"`

	Iteration int    `json:"iteration,omitempty"`
	Task      string `json:"task,omitempty"`
	Attempt   string `json:"attempt,omitempty"`
	Title     string `json:"title,omitempty"`

	Agent string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"` // as asked for; in agent_started as it took effect
	Text  string `json:"text,omitempty"`

	Tool   *Tool    `json:"tool,omitempty"`
	Call   *Call    `json:"call,omitempty"`
	Plan   []string `json:"plan,omitempty"`
	Locks  []string `json:"locks,omitempty"` // that the attempt takes and gives back
	Usage  *Usage   `json:"usage,omitempty"`
	Gate   *Gate    `json:"gate,omitempty"`
	Merge  *Merge   `json:"merge,omitempty"`
	Counts *Counts  `json:"counts,omitempty"`

	Question *Question `json:"question,omitempty"`
	Together *Together `json:"together,omitempty"`
	Recovery *Recovery `json:"recovery,omitempty"`
	Setup    *Setup    `json:"setup,omitempty"`
	Work     *Work     `json:"work,omitempty"`

	Outcome  string     `json:"outcome,omitempty"`  // read it with the method that its type calls for
	Status   TaskStatus `json:"status,omitempty"`   // of the task, after attempt_ended
	Rejected Rejection  `json:"rejected,omitempty"` // in attempt_ended
	Command  string     `json:"command,omitempty"`  // that a person types about it
	Reason   string     `json:"reason,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
	Duration int64      `json:"duration_ms,omitempty"`
	Files    []string   `json:"files,omitempty"`
	PID      int        `json:"pid,omitempty"`
	Findings []Finding  `json:"findings,omitempty"`
}

// The outcomes of locks_changed.
const (
	LocksTaken    = "taken"
	LocksReleased = "released"
)

// AttemptOutcome is the outcome in attempt_ended.
func (e Event) AttemptOutcome() AttemptOutcome { return AttemptOutcome(e.Outcome) }

// RunOutcome is the outcome in run_ended.
func (e Event) RunOutcome() RunOutcome { return RunOutcome(e.Outcome) }

// Verdict is the outcome in judge_ended.
func (e Event) Verdict() Verdict { return Verdict(e.Outcome) }

// Drift is the outcome in drift.
func (e Event) Drift() DriftAction { return DriftAction(e.Outcome) }

// Tool is a tool call as people see it.
type Tool struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Kind   string `json:"kind,omitempty"`
	Status string `json:"status,omitempty"`
	New    bool   `json:"new,omitempty"`
	Error  string `json:"error,omitempty"`
}

// Question is a request that waits for a person, or did.
type Question struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind"`
	Options []string `json:"options,omitempty"`
	Parks   bool     `json:"parks,omitempty"` // its task is not started while it is open
	Again   bool     `json:"again,omitempty"` // an earlier run asked the same, and it is still open
}

// Call is what an agent asked for, and who decided.
type Call struct {
	Kind    string `json:"kind"`
	Text    string `json:"text"` // the command, the files, or the title
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule"`
	By      string `json:"by"`
}

// Finding is what a reviewer found in the whole change of a feature, or what a verifier missed there, and the task that it
// became or why it became none.
type Finding struct {
	Title  string `json:"title,omitempty"` // of what is missing, which has no place
	File   string `json:"file"`
	Line   int    `json:"line"`
	Text   string `json:"text"`
	Task   string `json:"task,omitempty"`
	Reason string `json:"reason,omitempty"`
}

// Gate is a command that checks the work.
type Gate struct {
	Command string `json:"command"`
	Passed  bool   `json:"passed"`
	Exit    string `json:"exit,omitempty"`
	Log     string `json:"log,omitempty"` // where its whole output is

	Baseline Baseline    `json:"baseline,omitempty"`
	Verdict  GateVerdict `json:"verdict,omitempty"`

	Tests       *int `json:"tests,omitempty"` // that passed, if the output says so
	TestsBefore *int `json:"tests_before,omitempty"`
}

// Accepted reports whether the gate let the work pass: one that was red before the work
// and did not get worse is excused.
func (g Gate) Accepted() bool {
	if g.Verdict == "" {
		return g.Passed
	}
	return g.Verdict != GateFailed
}

// Merge is an entry of the merge queue.
type Merge struct {
	N      int64  `json:"n"`
	Target string `json:"target"`
	Onto   string `json:"onto,omitempty"`
	Commit string `json:"commit,omitempty"` // that is tested, and lands
	Refs   string `json:"refs,omitempty"`   // what it does to tags and branches
}

// Work is where the work of a run ended up whose agents worked in slots.
type Work struct {
	Target  string `json:"target"`           // the branch, a full ref name
	Commits int    `json:"commits"`          // that landed on it
	From    string `json:"from,omitempty"`   // the commit before the first of them
	To      string `json:"to,omitempty"`     // the last of them
	Review  []Kept `json:"review,omitempty"` // that waits for a person to accept it
	Behind  []Kept `json:"behind,omitempty"` // that lands after such work, on which it stands
	Kept    []Kept `json:"kept,omitempty"`   // of tasks that it did not finish
	Waits   *Waits `json:"waits,omitempty"`  // the branch does not have it yet
	Git     string `json:"git,omitempty"`    // how git is typed there, if that is not just git
}

// Waits is what keeps a branch from work that has landed.
type Waits struct {
	Ref     string `json:"ref"`     // where the work is
	Reason  string `json:"reason"`  // in words that follow the name of the branch
	Command string `json:"command"` // that moves the branch, once a person has made way
}

// Kept is work that did not land.
type Kept struct {
	Task string `json:"task"`
	Ref  string `json:"ref"`
}

// Together is what a run came to with those that it continues: what its limits go by.
type Together struct {
	Continues  string `json:"continues"` // the run before it
	Iterations int    `json:"iterations"`
	Usage      Usage  `json:"usage"`
	Duration   int64  `json:"duration_ms"`
}

// Counts are the tasks in scope, without the groups that they stand in.
type Counts struct {
	Done      int `json:"done"`
	Failed    int `json:"failed"`
	Cancelled int `json:"cancelled,omitempty"`
	Remaining int `json:"remaining"`
	Total     int `json:"total"`
	Asks      int `json:"asks,omitempty"` // of those that remain: waiting for an answer
}

// Recovery counts what dead runs had left, and what became of it.
type Recovery struct {
	Runs int `json:"runs"` // that had died
	RecoveryCounts
}

// String is the summary in words.
func (r Recovery) String() string {
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
	add(r.Runs, "run had died", "runs had died")
	add(r.Landed, "task had landed", "tasks had landed")
	add(r.Released, "task released", "tasks released")
	add(r.Resumed, "task resumed at verification", "tasks resumed at verification")
	add(r.Abandoned, "task too old to resume, starting over", "tasks too old to resume, starting over")
	add(r.Failed, "task failed", "tasks failed")
	add(r.Orphans, "orphaned process ended", "orphaned processes ended")
	return cmp.Or(strings.Join(parts, ", "), "nothing to recover")
}

// RecoveryCounts are the tasks and processes of dead runs.
type RecoveryCounts struct {
	Released  int `json:"released"`  // tasks that start over
	Resumed   int `json:"resumed"`   // tasks whose finished work is only to be verified
	Abandoned int `json:"abandoned"` // tasks that were too old to resume
	Failed    int `json:"failed"`    // tasks whose runs died too often, or left work behind
	Orphans   int `json:"orphans"`   // processes that were still running
	Landed    int `json:"landed"`    // tasks whose work was on the target: they are done
}

// Setup is what the header of a run tells, in run_started.
type Setup struct {
	Scope string `json:"scope"`
	Agent string `json:"agent"`
	// Credential is the name of the variable that the agent will be paid with.
	Credential string `json:"credential,omitempty"`
	Model      string `json:"model"`
	Limits     string `json:"limits"`
	Sandbox    string `json:"sandbox"`
	Verify     string `json:"verify"`
	Jobs       int    `json:"jobs"`
	// Target is the branch that work lands on, a full ref name, if agents work in slots.
	Target   string `json:"target,omitempty"`
	Folder   string `json:"folder"` // where transcripts and events are
	MaxIters int    `json:"max_iterations"`
}

// Usage is what sessions, attempts or runs have used. No agent answers with 0 tokens: a
// count of 0 is one that is not known. A cost of nil is not known either.
type Usage struct {
	TokensIn     int64    `json:"tokens_in,omitempty"`
	TokensCached int64    `json:"tokens_cached,omitempty"`
	TokensOut    int64    `json:"tokens_out,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
	Estimated    bool     `json:"cost_estimated,omitempty"` // from a table of prices: the agent did not report it
	Unknown      bool     `json:"cost_unknown,omitempty"`   // the cost of some of it, or of all, is not known

	Context int64 `json:"context_tokens,omitempty"` // what its last request took of the context
}

// Add returns what both used together.
func (u Usage) Add(v Usage) Usage {
	u.TokensIn += v.TokensIn
	u.TokensCached += v.TokensCached
	u.TokensOut += v.TokensOut
	u.Estimated, u.Unknown = u.Estimated || v.Estimated, u.Unknown || v.Unknown
	switch {
	case u.CostUSD == nil:
		u.CostUSD = v.CostUSD
	case v.CostUSD != nil:
		sum := math.Round((*u.CostUSD+*v.CostUSD)*1e9) / 1e9 // without the noise of binary fractions
		u.CostUSD = &sum
	}
	return u
}

// Equal reports whether both used the same.
func (u Usage) Equal(v Usage) bool {
	if (u.CostUSD == nil) != (v.CostUSD == nil) || u.CostUSD != nil && *u.CostUSD != *v.CostUSD {
		return false
	}
	u.CostUSD, v.CostUSD = nil, nil
	return u == v
}

// Cost is what is known of the cost, in dollars.
func (u Usage) Cost() float64 {
	if u.CostUSD == nil {
		return 0
	}
	return *u.CostUSD
}

// Counts returns the tokens as they are stored and printed: nil for what is not known.
func (u Usage) Counts() (in, cached, out *int64) {
	if u.Tokens() == 0 {
		return nil, nil, nil
	}
	known := func(n int64) *int64 {
		if n == 0 {
			return nil
		}
		return &n
	}
	return known(u.TokensIn), known(u.TokensCached), known(u.TokensOut)
}

// Tokens counts the tokens that were not read from a cache.
func (u Usage) Tokens() int64 { return u.TokensIn + u.TokensOut }

// AllTokens counts those from a cache, too.
func (u Usage) AllTokens() int64 { return u.TokensIn + u.TokensCached + u.TokensOut }
