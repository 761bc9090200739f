package telemetry

import (
	"time"

	"github.com/rs/zerolog"

	"ralph/event"
)

// levelOf returns the level and the message of an event; without a message there is no line.
func levelOf(e event.Event) (zerolog.Level, string) {
	bad := func(is bool) zerolog.Level {
		if is {
			return zerolog.WarnLevel
		}
		return zerolog.InfoLevel
	}
	switch e.Type {
	case event.RunStarted:
		return zerolog.InfoLevel, "run started"
	case event.Recovered:
		return zerolog.WarnLevel, "task recovered"
	case event.TaskClaimed:
		return zerolog.InfoLevel, "task claimed"
	case event.AgentStarted:
		return zerolog.InfoLevel, "agent started"
	case event.AgentResumed:
		return zerolog.InfoLevel, "agent resumed"
	case event.AgentTool:
		return zerolog.DebugLevel, "tool call"
	case event.AgentUsage:
		return zerolog.DebugLevel, "usage"
	case event.AgentAsked:
		return zerolog.InfoLevel, "permission asked"
	case event.Prompted:
		return zerolog.DebugLevel, "prompt sent"
	case event.GateStarted:
		return zerolog.DebugLevel, "gate started"
	case event.GateEnded:
		return bad(!e.Gate.Passed && e.Reason == ""), "gate ended" // a reason: it is not about the work
	case event.VerifierStarted:
		return zerolog.DebugLevel, "verifier started"
	case event.VerifierEnded:
		return bad(e.Verdict() != event.VerdictPass), "verifier ended"
	case event.Drifted:
		return zerolog.WarnLevel, "drift"
	case event.AttemptEnded:
		return bad(e.Status == event.TaskFailed), "attempt ended"
	case event.Waiting:
		return zerolog.InfoLevel, "waiting"
	case event.Warned:
		return zerolog.WarnLevel, "warning"
	case event.RunInterrupted:
		return zerolog.WarnLevel, "run interrupted"
	case event.RunEnded:
		if e.RunOutcome() == event.OutcomeError {
			return zerolog.ErrorLevel, "run ended"
		}
		return bad(e.RunOutcome() != event.OutcomeComplete || e.Counts != nil && e.Counts.Failed > 0), "run ended"
	default:
		return zerolog.DebugLevel, ""
	}
}

// fields adds the facts of an event.
func (l *Log) fields(line *zerolog.Event, e event.Event) {
	l.text(line, "title", e.Title)
	l.text(line, "agent", e.Agent)
	l.text(line, "model", e.Model)
	l.text(line, "text", e.Text)
	l.text(line, "outcome", e.Outcome)
	l.text(line, "status", string(e.Status))
	l.text(line, "reason", e.Reason)
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
		l.text(line, "scope", s.Scope)
		l.text(line, "agent", s.Agent)
		l.text(line, "model", s.Model)
		l.text(line, "limits", s.Limits)
		l.text(line, "sandbox", s.Sandbox)
		l.text(line, "verify", s.Verify)
		line.Int("jobs", s.Jobs)
	}
	if c := e.Counts; c != nil {
		line.Int("done", c.Done).Int("failed", c.Failed).Int("remaining", c.Remaining).Int("total", c.Total)
	}
	if u := e.Usage; u != nil {
		for _, n := range []struct {
			key    string
			tokens int64 // 0 if the agent does not report them
		}{{"tokens_in", u.TokensIn}, {"tokens_cached", u.TokensCached}, {"tokens_out", u.TokensOut}} {
			if n.tokens > 0 {
				line.Int64(n.key, n.tokens)
			}
		}
		if u.CostUSD != nil {
			line.Float64("cost_usd", *u.CostUSD)
		}
		if u.Unknown {
			line.Bool("cost_unknown", true)
		}
	}
	if g := e.Gate; g != nil {
		l.text(line, "gate", g.Command)
		l.text(line, "exit", g.Exit)
		l.text(line, "verdict", string(g.Verdict))
		if e.Type == event.GateEnded {
			line.Bool("passed", g.Passed)
		}
	}
	if t := e.Tool; t != nil {
		line.Str("tool", t.ID)
		l.text(line, "title", t.Title)
		l.text(line, "kind", t.Kind)
		l.text(line, "status", t.Status)
		l.text(line, "error", t.Error)
	}
}
