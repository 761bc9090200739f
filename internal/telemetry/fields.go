package telemetry

import (
	"slices"
	"time"

	"github.com/rs/zerolog"

	"ralph/internal/event"
)

// messages are what the lines of events say, and their levels. An event without one has no line.
var messages = map[event.Type]struct {
	level zerolog.Level
	text  string
}{
	event.RunStarted:      {zerolog.InfoLevel, "run started"},
	event.Recovered:       {zerolog.WarnLevel, "task recovered"},
	event.TaskClaimed:     {zerolog.InfoLevel, "task claimed"},
	event.AgentStarted:    {zerolog.InfoLevel, "agent started"},
	event.AgentResumed:    {zerolog.InfoLevel, "agent resumed"},
	event.AgentTool:       {zerolog.DebugLevel, "tool call"},
	event.AgentUsage:      {zerolog.DebugLevel, "usage"},
	event.AgentAsked:      {zerolog.InfoLevel, "permission asked"},
	event.Asked:           {zerolog.WarnLevel, "question asked"},
	event.Answered:        {zerolog.InfoLevel, "question answered"},
	event.Prompted:        {zerolog.DebugLevel, "prompt sent"},
	event.GateStarted:     {zerolog.DebugLevel, "gate started"},
	event.GateEnded:       {zerolog.InfoLevel, "gate ended"},
	event.VerifierStarted: {zerolog.DebugLevel, "verifier started"},
	event.VerifierEnded:   {zerolog.InfoLevel, "verifier ended"},
	event.Drifted:         {zerolog.WarnLevel, "drift"},
	event.Anomaly:         {zerolog.WarnLevel, "anomaly"},
	event.SlotSetup:       {zerolog.InfoLevel, "slot setup"},
	event.TargetMoved:     {zerolog.InfoLevel, "target moved"},
	event.MergeQueued:     {zerolog.DebugLevel, "work queued"},
	event.MergeRebuilt:    {zerolog.DebugLevel, "work rebuilt"},
	event.MergeConflict:   {zerolog.WarnLevel, "work conflicts"},
	event.MergeWaiting:    {zerolog.WarnLevel, "landing waits"},
	event.MergeHeld:       {zerolog.InfoLevel, "work waits for review"},
	event.MergeLanded:     {zerolog.InfoLevel, "work landed"},
	event.MergeDropped:    {zerolog.InfoLevel, "work left the queue"},
	event.AttemptEnded:    {zerolog.InfoLevel, "attempt ended"},
	event.TaskAdded:       {zerolog.InfoLevel, "task added"},
	event.TaskSkipped:     {zerolog.InfoLevel, "task left out"},
	event.Notified:        {zerolog.InfoLevel, "people told"},
	event.LocksChanged:    {zerolog.DebugLevel, "locks changed"},
	event.Learned:         {zerolog.DebugLevel, "knowledge stored"},
	event.Waiting:         {zerolog.InfoLevel, "waiting"},
	event.Warned:          {zerolog.WarnLevel, "warning"},
	event.RunInterrupted:  {zerolog.WarnLevel, "run interrupted"},
	event.RunEnded:        {zerolog.InfoLevel, "run ended"},
}

// levelOf raises the level of an event that ended badly.
func levelOf(e event.Event) zerolog.Level {
	bad := false
	switch e.Type {
	case event.GateEnded:
		bad = !e.Gate.Passed && e.Reason == "" // a reason: it is not about the work
	case event.VerifierEnded:
		bad = e.Verdict() != event.VerdictPass
	case event.AttemptEnded:
		bad = e.Status == event.TaskFailed
	case event.RunEnded:
		if e.RunOutcome() == event.OutcomeError {
			return zerolog.ErrorLevel
		}
		bad = failed(e)
	}
	if bad {
		return zerolog.WarnLevel
	}
	return messages[e.Type].level
}

// failed reports whether a run did not do all that it was to do.
func failed(e event.Event) bool {
	return e.RunOutcome() != event.OutcomeComplete || e.Counts != nil && e.Counts.Failed > 0
}

// fields adds the facts of an event.
func (l *Log) fields(line *zerolog.Event, e event.Event) {
	l.texts(line, "title", e.Title, "agent", e.Agent, "model", e.Model, "text", e.Text,
		"outcome", e.Outcome, "status", string(e.Status), "reason", e.Reason)
	if e.PID != 0 {
		line.Int("pid", e.PID)
	}
	if e.Duration != 0 {
		line.Dur("dur", time.Duration(e.Duration)*time.Millisecond)
	}
	if e.Until != nil {
		line.Str("until", e.Until.Format(stamp))
	}
	if len(e.Files) > 0 {
		line.Int("files", len(e.Files))
	}
	if s := e.Setup; s != nil {
		l.texts(line, "scope", s.Scope, "agent", s.Agent, "model", s.Model, "limits", s.Limits, "sandbox", s.Sandbox, "verify", s.Verify)
		line.Int("jobs", s.Jobs)
	}
	if c := e.Counts; c != nil {
		line.Int("done", c.Done).Int("failed", c.Failed).Int("remaining", c.Remaining).Int("total", c.Total)
	}
	if u := e.Usage; u != nil {
		for _, t := range tokensOf(u) {
			line.Int64("tokens_"+t.short, t.n)
		}
		if u.CostUSD != nil {
			line.Float64("cost_usd", *u.CostUSD)
		}
		if u.Unknown {
			line.Bool("cost_unknown", true)
		}
	}
	if m := e.Merge; m != nil {
		l.texts(line, "target", m.Target, "onto", m.Onto, "commit", m.Commit)
	}
	if g := e.Gate; g != nil {
		l.texts(line, "gate", g.Command, "exit", g.Exit, "verdict", string(g.Verdict))
		if e.Type == event.GateEnded {
			line.Bool("passed", g.Passed)
		}
	}
	if t := e.Tool; t != nil {
		line.Str("tool", t.ID)
		l.texts(line, "title", t.Title, "kind", t.Kind, "status", t.Status, "error", t.Error)
	}
}

type tokens struct {
	kind, short string
	n           int64
}

// tokensOf lists the tokens that the agent reports.
func tokensOf(u *event.Usage) []tokens {
	all := []tokens{{"input", "in", u.TokensIn}, {"cached", "cached", u.TokensCached}, {"output", "out", u.TokensOut}}
	return slices.DeleteFunc(all, func(t tokens) bool { return t.n <= 0 })
}
