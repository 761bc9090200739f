package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/acp"
	"ralph/internal/agents"
	"ralph/internal/human"
	"ralph/internal/provenance"
	"ralph/internal/sandbox"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// Agents checks the agents that a configuration names.
type Agents struct {
	agents.Finder
	Timeout time.Duration // for each to answer
	Trial   func(agents.Agent) (*agents.Trial, error)
	Waiting func(what string, do func()) // says what a person waits for
	Hint    func(error) string           // what helps against an error
}

// Check asks every agent who it is.
func (x Agents) Check(ctx context.Context) []Finding {
	var findings []Finding
	var seen []string
	check := func(key string, ag agents.Agent, err error) {
		if err == nil && slices.Contains(seen, ag.Name) {
			return
		}
		seen = append(seen, ag.Name)
		findings = append(findings, x.check(ctx, key, ag, err))
	}
	chosen, err := x.Choose("")
	check("agent", chosen, err)
	for _, name := range x.Config.Agent.Fallback {
		ag, err := x.Find(name)
		check("agent.fallback", ag, err)
	}
	if verify := x.Config.Verify; verify.Enabled && verify.Agent != "" {
		ag, err := x.Find(verify.Agent)
		check("verify.agent", ag, err)
	}
	if name := x.Config.Verify.Witness; name != "" && name != "verifier" {
		ag, err := x.Find(name)
		check("verify.witness", ag, err)
	}
	for _, r := range x.Config.Verify.Reviewers {
		if r.Agent != "" {
			ag, err := x.Find(r.Agent)
			check("verify.reviewer", ag, err)
		}
	}
	return findings
}

// check looks at one. A missing agent is only a warning: a person may install it later,
// or name another. One that is installed and does not answer is a problem.
func (x Agents) check(ctx context.Context, key string, ag agents.Agent, err error) Finding {
	if err != nil {
		level := Problem
		if errors.Is(err, agents.ErrUnavailable) {
			level = Warning
		}
		return New(key, level, strings.TrimPrefix(err.Error(), agents.ErrUnavailable.Error()+": "), x.Hint(err))
	}
	if !x.Has(ag.Preset) { // it answers, and cannot work
		return New(key, Warning, ag.Name+" has no "+string(ag.Needs), ag.Login)
	}
	var says string
	var took time.Duration
	x.Waiting(fmt.Sprintf("%s to say who it is, for at most %s", ag.Name, human.Span(x.Timeout)), func() {
		var t *agents.Trial
		if t, err = x.Trial(ag.WithoutFetching()); err == nil {
			defer t.Close()
			says, took, err = t.Ask(ctx, x.Timeout)
		}
	})
	switch {
	case err == nil:
		return New(key, OK, fmt.Sprintf("%s answers as %s, after %.1f s", ag.Name, says, took.Seconds()), "")
	case ag.Fetched():
		return New(key, Warning, ag.Name+" is not installed; npx fetches it when a run needs it", "npm install -g "+ag.Package)
	}
	fix := "try it with: ralph agents test " + ag.Name
	var e *acp.Error
	if errors.As(err, &e) {
		fix = agents.Advice(e, ag.Preset)
	}
	return New(key, Problem, ag.Name+": "+term.Line(err.Error()), fix)
}

// Sandbox says how well a run in the project would be confined, why not better, and
// what that leaves open. mode is the configured one; c the best sandbox there is; limits what attempts may use, in words;
// layered is as for Confiner.InSlots.
func (p Project) Sandbox(mode string, c *sandbox.Confiner, limits string, layered bool) Finding {
	level := strings.Join(human.Parts(c.Work.Level.String(), c.Network(), limits), "; ")
	switch {
	case len(c.Planted()) > 0:
		return New("sandbox", Problem, level+"; an agent changed what it must not:", provenance.FindingFix, seq.Map(c.Planted(), provenance.Finding.String)...)
	case mode == "off":
		return New("sandbox", OK, "off, as configured, although there is "+level+"; not covered:", "", append(human.Parts(c.Unrestricted()), sandbox.None.Gaps()...)...)
	case mode == "require" && c.Lacking() != "":
		return New("sandbox", Problem, level+`, and sandbox.mode is "require": no run starts here; not covered:`,
			sandbox.Grants+`; or set sandbox.mode to "auto"`, c.Gaps(layered)...)
	}
	return New("sandbox", OK, level+"; not covered:", "", c.Gaps(layered)...)
}
