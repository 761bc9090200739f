package wiring

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/loop/attempt"
	"ralph/prompt"
)

// OwnSections are what the project says in prompts. A run reads them once, before it begins: what an agent changes there is said
// to nobody.
func OwnSections(a *cli.App, p project.Project) (*prompt.Sections, error) {
	sections, _, faulty := ReadSections(p)
	if len(faulty) == 0 {
		return sections, nil
	}
	err := fmt.Errorf("%w: %w", project.ErrConfig, faulty[0])
	if len(faulty) > 1 {
		a.Note("%s of .ralph/prompts cannot be used; see all with: ralph doctor", human.Count(len(faulty), "file"))
	}
	return nil, cli.Blame(a, p, err)
}

// ReadSections reads what the project says in prompts, how many files that are, and what is wrong with others.
func ReadSections(p project.Project) (sections *prompt.Sections, used int, faulty []error) {
	files, faulty := p.PromptFiles()
	for _, f := range files {
		next, err := sections.With(f.Section, f.Name, f.Text)
		if err != nil {
			faulty = append(faulty, err)
			continue
		}
		sections, used = next, used+1
	}
	return sections, used, faulty
}

// LoopPrompt is what prompts are made of besides the graph.
func LoopPrompt(a *cli.App, s *cli.Session, sections *prompt.Sections) loop.Prompt {
	j := s.Config.Journal
	return loop.Prompt{
		Context: promptContext(a, s, sections), Recall: journal.Options{Recent: j.Recent, Matches: j.Matches, Tokens: j.Tokens},
		Knowledge: knowledge.Open(s.Project.Root), Tokens: s.Config.Knowledge.Tokens, Extract: s.Config.Knowledge.Extract,
	}
}

// promptContext reads the documents of a task's feature each time that it is called.
func promptContext(a *cli.App, s *cli.Session, sections *prompt.Sections) func(dag.Task) attempt.Sources {
	return func(t dag.Task) (c attempt.Sources) {
		c.Sections = sections
		if t.Feature != "" {
			folder := s.Project.Feature(t.Feature)
			c.Spec, c.SpecBy = document(s.Project.Root, filepath.Join(folder, "spec.md")), SpecWriter(a, s, t.Feature)
			c.Plan = document(s.Project.Root, filepath.Join(folder, "plan.md"))
		}
		c.Instructions = s.Project.Instructions()
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
