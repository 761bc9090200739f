package wiring

import (
	"context"
	"fmt"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/hooks"
	"ralph/internal/inbox"
	"ralph/internal/project"
	"ralph/internal/seq"
)

// NewHooks are the hooks that the configuration names now; nil if there are none.
func NewHooks(a *cli.App, s *cli.Session) (*hooks.Set, error) {
	if len(s.Config.Hooks) == 0 {
		return nil, nil
	}
	if err := Confirmed(a, s.Project); err != nil {
		return nil, err
	}
	env, _ := agents.GateEnviron(nil, a.Environ())
	set, err := hooks.New(hooks.Options{
		Hooks: seq.Map(s.Config.Hooks, project.HookConfig.Hook), Dir: s.Project.Root, Env: env, Redact: a.Redact, Now: a.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", project.ErrConfig, err)
	}
	return set, nil
}

// maxObserved is for how many tasks of one command hooks are run.
const maxObserved = 100

// ObserveCommand runs the hooks that observe what a person did to tasks. What an agent does is
// observed by its run.
func ObserveCommand(ctx context.Context, a *cli.App, s *cli.Session, name string, tasks ...dag.Task) {
	point := hooks.OfCommand(name)
	if point == "" || len(s.Config.Hooks) == 0 || a.Getenv("RALPH_RUN") != "" {
		return
	}
	set, err := NewHooks(a, s)
	if err != nil {
		a.Note("warning: %v", err)
		return
	}
	if !set.Has(point) {
		return
	}
	for i, t := range tasks {
		if i == maxObserved {
			a.Note("warning: hooks on %s were run for the first %d tasks only", point, maxObserved)
			return
		}
		for _, text := range set.Run(ctx, hooks.Payload{Point: point, Task: t.ID, Title: t.Title}).Problems {
			a.Note("warning: %s", text)
		}
	}
}

// Observed are tasks as ObserveCommand needs them.
func Observed(s *cli.Session, g *dag.Graph, ids []string) (tasks []dag.Task, err error) {
	if len(s.Config.Hooks) == 0 {
		return nil, nil
	}
	for _, id := range ids[:min(len(ids), maxObserved+1)] {
		t, err := g.Tasks.Get(id)
		if err != nil {
			return nil, err
		}
		tasks = append(tasks, t)
	}
	return tasks, nil
}

// AnswerBefore lets hooks refuse or rewrite what a person answers. A credential is nothing for them.
func AnswerBefore(ctx context.Context, a *cli.App, s *cli.Session, r inbox.Request, reply inbox.Reply) (_ inbox.Reply, warnings []string, _ error) {
	if r.Kind == inbox.Credential || r.Over(reply.Change) {
		return reply, nil, nil
	}
	set, err := NewHooks(a, s)
	if err != nil || !set.Has(hooks.AnswerBefore) {
		return reply, nil, err
	}
	text := reply.Text
	if n := reply.Option; n > 0 && n <= len(r.Options) {
		text = r.Options[n-1]
	}
	out := set.Run(ctx, hooks.Payload{
		Point: hooks.AnswerBefore, Run: r.Run, Task: r.Task, Attempt: r.Attempt,
		Answer: &hooks.Answers{Request: r.ID, Question: r.Text, Text: text, Denied: reply.Denied, Who: a.Actor().Who},
	})
	warnings = seq.Map(out.Problems, func(problem string) string { return "warning: " + problem })
	switch {
	case out.Blocked():
		return reply, warnings, fmt.Errorf("%w: %s", dag.ErrRefused, out.Refusal())
	case out.Replace != nil:
		reply.Text, reply.Option, reply.Other = *out.Replace, 0, true
	}
	return reply, warnings, nil
}
