package main

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/redact"
	"ralph/internal/term"
	"ralph/knowledge"
)

func (a *app) knowledgeCommand() command {
	named := []cli.Flag{jsonFlag()}
	return command{
		name: "knowledge", short: "look at, add to and tidy what the project has learned",
		example: `ralph knowledge add "Use the staging server" --tag deploy -d "It resets every night."`, exits: "1 refused, 3 not found",
		sub: []command{
			{
				name: "list", bare: true, short: "list all entries", flags: named,
				example: "ralph knowledge list", run: a.runKnowledgeList,
			},
			{
				name: "show", args: "TITLE", short: "show an entry, by its title or how it begins", flags: named,
				example: "ralph knowledge show staging", exits: "3 not found", run: a.runKnowledgeShow,
			},
			{
				name: "search", args: "WORD...", short: "find entries by words of their titles, tags and texts", flags: named,
				example: "ralph knowledge search staging server", run: a.runKnowledgeSearch,
			},
			{
				name: "add", args: "TITLE", short: "add an entry, or update the one that says the same",
				flags: []cli.Flag{
					&cli.StringFlag{Name: "description", Aliases: []string{"d"}, Usage: "`TEXT`, @FILE, or - for stdin: what to know"},
					&cli.StringSliceFlag{Name: "tag", Usage: "`WORD` that makes it match a task; repeatable"},
					&cli.StringFlag{Name: "feature", Usage: "`F` that it belongs to"},
					jsonFlag(),
				},
				example: `ralph knowledge add "Use the staging server" --tag deploy -d @note.md`, exits: "1 refused",
				run: a.runKnowledgeAdd,
			},
			{
				name: "rm", args: "TITLE", short: "delete an entry's file",
				example: "ralph knowledge rm staging", exits: "3 not found", run: a.runKnowledgeRm,
			},
			{
				name: "lint", short: "find broken links, duplicates, oversize and unreadable entries", flags: named,
				example: "ralph knowledge lint", exits: "1 something was found", run: a.runKnowledgeLint,
			},
		},
	}
}

type knowledgeJSON struct {
	Title     string   `json:"title"`
	Tags      []string `json:"tags"`
	Feature   *string  `json:"feature"`
	Kind      string   `json:"kind"`
	Body      string   `json:"body"`
	File      string   `json:"file"`
	Task      *string  `json:"task"`
	Run       *string  `json:"run"`
	CreatedAt *string  `json:"created_at"`
}

func knowledgeAsJSON(e knowledge.Entry) knowledgeJSON {
	return knowledgeJSON{
		Title: e.Title, Tags: orEmpty(e.Tags), Feature: orNil(e.Feature), Kind: string(e.Kind), Body: e.Body,
		File: path.Join(knowledge.Folder, e.File), Task: orNil(e.Task), Run: orNil(e.Run), CreatedAt: timeOrNil(e.CreatedAt),
	}
}

// knowing opens the store of the project and tells what could not be read.
func (a *app) knowing() (*knowledge.Store, []knowledge.Entry, error) {
	p, err := a.findProject()
	if err != nil {
		return nil, nil, err
	}
	store := knowledge.Open(p.Root)
	entries, warnings := store.Load()
	for _, w := range warnings {
		a.note("warning: %s", w)
	}
	return store, entries, nil
}

func (a *app) runKnowledgeList(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	_, entries, err := a.knowing()
	if err != nil {
		return err
	}
	return a.printKnowledge(c, entries, "nothing is known yet; agents add entries, and so does: ralph knowledge add")
}

func (a *app) runKnowledgeSearch(c *cli.Context) error {
	if c.NArg() == 0 {
		return usagef("WORD is missing")
	}
	_, entries, err := a.knowing()
	if err != nil {
		return err
	}
	return a.printKnowledge(c, knowledge.Search(entries, strings.Join(c.Args().Slice(), " ")), "no entry speaks of that")
}

func (a *app) printKnowledge(c *cli.Context, entries []knowledge.Entry, none string) error {
	if c.Bool("json") {
		list := []knowledgeJSON{}
		for _, e := range entries {
			list = append(list, knowledgeAsJSON(e))
		}
		return a.printJSON(list)
	}
	if len(entries) == 0 {
		a.note("%s", none)
		return nil
	}
	p := a.palette()
	t := &term.Table{Width: a.width}
	for _, e := range entries {
		t.Add(term.Cell{Text: e.Title, Paint: p.Bold}, term.Cell{Text: string(e.Kind), Paint: p.Dim}, term.Cell{Text: strings.Join(e.Tags, ", ")})
	}
	_, err := t.WriteTo(a.stdout)
	return err
}

func (a *app) runKnowledgeShow(c *cli.Context) error {
	name, err := oneArg(c, "TITLE")
	if err != nil {
		return err
	}
	_, entries, err := a.knowing()
	if err != nil {
		return err
	}
	e, err := knowledge.Find(entries, name)
	if err != nil {
		return knowledgeError(err)
	}
	if c.Bool("json") {
		return a.printJSON(knowledgeAsJSON(e))
	}
	p := a.palette()
	fmt.Fprintf(a.stdout, "%s\n", p.Bold(term.Line(e.Title)))
	for _, f := range [][2]string{
		{"kind", string(e.Kind)},
		{"tags", strings.Join(e.Tags, ", ")},
		{"feature", e.Feature},
		{"learned in", strings.TrimSpace(e.Task + " " + e.Run)},
		{"file", path.Join(knowledge.Folder, e.File)},
	} {
		if f[1] != "" {
			fmt.Fprintf(a.stdout, "  %-10s %s\n", f[0], term.Line(f[1]))
		}
	}
	if !e.CreatedAt.IsZero() {
		fmt.Fprintf(a.stdout, "  %-10s %s\n", "created", e.CreatedAt.Local().Format(time.DateTime))
	}
	_, err = fmt.Fprintf(a.stdout, "\n%s\n", strings.TrimSpace(term.Block(e.Body)))
	return err
}

func (a *app) runKnowledgeAdd(c *cli.Context) error {
	title, err := oneArg(c, "TITLE")
	if err != nil {
		return err
	}
	body, err := a.readText(c.String("description"))
	if err != nil {
		return err
	}
	if strings.TrimSpace(body) == "" {
		return hint(usagef("there is nothing to know in it"), "say it with -d TEXT")
	}
	store, _, err := a.knowing()
	if err != nil {
		return err
	}
	r, err := store.Write(redact.Deep(a.redact, knowledge.Entry{
		Title: title, Tags: c.StringSlice("tag"), Feature: c.String("feature"), Body: body, CreatedAt: a.now().UTC(), Kind: knowledge.Lesson,
	}))
	if err != nil {
		return fmt.Errorf("%w: %w", dag.ErrRefused, err)
	}
	if c.Bool("json") {
		return a.printJSON(knowledgeAsJSON(r.Entry))
	}
	if _, err := fmt.Fprintln(a.stdout, path.Join(knowledge.Folder, r.File)); err != nil {
		return err
	}
	if r.Updated {
		a.note("updated: %s", r.Title)
	}
	if r.Cut {
		a.note("warning: cut to %d words", knowledge.MaxWords)
	}
	return nil
}

func (a *app) runKnowledgeRm(c *cli.Context) error {
	name, err := oneArg(c, "TITLE")
	if err != nil {
		return err
	}
	store, _, err := a.knowing()
	if err != nil {
		return err
	}
	e, err := store.Remove(name)
	if err != nil {
		return knowledgeError(err)
	}
	a.note("deleted: %s", e.Title)
	return nil
}

type problemJSON struct {
	File   string  `json:"file"`
	Title  *string `json:"title"`
	Rule   string  `json:"rule"`
	Detail string  `json:"detail"`
}

func (a *app) runKnowledgeLint(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	p, err := a.findProject()
	if err != nil {
		return err
	}
	problems := knowledge.Open(p.Root).Lint()
	if c.Bool("json") {
		list := []problemJSON{}
		for _, p := range problems {
			list = append(list, problemJSON{p.File, orNil(p.Title), p.Rule, p.Detail})
		}
		if err := a.printJSON(list); err != nil {
			return err
		}
	} else {
		for _, p := range problems {
			fmt.Fprintln(a.stdout, term.Line(fmt.Sprintf("%s: %s: %s", p.File, p.Rule, p.Detail)))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("knowledge: %w: %s found", dag.ErrRefused, human.Count(len(problems), "problem"))
	}
	a.note("nothing to tidy")
	return nil
}

// knowledgeError gives the store's errors the exit statuses of others like them.
func knowledgeError(err error) error {
	var ambiguous *knowledge.AmbiguousError
	switch {
	case errors.Is(err, knowledge.ErrNotFound):
		return hint(fmt.Errorf("%w: %w", dag.ErrNotFound, err), "see the titles with: ralph knowledge list")
	case errors.As(err, &ambiguous):
		return fmt.Errorf("%w: %w", dag.ErrAmbiguous, err)
	default:
		return err
	}
}
