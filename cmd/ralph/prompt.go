package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/event"
	"ralph/features"
	"ralph/internal/db"
	"ralph/internal/human"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/loop/attempt"
	"ralph/prompt"
)

var promptCommand = command{
	name: "prompt", args: "ID", short: "print the prompt that a task would get now",
	example: "ralph prompt 1f0c | less", exits: "3 not found", run: action(runPrompt),
}

func runPrompt(ctx context.Context, a *app, o plainOptions) error {
	s, err := a.openFor(ctx, db.Options{Conns: 2})
	if err != nil {
		return err
	}
	defer s.Close()
	t, err := look(ctx, s, func(g *dag.Graph) (dag.Task, error) { return g.Resolve(o.Args[0]) })
	if err != nil {
		return err
	}
	finder := a.finder(s.config)
	chosen, _ := finder.Choose("") // the prompt of one that is not installed can be shown, too
	opts := loop.Options{
		Graph: loop.Graph{Store: s.store}, Rules: loop.Rules{MaxRetries: s.config.Run.MaxRetries},
		Host: loop.Host{Now: a.now, Setup: event.Setup{Agent: chosen.Name}}, Agents: loop.Agents{Toolless: finder.Toolless},
		Place: loop.Place{Dir: s.project.Root, Runs: s.project.Runs(), Objects: s.project.Objects()}, Prompt: promptOptions(s),
	}
	text, err := loop.PromptOf(ctx, opts, t)
	if err != nil {
		return err
	}
	return written(fmt.Fprint(a.stdout, text))
}

// promptOptions are what prompts are made of besides the graph.
func promptOptions(s *session) loop.Prompt {
	j := s.config.Journal
	return loop.Prompt{
		Context: promptContext(s), Recall: journal.Options{Recent: j.Recent, Matches: j.Matches, Tokens: j.Tokens},
		Knowledge: knowledge.Open(s.project.Root), Tokens: s.config.Knowledge.Tokens, Extract: s.config.Knowledge.Extract,
	}
}

// promptContext reads the documents of a task's feature each time that it is called.
func promptContext(s *session) func(dag.Task) attempt.Sources {
	return func(t dag.Task) (c attempt.Sources) {
		if t.Feature != "" {
			folder := s.project.Feature(t.Feature)
			c.Spec = document(s.project.Root, filepath.Join(folder, "spec.md"))
			c.Plan = document(s.project.Root, filepath.Join(folder, "plan.md"))
		}
		c.Instructions = s.project.Instructions()
		return c
	}
}

// document reads a text file, or says in its place why it cannot be shown.
func document(root, path string) prompt.Document {
	text, err := features.ReadDocument(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return prompt.Document{}
	case err != nil:
		text = "(not shown: " + strings.TrimPrefix(err.Error(), features.ErrNoText.Error()+": ") + ")"
	}
	return prompt.Document{Text: text, From: human.Path(path, root)}
}
