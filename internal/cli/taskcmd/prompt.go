package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/loop"
	"ralph/prompt"
)

// Prompt is the command "ralph prompt".
var Prompt = cli.Command{
	Name: "prompt", Args: "[ID|SECTION]", Short: "print the prompt that a task would get now, or write sections of it to files",
	Long: `A project can say sections of the prompts in its own words: in .ralph/prompts/SECTION.md. On stderr stands which sections
the prompt has from there. --eject writes ralph's own words there, of SECTION or of all, to begin with; it leaves what
exists as it is. See docs/prompts.md.`,
	Flags:   []cli.Flag{cli.Bool("eject", "write SECTION, or all of them, to .ralph/prompts"), cli.JSONFlag},
	Example: "ralph prompt 1f0c | less\nralph prompt --eject worker.rules", Exits: "1 the file exists, 3 not found", Run: cli.Action(runPrompt),
}

type promptOptions struct {
	Args        []string
	Eject, JSON bool
}

func (o *promptOptions) Parse(cli.CommandLine) error {
	if !o.Eject && len(o.Args) == 0 {
		return cli.Hint(cli.Usagef("ID is missing"), "usage: ralph prompt ID; or, to change prompts: ralph prompt --eject [SECTION]")
	}
	return nil
}

// PromptJSON is a prompt, and whose words it has.
type PromptJSON struct {
	Task     string        `json:"task"`
	Prompt   string        `json:"prompt"`
	Sections []SectionJSON `json:"sections"`
}

// SectionJSON is a part of a prompt.
type SectionJSON struct {
	Name string  `json:"name"`
	File *string `json:"file"`
}

func runPrompt(ctx context.Context, a *cli.App, o promptOptions) error {
	if o.Eject {
		return ejectPrompts(a, o)
	}
	s, err := a.OpenFor(ctx, db.Options{Conns: 2})
	if err != nil {
		return err
	}
	defer s.Close()
	t, err := cli.Read(ctx, s, func(g *dag.Graph) (dag.Task, error) { return g.Tasks.Resolve(o.Args[0]) })
	if err != nil {
		return err
	}
	sections, err := wiring.OwnSections(a, s.Project)
	if err != nil {
		return err
	}
	finder := a.Finder(s.Config)
	chosen, _ := finder.Choose("") // the prompt of one that is not installed can be shown, too
	opts := loop.Options{
		Graph: loop.Graph{Store: s.Store}, Rules: loop.Rules{MaxRetries: s.Config.Run.MaxRetries},
		Host: loop.Host{Now: a.Now, Setup: event.Setup{Agent: chosen.Name}}, Agents: loop.Agents{Toolless: finder.Toolless},
		Place: loop.Place{Dir: s.Project.Root, Runs: s.Project.Runs()}, Prompt: wiring.LoopPrompt(a, s, sections),
	}
	kind, text, err := loop.PromptOf(ctx, opts, t)
	if err != nil {
		return err
	}
	if o.JSON {
		return a.PrintJSON(PromptJSON{Task: t.ID, Prompt: text, Sections: seq.Map(sections.Of(kind), func(s prompt.Section) SectionJSON {
			if s.File == "" {
				return SectionJSON{Name: s.Name}
			}
			return SectionJSON{Name: s.Name, File: &s.File}
		})})
	}
	if err := cli.Written(fmt.Fprint(a.Stdout, text)); err != nil {
		return err
	}
	var builtin []string
	for _, s := range sections.Of(kind) {
		if s.File == "" {
			builtin = append(builtin, s.Name)
			continue
		}
		a.Note("%s: from %s", s.Name, s.File)
	}
	if len(builtin) > 0 {
		a.Note("%s: built in", strings.Join(builtin, ", "))
	}
	return nil
}

// ejectPrompts writes ralph's own words of sections to where the project's would be.
func ejectPrompts(a *cli.App, o promptOptions) error {
	p, err := a.FindProject()
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
			a.Note("%s exists and is left as it is", file)
		case errors.Is(err, fs.ErrExist):
			return cli.Hint(fmt.Errorf("%w: %s exists and is left as it is", dag.ErrRefused, file), "to see ralph's own words, move it away first")
		case err != nil:
			return fmt.Errorf("%w: %w", dag.ErrRefused, err)
		default:
			files = append(files, file)
		}
	}
	if len(files) > 0 && slices.Contains(p.Unadmitted(), "prompts/") {
		a.Note("warning: .ralph/.gitignore keeps them out of git; to share them: ralph init")
	}
	if o.JSON {
		return a.PrintJSON(EjectedJSON{Files: files})
	}
	return cli.Written(fmt.Fprint(a.Stdout, strings.Join(append(files, ""), "\n")))
}

// EjectedJSON lists the files that were written.
type EjectedJSON struct {
	Files []string `json:"files"`
}
