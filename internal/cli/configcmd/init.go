package configcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/db"
	"ralph/internal/git"
	"ralph/internal/jsonval"
	"ralph/internal/project"
)

// Init is the command "ralph init".
var Init = cli.Command{
	Name: "init", Short: "make this folder a ralph project; running it again changes nothing",
	Long: `Writes .ralph.toml, .ralph/ and its ignore rules, with the test command and the agent that
it finds here: the first that is installed, else ralph's own with the key in ANTHROPIC_API_KEY or OPENAI_API_KEY,
else ralph's own with a model server on this machine (Ollama, LM Studio, vLLM, llama.cpp), which it asks for its models.
On a terminal it asks which agent and which gates to use, and Enter takes what it proposes: the agent above, and what go.mod,
package.json, pyproject.toml, Cargo.toml, a Makefile or CI say about checks. What a flag says is not asked.
It runs each gate once, for at most ten seconds, and warns of one that cannot start.`,
	Flags: []cli.Flag{
		{Name: "agent", Usage: "use the agent called `NAME`, or the command that starts one; none: write none"},
		{Name: "gate", Usage: "check work with `COMMAND`; can be repeated; none: have no gates", Value: []string{}},
		cli.Bool("yes", "ask nothing: use the agent and the test command that are found"),
		cli.Bool("git", "let git merge plan files by task: add a line to .gitattributes, and a setting to this clone"),
		cli.JSONFlag,
	},
	Example: "ralph init\nralph init --agent claude --gate \"go test ./...\" --gate \"make lint\"\nralph init --git",
	Exits:   "1 refused (a folder that cannot be written, or inside another project), 5 no such agent",
	Run:     cli.Action(runInit),
}

type initOptions struct {
	Git, JSON, Yes bool
	Agent          *string
	Gate           []string
}

func runInit(ctx context.Context, a *cli.App, o initOptions) error {
	dir, err := initDir(a, o.Git)
	if err != nil {
		return err
	}
	found, here := project.Found{}, foundAgent{}
	if tests := project.DetectTests(dir); tests != "" {
		found.Gates = []string{tests}
	}
	detected := found.Gates
	if _, err := os.Stat(project.Project{Root: dir}.Config()); err == nil { // it says which
		if o.Agent != nil || len(o.Gate) > 0 {
			return cli.Hint(fmt.Errorf("%w: %s is a ralph project already", dag.ErrRefused, dir), "change its agent and its gates in .ralph.toml")
		}
		if found, err = foundIn(a, project.Project{Root: dir}, found); err != nil {
			return err
		}
	} else if err := tryWriting(dir); err != nil {
		return err
	} else if here, err = o.choose(ctx, a, dir, &found); err != nil {
		return err
	}
	p, written, err := project.Create(dir, found)
	switch {
	case errors.Is(err, project.ErrConfig):
		return err
	case errors.Is(err, syscall.ENOSPC):
		return &db.Error{Path: dir, Kind: db.Full, Err: err}
	case err != nil:
		return &db.Error{Path: dir, Kind: db.ReadOnly, Err: err}
	}
	created := len(written) > 0
	admitted, err := p.Admit()
	if err != nil {
		return &db.Error{Path: p.State(), Kind: db.ReadOnly, Err: err}
	}
	if admitted {
		written = append(written, filepath.Join(p.State(), ".gitignore"))
	}
	d, err := dag.Open(ctx, p.DB(), db.Options{})
	if err != nil {
		return err
	}
	if err := d.Close(); err != nil {
		return err
	}
	var driver []string
	if o.Git {
		driver, err = features.Driver().Install(ctx, p.Root)
		if errors.Is(err, git.ErrUnknown) {
			return cli.Hint(fmt.Errorf("%w: %s is in no git repository, so there is nothing that merges plans", dag.ErrRefused, p.Root), "make one with: git init; then the same command again")
		}
		if err != nil {
			return fmt.Errorf("%w: let git merge plans: %w", dag.ErrRefused, err)
		}
	}
	if slices.Contains(driver, "attribute") {
		written = append(written, filepath.Join(p.Root, ".gitattributes"))
	}
	if o.JSON {
		return a.PrintJSON(jsonval.Object{"root", p.Root, "written", written, "agent", cli.Null(cmp.Or(found.Agent, found.Command)), "credential", cli.Null(here.Credential), "model", cli.Null(found.Model), "models", jsonval.List(here.Models), "tests", cli.Null(strings.Join(found.Gates, "; "))})
	}
	switch {
	case created:
		a.Note("%s is now a ralph project", p.Root)
		a.Note("  agent: %s", here.words(cmp.Or(found.Agent, found.Command)))
		if label := "tests"; len(found.Gates) > 0 {
			if !slices.Equal(found.Gates, detected) {
				label = "gates"
			}
			a.Note("  %s: %s", label, strings.Join(found.Gates, "; "))
		}
		if err := wiring.NoteUnstartable(ctx, a, p); err != nil {
			return err
		}
	case admitted:
		a.Note("git may carry all of the plan now; commit .ralph/.gitignore")
	case len(driver) == 0:
		a.Note("%s is already a ralph project; nothing was changed", p.Root)
	}
	if len(driver) > 0 {
		a.Note("git merges plan files by task; commit .gitattributes, and run this in every other clone: ralph init --git")
	}
	if created {
		a.Note(`next: ralph task add "TITLE"`)
	}
	return nil
}

// tryWriting finds out before any question whether a project can be made in a folder, or in the one in which that would be made.
func tryWriting(dir string) error {
	for filepath.Dir(dir) != dir {
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			break
		}
		dir = filepath.Dir(dir)
	}
	f, err := os.CreateTemp(dir, ".ralph-*")
	if err == nil {
		return errors.Join(f.Close(), os.Remove(f.Name()))
	}
	if errors.Is(err, syscall.ENOSPC) {
		return &db.Error{Path: dir, Kind: db.Full, Err: err}
	}
	if at := new(os.PathError); errors.As(err, &at) {
		err = at.Err // the name of the file would say nothing
	}
	return cli.Hint(fmt.Errorf("%w: the folder %s cannot be written: %w", dag.ErrRefused, dir, err), "make the project in another one: ralph init --project FOLDER")
}

// foundIn is what a configuration that was there before says: it counts, and not what was found.
func foundIn(a *cli.App, p project.Project, found project.Found) (project.Found, error) {
	config, err := a.LoadConfig(p.Config())
	if err != nil {
		return found, err
	}
	finder := a.Finder(config)
	if set := finder.Configured(); set != "" {
		preset, _ := finder.Preset(set)
		found.Agent = cmp.Or(preset.Name, set)
	}
	found.Gates = config.Verify.Commands
	return found, nil
}

// initDir refuses to make a project inside another one by accident. What git is to do is a matter of the outer one.
func initDir(a *cli.App, git bool) (string, error) {
	if dir := a.Dir; dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := a.Getwd()
	if err != nil {
		return "", cli.NoFolder(err)
	}
	outer, err := project.Find(dir)
	switch {
	case errors.Is(err, project.ErrConfig):
		return "", err
	case err == nil && git:
		if outer.Root != dir {
			a.Note("this folder is in the project %s", outer.Root)
		}
		return outer.Root, nil
	case err == nil && outer.Root != dir:
		err := fmt.Errorf("%w: this folder is in the project %s", dag.ErrRefused, outer.Root)
		return "", cli.Hint(err, "to make one here anyway: ralph init --project .")
	}
	return dir, nil
}
