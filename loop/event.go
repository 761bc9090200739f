package loop

import (
	"time"

	"ralph/loop/recovery"
)

// EventVersion is the version of the lines in events.jsonl. Fields and types may
// be added to a version; what exists keeps its meaning.
const EventVersion = 1

// EventType says what happened, and so which fields of an Event are set.
type EventType string

// The events of a run, in the order in which they usually come.
const (
	RunStarted     EventType = "run_started"
	Recovered      EventType = "recovered"       // a task was taken back from a dead run
	RecoveryDone   EventType = "recovery"        // what was made of all that dead runs left
	TaskClaimed    EventType = "task_claimed"    // an iteration begins
	AgentStarted   EventType = "agent_started"   // its process runs and a session is open
	AgentResumed   EventType = "agent_resumed"   // it goes on in the session of an interrupted attempt
	AgentText      EventType = "agent_text"      // a piece of what it says
	AgentThought   EventType = "agent_thought"   // a piece of what it thinks
	AgentTool      EventType = "agent_tool"      // a tool call began or changed
	AgentPlan      EventType = "agent_plan"      // what it means to do
	AgentUsage     EventType = "agent_usage"     // what it has used so far
	AgentAsked     EventType = "agent_asked"     // a permission was asked for and answered
	Prompted       EventType = "prompted"        // a prompt was sent, the first or a follow-up
	GateStarted    EventType = "gate_started"    // ralph runs a command to check the work
	GateEnded      EventType = "gate_ended"      //
	JudgeStarted   EventType = "judge_started"   // an agent with fresh eyes looks at the work
	JudgeEnded     EventType = "judge_ended"     // its verdict: pass, fail or none
	Drifted        EventType = "drift"           // an attempt gets nowhere, and what is done about it
	AttemptEnded   EventType = "attempt_ended"   // the iteration is settled
	Waiting        EventType = "waiting"         // nothing can be claimed until a time
	Warned         EventType = "warning"         // a person should look
	RunInterrupted EventType = "run_interrupted" // by a signal
	RunEnded       EventType = "run_ended"
)

// Event is one thing that happened in a run: one line of events.jsonl. Fields
// that do not belong to its type are absent.
type Event struct {
	V    int       `json:"v"`
	At   time.Time `json:"at"`
	Run  string    `json:"run"`
	Type EventType `json:"type"`

	Iteration int    `json:"iteration,omitempty"`
	Task      string `json:"task,omitempty"`
	Attempt   string `json:"attempt,omitempty"`
	Title     string `json:"title,omitempty"`

	Agent string `json:"agent,omitempty"`
	Model string `json:"model,omitempty"` // as asked for; in agent_started as it took effect
	Text  string `json:"text,omitempty"`

	Tool   *ToolEvent `json:"tool,omitempty"`
	Plan   []string   `json:"plan,omitempty"`
	Usage  *Usage     `json:"usage,omitempty"`
	Gate   *GateEvent `json:"gate,omitempty"`
	Counts *Counts    `json:"counts,omitempty"`

	Together *Together `json:"together,omitempty"`

	Recovery *RecoveryEvent `json:"recovery,omitempty"`

	Setup *Setup `json:"setup,omitempty"`

	Outcome  string     `json:"outcome,omitempty"`
	Status   string     `json:"status,omitempty"` // of the task, after attempt_ended
	Reason   string     `json:"reason,omitempty"`
	Until    *time.Time `json:"until,omitempty"`
	Duration int64      `json:"duration_ms,omitempty"`
	Files    []string   `json:"files,omitempty"`
	PID      int        `json:"pid,omitempty"`
}

// ToolEvent is a tool call as people see it.
type ToolEvent struct {
	ID     string `json:"id"`
	Title  string `json:"title"`
	Kind   string `json:"kind,omitempty"`
	Status string `json:"status,omitempty"`
	New    bool   `json:"new,omitempty"`
	Error  string `json:"error,omitempty"`
}

// GateEvent is a command that judges the work.
type GateEvent struct {
	Command string `json:"command"`
	Passed  bool   `json:"passed"`
	Exit    string `json:"exit,omitempty"`
	Log     string `json:"log,omitempty"` // where its whole output is

	Baseline string `json:"baseline,omitempty"` // green or red before the work
	Verdict  string `json:"verdict,omitempty"`  // passed, flaky, failed, or excused: red before, and not worse
}

// Usage is what an attempt or a run has used. What is unknown is absent.
type Usage struct {
	TokensIn     int64    `json:"tokens_in,omitempty"`
	TokensCached int64    `json:"tokens_cached,omitempty"`
	TokensOut    int64    `json:"tokens_out,omitempty"`
	CostUSD      *float64 `json:"cost_usd,omitempty"`
	Estimated    bool     `json:"cost_estimated,omitempty"` // by a table of prices: the agent did not say
	Unknown      bool     `json:"cost_unknown,omitempty"`   // of some of it, or of all, nobody knows what it cost

	Context int64 `json:"context_tokens,omitempty"` // what its last request took of the context
}

// Together is what a run came to with those that it continues: what its limits go by.
type Together struct {
	Continues  string `json:"continues"` // the run that it took up
	Iterations int    `json:"iterations"`
	Usage      Usage  `json:"usage"`
	Duration   int64  `json:"duration_ms"`
}

// Counts are the tasks in scope, without the groups that they stand in.
type Counts struct {
	Done      int `json:"done"`
	Failed    int `json:"failed"`
	Remaining int `json:"remaining"`
	Total     int `json:"total"`
}

// RecoveryEvent counts what dead runs had left, and what became of it.
type RecoveryEvent = recovery.Summary

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
	Folder     string `json:"folder"` // where transcripts and events are
	MaxIters   int    `json:"max_iterations"`
}
