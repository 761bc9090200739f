package main

import (
	"context"
	"fmt"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/hooks"
	"ralph/internal/inbox"
	"ralph/internal/project"
	"ralph/internal/seq"
)

// newHooks are the hooks that the configuration names now; nil if there are none.
func newHooks(a *app, s *session) (*hooks.Set, error) {
	if len(s.config.Hooks) == 0 {
		return nil, nil
	}
	if err := confirmed(a, s.project); err != nil {
		return nil, err
	}
	env, _ := agents.GateEnviron(nil, a.environ())
	set, err := hooks.New(hooks.Options{
		Hooks: seq.Map(s.config.Hooks, project.HookConfig.Hook), Dir: s.project.Root, Env: env, Redact: a.redact, Now: a.now,
	})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", project.ErrConfig, err)
	}
	return set, nil
}

// maxObserved is for how many tasks of one command hooks are run.
const maxObserved = 100

// observeCommand runs the hooks that observe what a person did to tasks. What an agent does is
// observed by its run.
func observeCommand(ctx context.Context, a *app, s *session, name string, tasks ...dag.Task) {
	point := hooks.OfCommand(name)
	if point == "" || len(s.config.Hooks) == 0 || a.getenv("RALPH_RUN") != "" {
		return
	}
	set, err := newHooks(a, s)
	if err != nil {
		a.note("warning: %v", err)
		return
	}
	if !set.Has(point) {
		return
	}
	for i, t := range tasks {
		if i == maxObserved {
			a.note("warning: hooks on %s were run for the first %d tasks only", point, maxObserved)
			return
		}
		for _, text := range set.Run(ctx, hooks.Payload{Point: point, Task: t.ID, Title: t.Title}).Problems {
			a.note("warning: %s", text)
		}
	}
}

// observed are tasks as observeCommand needs them.
func observed(s *session, g *dag.Graph, ids []string) (tasks []dag.Task, err error) {
	if len(s.config.Hooks) == 0 {
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

// answerBefore lets hooks refuse or rewrite what a person answers. A credential is nothing for them.
func answerBefore(ctx context.Context, a *app, s *session, r inbox.Request, reply inbox.Reply) (_ inbox.Reply, warnings []string, _ error) {
	if r.Kind == inbox.Credential || r.Over(reply.Change) {
		return reply, nil, nil
	}
	set, err := newHooks(a, s)
	if err != nil || !set.Has(hooks.AnswerBefore) {
		return reply, nil, err
	}
	text := reply.Text
	if n := reply.Option; n > 0 && n <= len(r.Options) {
		text = r.Options[n-1]
	}
	out := set.Run(ctx, hooks.Payload{
		Point: hooks.AnswerBefore, Run: r.Run, Task: r.Task, Attempt: r.Attempt,
		Answer: &hooks.Answers{Request: r.ID, Question: r.Text, Text: text, Denied: reply.Denied, Who: a.actor().Who},
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
