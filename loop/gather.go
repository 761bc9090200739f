package loop

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/strategy"
)

// Context is what a prompt takes from files, read anew for each attempt.
type Context struct {
	Spec, Plan   prompt.Document
	Instructions []string // names of files such as AGENTS.md
}

// gather chooses the model and makes the prompt, which is kept beside the transcript.
func (a *attempt) gather(ctx context.Context) (string, error) {
	in, changed, offered := a.ledger.guide(a.worker)
	in.Kind, in.Model, in.Pinned, in.Iteration = a.opts.Strategy, a.opts.Model, a.claim.Task.Model, a.iteration
	in.Task, in.Retries, in.Above = a.claim.Task.ID, a.claim.Task.Retries, a.above
	_, share, err := a.judgeSpending(ctx)
	if err != nil {
		return "", err
	}
	in.Used = share
	a.choice = strategy.Next(in)
	if a.opts.Modelless != nil && a.opts.Modelless(a.worker) {
		a.choice = strategy.Choice{}
	}
	if a.substitute() != "" && a.choice.Tier == "" && a.choice.Model != "" {
		a.choice.Reason += "; but that is another agent's name for it, so " + a.worker + " has its own choice"
		a.choice.Model = ""
	}
	input, warnings, err := gather(ctx, a.opts, a.run.ID, a.claim.Task, Scene{Git: a.before, Changed: changed})
	if err != nil {
		return "", err
	}
	for _, w := range warnings {
		a.bus.warnOnce(w.File, w.String())
	}
	input.Models = models(offered)
	text := a.opts.Redact.Text(prompt.Build(input))
	return text, os.WriteFile(filepath.Join(a.folder, "prompt.md"), []byte(text), 0o600)
}

// Scene is where a task finds the project.
type Scene struct {
	Git     git.State
	Changed []string // files that were worked on lately
}

// Gather collects all that the prompt of a task is made of, within a run or, with
// an empty ID, before one.
func Gather(ctx context.Context, opts Options, run string, t dag.Task, scene Scene) (prompt.Input, error) {
	in, _, err := gather(ctx, opts, run, t, scene) // what cannot be read is told by: ralph knowledge lint
	return in, err
}

func gather(ctx context.Context, opts Options, run string, t dag.Task, scene Scene) (prompt.Input, []knowledge.Warning, error) {
	in := prompt.Input{Task: prompt.Task{ID: t.ID, Title: t.Title, Description: t.Description}, Inert: sigils.Inert}
	var last dag.Attempt
	err := opts.Store.View(context.WithoutCancel(ctx), func(g *dag.Graph) (err error) {
		if last, err = gatherGraph(g, t, &in, opts); err != nil {
			return err
		}
		selected, err := journal.Select(g.Tx(), journal.Query{Run: run, Title: t.Title, Description: t.Description}, opts.Recall)
		in.Journal = prompt.Document{Text: selected.Text(), From: "ralph journal list"}
		return err
	})
	if err != nil {
		return in, nil, err
	}
	if opts.Context != nil {
		c := opts.Context(t)
		in.Spec, in.Plan, in.Instructions = c.Spec, c.Plan, c.Instructions
	}
	warnings := recall(opts, t, scene.Changed, &in)
	in.Previous = previous(opts.Folder, last)
	// Whatever an attempt that did not finish left behind is the next one's to look at.
	unfinished := last.ID != "" && last.Outcome != event.AttemptDone
	if state := scene.Git; state.Known {
		in.Git = &prompt.Git{Branch: state.Branch, Head: state.Head, Uncommitted: slices.Clone(state.Uncommitted)}
		if unfinished {
			in.Git.Uncommitted = append(in.Git.Uncommitted, git.UncommittedInside(ctx, opts.Dir, state)...)
		}
	}
	in.Interrupted = unfinished && (last.Outcome == event.AttemptInterrupted || in.Git != nil && len(in.Git.Uncommitted) > 0)
	return in, warnings, nil
}

// gatherGraph reads what the graph knows and returns the last attempt.
func gatherGraph(g *dag.Graph, t dag.Task, in *prompt.Input, opts Options) (last dag.Attempt, err error) {
	if t.Parent != "" {
		p, err := g.Task(t.Parent)
		if err != nil {
			return last, err
		}
		in.Parent = &prompt.Task{ID: p.ID, Title: p.Title, Description: p.Description}
	}
	blockers, err := g.Blockers(t)
	if err != nil {
		return last, err
	}
	for _, b := range blockers {
		if b.Status != dag.Done {
			continue
		}
		summary, err := summaryOf(g, b)
		if err != nil {
			return last, err
		}
		in.Prerequisites = append(in.Prerequisites, prompt.Prerequisite{ID: b.ID, Title: b.Title, Summary: summary})
	}
	if t.Retries > 0 {
		limit := opts.MaxRetries
		if t.MaxRetries != nil {
			limit = *t.MaxRetries
		}
		if opts.Retries != nil {
			limit = *opts.Retries
		}
		reason, err := g.LastFailure(t)
		if err != nil {
			return last, err
		}
		in.Retry = &prompt.Retry{Attempt: t.Retries, Max: limit, Reason: reason}
	}
	logs, err := g.Logs(t)
	if err != nil {
		return last, err
	}
	var said []string
	for _, l := range logs {
		if l.Kind == dag.LogUser {
			said = append(said, l.Text)
		}
	}
	in.Guidance = strings.Join(said, "\n\n")
	attempts, err := g.Attempts(t)
	for _, at := range attempts {
		if !at.EndedAt.IsZero() {
			last = at
		}
	}
	return last, err
}

// summaryOf is what the agent that finished a task noted, or else its description.
func summaryOf(g *dag.Graph, t dag.Task) (string, error) {
	entries, err := journal.List(g.Tx(), journal.Filter{Task: t.ID, Outcome: event.AttemptDone, Limit: 1})
	if err != nil || len(entries) == 0 || entries[0].Notes == "" {
		return t.Description, err
	}
	return entries[0].Notes, nil
}

// previousSize is how much of an earlier answer is read; the prompt cuts further.
const previousSize = 64 << 10

// previous reads the end of what the last attempt said.
func previous(folder string, last dag.Attempt) prompt.Document {
	if last.ID == "" || folder == "" || last.Outcome == event.AttemptDone {
		return prompt.Document{}
	}
	path := filepath.Join(folder, last.Run, last.ID, "answer.md")
	data, err := os.ReadFile(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return prompt.Document{}
		}
		return prompt.Document{Text: "(" + err.Error() + ")", From: path}
	}
	if len(data) > previousSize {
		data = data[len(data)-previousSize:]
	}
	return prompt.Document{Text: strings.ToValidUTF8(string(data), "?"), From: path}
}

// why says what decided about a model, and what would have been chosen otherwise.
func why(c strategy.Choice) string {
	switch {
	case c.Overrode != "":
		return c.Reason + ", instead of " + c.Overrode
	case c.Uncapped != "":
		return c.Reason + ", instead of " + c.Uncapped
	default:
		return c.Reason
	}
}

// maxModels is how many names of models a prompt offers.
const maxModels = 20

// models lists what a hint may name: the tiers, and what the agent offered the last
// time it ran. Nil leaves it to the prompt.
func models(offered []string) []string {
	if len(offered) == 0 {
		return nil
	}
	names := []string{}
	for _, tier := range strategy.Tiers() {
		names = append(names, string(tier))
	}
	for _, name := range offered {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names[:min(len(names), maxModels)]
}
