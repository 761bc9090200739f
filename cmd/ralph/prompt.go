package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/loop/attempt"
	"ralph/prompt"
)

var promptCommand = command{
	name: "prompt", args: "[ID|SECTION]", short: "print the prompt that a task would get now, or write sections of it to files",
	long: `A project can say sections of the prompts in its own words: in .ralph/prompts/SECTION.md. On stderr stands which sections
the prompt has from there. --eject writes ralph's own words there, of SECTION or of all, to begin with; it leaves what
exists as it is. See docs/prompts.md.`,
	flags:   []flagSpec{boolFlag("eject", "write SECTION, or all of them, to .ralph/prompts"), jsonFlag},
	example: "ralph prompt 1f0c | less\nralph prompt --eject worker.rules", exits: "1 the file exists, 3 not found", run: action(runPrompt),
}

type promptOptions struct {
	Args        []string
	Eject, JSON bool
}

func (o *promptOptions) parse(commandLine) error {
	if !o.Eject && len(o.Args) == 0 {
		return hint(usagef("ID is missing"), "usage: ralph prompt ID; or, to change prompts: ralph prompt --eject [SECTION]")
	}
	return nil
}

// promptJSON is a prompt, and whose words it has.
type promptJSON struct {
	Task     string        `json:"task"`
	Prompt   string        `json:"prompt"`
	Sections []sectionJSON `json:"sections"`
}

type sectionJSON struct {
	Name string  `json:"name"`
	File *string `json:"file"`
}

func runPrompt(ctx context.Context, a *app, o promptOptions) error {
	if o.Eject {
		return ejectPrompts(a, o)
	}
	s, err := a.openFor(ctx, db.Options{Conns: 2})
	if err != nil {
		return err
	}
	defer s.Close()
	t, err := look(ctx, s, func(g *dag.Graph) (dag.Task, error) { return g.Tasks.Resolve(o.Args[0]) })
	if err != nil {
		return err
	}
	sections, err := ownSections(a, s.project)
	if err != nil {
		return err
	}
	finder := a.finder(s.config)
	chosen, _ := finder.Choose("") // the prompt of one that is not installed can be shown, too
	opts := loop.Options{
		Graph: loop.Graph{Store: s.store}, Rules: loop.Rules{MaxRetries: s.config.Run.MaxRetries},
		Host: loop.Host{Now: a.now, Setup: event.Setup{Agent: chosen.Name}}, Agents: loop.Agents{Toolless: finder.Toolless},
		Place: loop.Place{Dir: s.project.Root, Runs: s.project.Runs()}, Prompt: loopPrompt(a, s, sections),
	}
	kind, text, err := loop.PromptOf(ctx, opts, t)
	if err != nil {
		return err
	}
	if o.JSON {
		return a.printJSON(promptJSON{Task: t.ID, Prompt: text, Sections: seq.Map(sections.Of(kind), func(s prompt.Section) sectionJSON {
			if s.File == "" {
				return sectionJSON{Name: s.Name}
			}
			return sectionJSON{Name: s.Name, File: &s.File}
		})})
	}
	if err := written(fmt.Fprint(a.stdout, text)); err != nil {
		return err
	}
	var builtin []string
	for _, s := range sections.Of(kind) {
		if s.File == "" {
			builtin = append(builtin, s.Name)
			continue
		}
		a.note("%s: from %s", s.Name, s.File)
	}
	if len(builtin) > 0 {
		a.note("%s: built in", strings.Join(builtin, ", "))
	}
	return nil
}

// ejectPrompts writes ralph's own words of sections to where the project's would be.
func ejectPrompts(a *app, o promptOptions) error {
	p, err := a.findProject()
	if err != nil {
		return err
	}
	names := o.Args
	if len(names) == 0 {
		names = prompt.SectionNames()
	}
	files := []string{}
	for _, name := range names {
		name = strings.TrimSuffix(name, ".md")
		text, err := prompt.SectionText(name)
		if err != nil {
			return err
		}
		err = p.WritePrompt(name, text)
		switch file := project.PromptName(name); {
		case errors.Is(err, fs.ErrExist) && len(o.Args) == 0:
			a.note("%s exists and is left as it is", file)
		case errors.Is(err, fs.ErrExist):
			return hint(fmt.Errorf("%w: %s exists and is left as it is", dag.ErrRefused, file), "to see ralph's own words, move it away first")
		case err != nil:
			return fmt.Errorf("%w: %w", dag.ErrRefused, err)
		default:
			files = append(files, file)
		}
	}
	if len(files) > 0 && slices.Contains(p.Unadmitted(), "prompts/") {
		a.note("warning: .ralph/.gitignore keeps them out of git; to share them: ralph init")
	}
	if o.JSON {
		return a.printJSON(ejectedJSON{Files: files})
	}
	return written(fmt.Fprint(a.stdout, strings.Join(append(files, ""), "\n")))
}

// ejectedJSON lists the files that were written.
type ejectedJSON struct {
	Files []string `json:"files"`
}

// ownSections are what the project says in prompts. A run reads them once, before it begins: what an agent changes there is said
// to nobody.
func ownSections(a *app, p project.Project) (*prompt.Sections, error) {
	sections, _, faulty := readSections(p)
	if len(faulty) == 0 {
		return sections, nil
	}
	err := fmt.Errorf("%w: %w", project.ErrConfig, faulty[0])
	if len(faulty) > 1 {
		a.note("%s of .ralph/prompts cannot be used; see all with: ralph doctor", human.Count(len(faulty), "file"))
	}
	return nil, blame(a, p, err)
}

// readSections reads what the project says in prompts, how many files that are, and what is wrong with others.
func readSections(p project.Project) (sections *prompt.Sections, used int, faulty []error) {
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

// loopPrompt is what prompts are made of besides the graph.
func loopPrompt(a *app, s *session, sections *prompt.Sections) loop.Prompt {
	j := s.config.Journal
	return loop.Prompt{
		Context: promptContext(a, s, sections), Recall: journal.Options{Recent: j.Recent, Matches: j.Matches, Tokens: j.Tokens},
		Knowledge: knowledge.Open(s.project.Root), Tokens: s.config.Knowledge.Tokens, Extract: s.config.Knowledge.Extract,
	}
}

// promptContext reads the documents of a task's feature each time that it is called.
func promptContext(a *app, s *session, sections *prompt.Sections) func(dag.Task) attempt.Sources {
	return func(t dag.Task) (c attempt.Sources) {
		c.Sections = sections
		if t.Feature != "" {
			folder := s.project.Feature(t.Feature)
			c.Spec, c.SpecBy = document(s.project.Root, filepath.Join(folder, "spec.md")), specWriter(a, s, t.Feature)
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
