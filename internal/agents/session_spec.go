package agents

import (
	"strconv"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/mcp"
	"ralph/internal/proc"
)

// SessionSpec describes one session, from the attempt that needs it to the agent that is started for it. Each layer hands
// it on whole. Its Model is a tier, a name, or "" for the agent's own; its TurnTimeout of 0 is the opener's.
type SessionSpec struct {
	acp.Conversation
	Run        RunRef
	Task       dag.Task // empty outside a task
	Env        []string // more variables
	Substitute string   // who works instead of the run's own agent; "" for that one
	Verifier   bool     // it reads the work and changes nothing
	Review     bool     // it does so as the task's own agent
	Witness    string   // with Verifier: the agent that looks in its place; "" for the verifier

	Tools   mcp.Server // answers the agent's calls; nil if it has no tools
	Observe func(acp.Event)
	Started func(agent string, id proc.Identity) error // may be nil

	early bool // the task is not known yet
}

// RunRef says of which run an attempt is a part.
type RunRef struct {
	ID        string
	Owner     string // of the attempt's processes
	Attempt   string
	Iteration int
	Limit     int // of iterations; 0 means none
}

// variables describe to an agent the run that started it, and about its task if it has
// one. None of these names configures a ralph that the agent starts.
func (r SessionSpec) variables(model string) []string {
	run := []string{"RALPH_RUN=" + r.Run.ID, "RALPH_TOTAL=" + strconv.Itoa(r.Run.Limit)}
	if r.early {
		return run
	}
	return append(run, "RALPH_MODEL="+model, "RALPH_ITERATION="+strconv.Itoa(r.Run.Iteration), "RALPH_TASK="+r.Task.ID)
}
