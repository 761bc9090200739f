package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/db"
	"ralph/internal/git"
	"ralph/internal/project"
	"ralph/internal/term"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/prompt"
	"ralph/strategy"
)

func (a *app) promptCommand() command {
	return command{
		name: "prompt", args: "ID", short: "print the prompt that a task would get now",
		example: "ralph prompt 1f0c | less", exits: "3 not found",
		run: a.runPrompt,
	}
}

func (a *app) runPrompt(c *cli.Context) error {
	typed, err := one(c, "ID")
	if err != nil {
		return err
	}
	s, err := a.openFor(c, db.Options{Conns: 2})
	if err != nil {
		return err
	}
	defer s.Close()
	var t dag.Task
	err = s.store.View(c.Context, func(g *dag.Graph) (err error) { t, err = g.Resolve(typed); return lookUpHint(err) })
	if err != nil {
		return err
	}
	opts := loop.Options{
		Store: s.store, MaxRetries: s.config.Run.MaxRetries, Dir: s.project.Root, Now: a.now,
		Folder: filepath.Join(s.project.State(), "runs"), Context: a.promptContext(s),
		Recall: recallOptions(s.config), Known: knowledge.Open(s.project.Root), Tokens: orNone(s.config.Knowledge.Tokens),
	}
	in, err := loop.Gather(c.Context, opts, "", t, loop.Scene{Git: git.Look(c.Context, opts.Dir)})
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.stdout, prompt.Build(in))
	return err
}

// promptContext reads the documents of a task's feature, anew each time.
func (a *app) promptContext(s *session) func(dag.Task) loop.Context {
	return func(t dag.Task) loop.Context {
		var c loop.Context
		if t.Feature != "" {
			folder := s.project.Feature(t.Feature)
			c.Spec = document(s.project.Root, filepath.Join(folder, "spec.md"))
			c.Plan = document(s.project.Root, filepath.Join(folder, "plan.md"))
		}
		c.Instructions = instructions(s.project.Root)
		return c
	}
}

// document reads a text file, or says in its place why it cannot be shown.
func document(root, path string) prompt.Document {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return prompt.Document{}
	}
	from, err := filepath.Rel(root, path)
	if err != nil {
		from = path
	}
	if info.Size() > features.MaxDocument {
		return prompt.Document{Text: fmt.Sprintf("(not shown: the file has %d MB)", info.Size()>>20), From: from}
	}
	data, err := os.ReadFile(path)
	switch {
	case err != nil:
		return prompt.Document{Text: "(not shown: " + err.Error() + ")", From: from}
	case strings.ContainsRune(string(data), 0):
		return prompt.Document{Text: "(not shown: the file is not text)", From: from}
	}
	return prompt.Document{Text: strings.ToValidUTF8(string(data), "?"), From: from}
}

// dryRun shows what a run would do first.
func (a *app) dryRun(c *cli.Context, s *session, opts loop.Options) error {
	var ready []dag.Task
	var tally dag.Tally
	err := s.store.View(c.Context, func(g *dag.Graph) (err error) {
		if tally, err = g.Tally(opts.Scope); err != nil {
			return err
		}
		ready, err = a.readyIn(g, opts.Scope)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "scope    %s: %s\nagent    %s\nlimits   %s\nverify   %s\n\n", opts.Setup.Scope, summary(tally), opts.Setup.Agent, opts.Setup.Limits, opts.Setup.Verify)
	if len(ready) == 0 {
		_, err := fmt.Fprintln(a.stdout, "nothing is ready; see what waits with: ralph status")
		return err
	}
	fmt.Fprintln(a.stdout, "would run, in this order, before anything else becomes ready:")
	for i, t := range ready {
		choice := strategy.Next(strategy.Input{Kind: opts.Strategy, Model: opts.Model, Pinned: t.Model, Iteration: i + 1, Task: t.ID, Retries: t.Retries})
		model := choice.Model
		switch {
		case opts.Modelless(cmp.Or(t.Agent, opts.Setup.Agent)):
			model = "no model"
		case model == "":
			model = "the agent's own model"
		}
		fmt.Fprintf(a.stdout, "  %s  %s  %s\n", t.ID, model, term.Line(t.Title))
	}
	in, err := loop.Gather(c.Context, opts, "", ready[0], loop.Scene{Git: git.Look(c.Context, opts.Dir)})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "\nthe first prompt:\n\n%s", prompt.Build(in))
	return err
}

// readyIn lists what is ready in a scope, in the order of claims.
func (a *app) readyIn(g *dag.Graph, scope dag.Scope) ([]dag.Task, error) {
	ready, err := g.List(dag.Filter{Ready: true, Feature: scope.Feature})
	if err != nil || scope.Task == "" {
		return ready, err
	}
	root, err := g.Task(scope.Task)
	if err != nil {
		return nil, err
	}
	inside, err := below(g, root)
	if err != nil {
		return nil, err
	}
	within := map[string]bool{}
	for _, t := range inside {
		within[t.ID] = true
	}
	var list []dag.Task
	for _, t := range ready {
		if within[t.ID] {
			list = append(list, t)
		}
	}
	return list, nil
}

// recallOptions are how much of the journal a prompt may show.
func recallOptions(config project.Loaded) journal.Options {
	j := config.Journal
	return journal.Options{Recent: orNone(j.Recent), Matches: orNone(j.Matches), Tokens: orNone(j.Tokens)}
}

// orNone turns a configured 0, which means none, into what the journal takes for it.
func orNone(n int) int {
	if n == 0 {
		return -1
	}
	return n
}
