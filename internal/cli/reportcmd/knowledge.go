package reportcmd

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/redact"
	"ralph/internal/term"
	"ralph/knowledge"
	"ralph/loop"
)

// Knowledge is the command "ralph knowledge".
var Knowledge = cli.Command{
	Name: "knowledge", Short: "show, add and clean up what the project has learned",
	Example: `ralph knowledge add "Use the staging server" --tag deploy -d "It resets every night."`, Exits: "1 refused, 3 not found",
	Sub: []cli.Command{
		{
			Name: "list", Bare: true, Short: "list all entries", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph knowledge list", Run: withEntries(runKnowledgeList),
		},
		{
			Name: "show", Args: "TITLE", Short: "show an entry, by its title or how it begins", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph knowledge show staging", Exits: "3 not found", Run: withEntries(runKnowledgeShow),
		},
		{
			Name: "search", Args: "WORD...", Short: "find entries by words of their titles, tags and texts", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph knowledge search staging server", Run: withEntries(runKnowledgeList),
		},
		{
			Name: "add", Args: "TITLE", Short: "add an entry, or update the one that says the same",
			Flags: []cli.Flag{
				{Name: "description", Short: "d", Usage: "`TEXT`, @FILE, or - for stdin: what to know"},
				{Name: "tag", Value: []string{}, Usage: "`WORD` that makes it match a task; repeatable"},
				{Name: "feature", Usage: "`FEATURE` that it belongs to"},
				cli.JSONFlag,
			},
			Example: `ralph knowledge add "Use the staging server" --tag deploy -d @note.md`, Exits: "1 refused",
			Run: withEntries(runKnowledgeAdd),
		},
		{
			Name: "rm", Args: "TITLE", Short: "delete an entry's file",
			Example: "ralph knowledge rm staging", Exits: "3 not found", Run: withEntries(runKnowledgeRm),
		},
		{
			Name: "lint", Short: "find broken links, duplicates, oversized and unreadable entries", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph knowledge lint", Exits: "1 something was found", Run: withEntries(runKnowledgeLint),
		},
	},
}

// library is the project's entries, and how often each was used.
type library struct {
	*knowledge.Store
	entries []knowledge.Entry
	uses    map[string]knowledge.Use // nil if that is not known, as within a sandbox
	now     time.Time
}

func (l library) asJSON(e knowledge.Entry) jsonval.Object {
	used := jsonval.Object{"used", nil, "done", nil, "used_at", nil, "faded", nil}
	if l.uses != nil {
		u := l.uses[e.Sum()]
		used = jsonval.Object{"used", u.Used, "done", u.Done, "used_at", u.At, "faded", u.Faded(l.now)}
	}
	return append(jsonval.Object{
		"title", e.Title, "tags", e.Tags, "feature", cli.Null(e.Feature), "kind", e.Kind, "body", e.Body, "file", path.Join(knowledge.Folder, e.File),
		"task", cli.Null(e.Task), "run", cli.Null(e.Run), "created_at", e.CreatedAt,
	}, used...)
}

// used says how often an entry was used, and with what result.
func (l library) used(e knowledge.Entry) string {
	u := l.uses[e.Sum()]
	switch {
	case u.Used == 0:
		return ""
	case u.Faded(l.now):
		return fmt.Sprintf("used %d, done %d, faded", u.Used, u.Done)
	}
	return fmt.Sprintf("used %d, done %d", u.Used, u.Done)
}

// withEntries makes a command of a function that works with the project's entries, and warns about those that cannot be read.
func withEntries[O any](run func(*cli.App, library, O) error) cli.Runner {
	return cli.Action(func(ctx context.Context, a *cli.App, o O) error {
		p, err := a.FindProject()
		if err != nil {
			return err
		}
		l := library{Store: knowledge.Open(p.Root), now: a.Now()}
		entries, warnings := l.Load()
		for _, w := range warnings {
			a.Note("warning: %s", w)
		}
		if l.entries = entries; len(entries) > 0 {
			l.uses = knowledgeUses(ctx, a)
		}
		return run(a, l, o)
	})
}

// knowledgeUses are the counts, if they can be read: entries are files, and are of use without.
func knowledgeUses(ctx context.Context, a *cli.App) map[string]knowledge.Use {
	s, err := a.Open(ctx)
	if err != nil {
		return nil
	}
	defer s.Close()
	uses, err := loop.KnowledgeUses(ctx, s.Store)
	if err != nil {
		return nil
	}
	return uses
}

// runKnowledgeList lists all entries, or those that match the words.
func runKnowledgeList(a *cli.App, l library, o cli.PlainOptions) error {
	entries, none := l.entries, "there are no entries yet; agents add them, and you can with: ralph knowledge add"
	if len(o.Args) > 0 {
		entries, none = knowledge.Search(entries, strings.Join(o.Args, " ")), "no entry matches"
	}
	p := a.Palette()
	return cli.PrintList(a, entries, o.JSON, l.asJSON, none, nil, func(e knowledge.Entry) []term.Cell {
		return []term.Cell{{Text: e.Title, Paint: p.Bold}, {Text: string(e.Kind), Paint: p.Dim}, {Text: strings.Join(e.Tags, ", ")}, {Text: l.used(e), Paint: p.Dim}}
	})
}

func runKnowledgeShow(a *cli.App, l library, o cli.PlainOptions) error {
	e, err := knowledge.Find(l.entries, o.Args[0])
	if err != nil {
		return err
	}
	if o.JSON {
		return a.PrintJSON(l.asJSON(e))
	}
	fields := a.FieldLines("kind", string(e.Kind), "tags", strings.Join(e.Tags, ", "), "feature", e.Feature,
		"learned in", strings.TrimSpace(e.Task+" "+e.Run), "file", path.Join(knowledge.Folder, e.File), "created", cli.Stamp(e.CreatedAt), "used", strings.TrimPrefix(l.used(e), "used "))
	return cli.Written(fmt.Fprintf(a.Stdout, "%s\n%s\n%s\n", a.Palette().Bold(term.Line(e.Title)), fields, strings.TrimSpace(term.Block(e.Body))))
}

type knowledgeAddOptions struct {
	cli.PlainOptions
	Tag                  []string
	Feature, Description string // TEXT, @FILE or -
}

func runKnowledgeAdd(a *cli.App, l library, o knowledgeAddOptions) error {
	body, err := cli.ReadText(a, o.Description)
	if err != nil {
		return err
	}
	if strings.TrimSpace(body) == "" {
		return cli.Hint(cli.Usagef("the text is empty"), "give it with -d TEXT")
	}
	e := knowledge.Entry{Title: o.Args[0], Tags: o.Tag, Feature: o.Feature, Body: body, Kind: knowledge.Lesson, CreatedAt: a.Now().UTC()}
	r, err := l.Write(redact.Deep(a.Redact, e))
	if err != nil {
		return fmt.Errorf("%w: %w", dag.ErrRefused, err)
	}
	if o.JSON {
		return a.PrintJSON(l.asJSON(r.Entry))
	}
	if _, err := fmt.Fprintln(a.Stdout, path.Join(knowledge.Folder, r.File)); err != nil {
		return err
	}
	if r.Updated {
		a.Note("updated: %s", r.Title)
	}
	if r.Cut {
		a.Note("warning: cut to %d words", knowledge.MaxWords)
	}
	return nil
}

func runKnowledgeRm(a *cli.App, l library, o cli.PlainOptions) error {
	e, err := l.Remove(o.Args[0])
	if err != nil {
		return err
	}
	a.Note("deleted: %s", e.Title)
	return nil
}

func runKnowledgeLint(a *cli.App, l library, o cli.PlainOptions) (err error) {
	list, text := []jsonval.Object{}, ""
	for _, p := range l.Lint() {
		list = append(list, jsonval.Object{"file", p.File, "title", cli.Null(p.Title), "rule", p.Rule, "detail", p.Detail})
		text += term.Line(fmt.Sprintf("%s: %s: %s", p.File, p.Rule, p.Detail)) + "\n"
	}
	if o.JSON {
		err = a.PrintJSON(list)
	} else {
		_, err = fmt.Fprint(a.Stdout, text)
	}
	switch {
	case err != nil:
		return err
	case len(list) > 0:
		return fmt.Errorf("knowledge: %w: %s found", dag.ErrRefused, human.Count(len(list), "problem"))
	}
	a.Note("no problem found")
	return nil
}
