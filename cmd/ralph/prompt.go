package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/db"
	"ralph/internal/project"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/prompt"
)

func (a *app) promptCommand() command {
	return command{
		name: "prompt", args: "ID", short: "print the prompt that a task would get now",
		example: "ralph prompt 1f0c | less", exits: "3 not found",
		run: a.runPrompt,
	}
}

func (a *app) runPrompt(c *cli.Context) error {
	typed, err := oneArg(c, "ID")
	if err != nil {
		return err
	}
	s, err := a.openFor(c.Context, db.Options{Conns: 2})
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
		Graph: loop.Graph{Store: s.store}, Rules: loop.Rules{MaxRetries: s.config.Run.MaxRetries}, Host: loop.Host{Now: a.now},
		Place: loop.Place{Dir: s.project.Root, Runs: filepath.Join(s.project.State(), "runs")}, Prompt: a.promptOptions(s),
	}
	in, err := loop.Gather(c.Context, opts, "", t)
	if err != nil {
		return err
	}
	_, err = fmt.Fprint(a.stdout, prompt.Build(in))
	return err
}

// promptOptions are what prompts are made of besides the graph.
func (a *app) promptOptions(s *session) loop.Prompt {
	return loop.Prompt{
		Context: a.promptContext(s), Recall: recallOptions(s.config),
		Knowledge: knowledge.Open(s.project.Root), Tokens: orNone(s.config.Knowledge.Tokens),
	}
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
		c.Instructions = s.project.Instructions()
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
