package loop

import (
	"ralph/acp"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/testing/failpoint"
)

// observe turns what a session tells into events of the run.
func (a *attempt) observe(e acp.Event) {
	a.watch.see(e, a.opts.Now())
	out := event.Event{Task: a.claim.Task.ID, Attempt: a.claim.Attempt}
	switch e := e.(type) {
	case acp.Text:
		failpoint.Hit("K6")
		out.Type, out.Text = event.AgentText, e.Text
	case acp.Thought:
		out.Type, out.Text = event.AgentThought, e.Text
	case acp.ToolCall:
		out.Type = event.AgentTool
		out.Tool = &event.Tool{ID: e.ID, Title: e.Title, Kind: e.Kind, Status: e.Status, New: e.New, Error: e.Error}
	case acp.Plan:
		out.Type = event.AgentPlan
		for _, entry := range e.Entries {
			out.Plan = append(out.Plan, entry.Status+": "+entry.Content)
		}
	case acp.UsageSeen:
		out.Type = event.AgentUsage
		used := a.usage()
		out.Usage = &used // of all sessions of the attempt, a judge's too
		out.Usage.Context = e.ContextUsed
	case acp.Permission:
		out.Type, out.Text, out.Outcome = event.AgentAsked, e.Title, e.Answer
	case acp.Resumed:
		out.Type, out.Text = event.AgentResumed, e.Session
	case acp.Warned:
		out.Type, out.Text = event.Warned, e.Text
	case acp.Dropped:
		out.Type, out.Text = event.Warned, human.Count(e.Events, "event")+" not shown: showing them was slower than the agent"
	default: // what else happens is in the transcript
		return
	}
	a.bus.emit(out)
}
