package loop

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/hooks"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/knowledge"
	"ralph/loop/attempt"
	"ralph/strategy"
)

// hook runs the hooks of a point for this run.
func (s shared) hook(ctx context.Context, p hooks.Payload) hooks.Outcome {
	p.Run = s.run.ID
	out := s.opts.Host.Hooks.Run(ctx, p)
	for _, text := range out.Problems {
		s.bus.warn(p.Task, text)
	}
	return out
}

// runBefore asks hooks whether the run may begin, once.
func (r *Runner) runBefore(ctx context.Context) {
	if r.begun {
		return
	}
	r.begun = true
	if out := r.hook(ctx, hooks.Payload{Point: hooks.RunBefore, Agent: r.opts.Host.Setup.Agent}); out.Blocked() {
		r.end(event.OutcomeBlocked, out.Refusal(), nil)
	}
}

// taskBefore asks hooks about a task that was claimed. It returns why the task may not begin, if
// one is against it.
func (r *Runner) taskBefore(ctx context.Context, j *attempt.Job) (keptBack string) {
	out := r.hook(ctx, hooks.Payload{
		Point: hooks.TaskBefore, Task: j.Task.ID, Title: j.Task.Title, Attempt: j.Run.Attempt, Dir: j.Place.Dir, Agent: j.Agent.Name, Model: j.Agent.Choice.Model,
	})
	if out.Blocked() {
		return out.Refusal()
	}
	j.Brief.Guidance = strings.Join(human.Parts(j.Brief.Guidance, out.Inject), "\n\n")
	switch {
	case out.Model == "":
	case r.scripted(j):
		r.bus.warn(j.Task.ID, fmt.Sprintf("a hook on %s chose the model %s, but %s needs none", hooks.TaskBefore, out.Model, j.Agent.Name))
	default: // if there is no such model, that is this task's matter only
		tier, _ := strategy.ParseTier(out.Model)
		was := cmp.Or(j.Agent.Choice.Model, "the agent's own")
		j.Agent.Choice, j.Agent.Standing.OwnModel = strategy.Choice{Model: out.Model, Tier: tier, Reason: "a hook chose it", Overrode: was}, true
	}
	return ""
}

// sources are those of the options, with what hooks select of the knowledge.
func (r *Runner) sources(ctx context.Context, dir string, t dag.Task, changed []string) attempt.Sources {
	return r.opts.sources(ctx, dir, t, changed, func(q knowledge.Query, entries []knowledge.Entry, tokens int) knowledge.Told {
		if !r.opts.Host.Hooks.Has(hooks.KnowledgeSelected) {
			return q.Brief(entries, tokens)
		}
		return r.selectKnowledge(ctx, t, q, entries, tokens)
	})
}

// selectKnowledge lets hooks filter and order what a task gets to read, and add to it.
func (r *Runner) selectKnowledge(ctx context.Context, t dag.Task, q knowledge.Query, entries []knowledge.Entry, tokens int) knowledge.Told {
	matches := q.Match(entries)
	out := r.hook(ctx, hooks.Payload{
		Point: hooks.KnowledgeSelected, Task: t.ID, Title: t.Title,
		Knowledge: seq.Map(matches[:min(len(matches), 100)], func(m knowledge.Match) hooks.Known {
			return hooks.Known{File: m.File, Title: m.Title, Tags: m.Tags}
		}),
	})
	told := q.Brief(entries, tokens)
	if out.Knowledge != nil {
		var chosen []knowledge.Match
		for _, file := range *out.Knowledge {
			i := slices.IndexFunc(entries, func(e knowledge.Entry) bool { return e.File == file })
			if i < 0 {
				r.bus.warn(t.ID, fmt.Sprintf("a hook on %s selected %q, which is no entry", hooks.KnowledgeSelected, file))
				continue
			}
			chosen = append(chosen, knowledge.Match{Entry: entries[i]})
		}
		told = knowledge.Render(chosen, tokens)
	}
	told.Task = strings.Join(human.Parts(told.Task, out.Inject), "\n\n")
	return told
}
