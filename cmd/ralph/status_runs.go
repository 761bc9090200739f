package main

import (
	"fmt"
	"strings"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

type runJSON struct {
	ID         string           `json:"id"`
	Feature    *string          `json:"feature"`
	Task       *string          `json:"task"`
	PID        int64            `json:"pid"`
	State      string           `json:"state"` // running, stopping, died or unknown
	StartedAt  string           `json:"started_at"`
	Heartbeat  string           `json:"heartbeat_at"`
	Iterations int              `json:"iterations"`
	Attempts   []checkpointJSON `json:"attempts"`
}

// checkpointJSON is the checkpoint of an attempt that is under way.
type checkpointJSON struct {
	ID        string  `json:"id"`
	Task      string  `json:"task"`
	Phase     string  `json:"phase"`
	Iteration int     `json:"iteration"`
	Agent     *string `json:"agent"`
	Model     *string `json:"model"`
	StartedAt string  `json:"started_at"`
	Heartbeat *string `json:"heartbeat_at"`
	TokensIn  *int64  `json:"tokens_in"`
	TokensOut *int64  `json:"tokens_out"`
	spentJSON
}

// openRun is a run that has not ended, as far as is known.
type openRun struct {
	dag.Run
	state    string
	attempts []dag.Attempt
}

func openRuns(g *dag.Graph) ([]openRun, error) {
	runs, err := g.OpenRuns()
	if err != nil || len(runs) == 0 {
		return nil, err
	}
	attempts, err := g.OpenAttempts()
	if err != nil {
		return nil, err
	}
	list := make([]openRun, len(runs))
	for i, run := range runs {
		control, err := g.Control(run.ID)
		if err != nil {
			return nil, err
		}
		if run.Iterations, err = g.OwnIterations(run.ID); err != nil {
			return nil, err
		}
		list[i] = openRun{Run: run, state: stateOf(run, control)}
		for _, at := range attempts {
			if at.Run == run.ID {
				list[i].attempts = append(list[i].attempts, at)
			}
		}
	}
	return list, nil
}

func stateOf(run dag.Run, control dag.Control) string {
	switch known := life(run.Process); {
	case known == dag.Dead:
		return "died"
	case control.Stop != "":
		return "stopping"
	case known == dag.Unknown:
		return "unknown"
	default:
		return "running"
	}
}

func (r openRun) asJSON() runJSON {
	j := runJSON{
		ID: r.ID, Feature: orNil(r.Scope.Feature), Task: orNil(r.Scope.Task), PID: r.Process.PID, State: r.state,
		StartedAt: r.StartedAt.Format(time.RFC3339), Heartbeat: r.Heartbeat.Format(time.RFC3339), Iterations: r.Iterations,
		Attempts: []checkpointJSON{},
	}
	for _, at := range r.attempts {
		in, _, out := at.Counts()
		j.Attempts = append(j.Attempts, checkpointJSON{
			ID: at.ID, Task: at.Task, Phase: string(at.Phase), Iteration: at.Iteration, Agent: orNil(at.Agent), Model: orNil(at.Model),
			StartedAt: at.StartedAt.Format(time.RFC3339), Heartbeat: timeOrNil(at.Heartbeat),
			TokensIn: in, TokensOut: out, spentJSON: spentOf(at.Usage),
		})
	}
	return j
}

// runsSection says which runs are under way, and how far each came.
func (a *app) runsSection(b *strings.Builder, p term.Palette, runs []openRun) {
	if len(runs) == 0 {
		return
	}
	b.WriteString("\nRuns\n")
	for _, r := range runs {
		state, next := r.state, ""
		if state == "died" {
			state, next = p.Yellow("has died"), "; continue it: "+event.ContinueCommand(r.ID)+"; or only free its tasks: ralph recover"
		}
		fmt.Fprintf(b, "  %s  %s, %s, %s%s\n", p.Cyan(r.ID), state, term.Line(r.Scope.String()), human.Count(r.Iterations, "iteration"), next)
		for _, at := range r.attempts {
			fmt.Fprintf(b, "      %s\n", p.Dim(a.checkpoint(at)))
		}
	}
}

// checkpoint is what is known of an attempt that is under way.
func (a *app) checkpoint(at dag.Attempt) string {
	parts := []string{at.Task + " " + string(at.Phase) + " for " + a.since(at.StartedAt), fmt.Sprintf("iteration %d", at.Iteration)}
	if tokens := human.InOut(at.TokensIn, 0, at.TokensOut); tokens != "" {
		parts = append(parts, tokens)
	}
	if at.CostUSD != nil {
		parts = append(parts, spentOf(at.Usage).String())
	}
	if !at.Heartbeat.IsZero() {
		parts = append(parts, "heartbeat "+a.since(at.Heartbeat)+" ago")
	}
	return strings.Join(parts, ", ")
}

func (a *app) since(t time.Time) string { return human.Span(a.now().Sub(t).Round(time.Second)) }
