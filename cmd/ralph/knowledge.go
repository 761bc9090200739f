package main

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/redact"
	"ralph/internal/term"
	"ralph/knowledge"
	"ralph/loop"
)

var knowledgeCommand = command{
	name: "knowledge", short: "show, add and clean up what the project has learned",
	example: `ralph knowledge add "Use the staging server" --tag deploy -d "It resets every night."`, exits: "1 refused, 3 not found",
	sub: []command{
		{
			name: "list", bare: true, short: "list all entries", flags: []flagSpec{jsonFlag},
			example: "ralph knowledge list", run: withEntries(runKnowledgeList),
		},
		{
			name: "show", args: "TITLE", short: "show an entry, by its title or how it begins", flags: []flagSpec{jsonFlag},
			example: "ralph knowledge show staging", exits: "3 not found", run: withEntries(runKnowledgeShow),
		},
		{
			name: "search", args: "WORD...", short: "find entries by words of their titles, tags and texts", flags: []flagSpec{jsonFlag},
			example: "ralph knowledge search staging server", run: withEntries(runKnowledgeList),
		},
		{
			name: "add", args: "TITLE", short: "add an entry, or update the one that says the same",
			flags: []flagSpec{
				{name: "description", short: "d", usage: "`TEXT`, @FILE, or - for stdin: what to know"},
				{name: "tag", value: []string{}, usage: "`WORD` that makes it match a task; repeatable"},
				{name: "feature", usage: "`FEATURE` that it belongs to"},
				jsonFlag,
			},
			example: `ralph knowledge add "Use the staging server" --tag deploy -d @note.md`, exits: "1 refused",
			run: withEntries(runKnowledgeAdd),
		},
		{
			name: "rm", args: "TITLE", short: "delete an entry's file",
			example: "ralph knowledge rm staging", exits: "3 not found", run: withEntries(runKnowledgeRm),
		},
		{
			name: "lint", short: "find broken links, duplicates, oversized and unreadable entries", flags: []flagSpec{jsonFlag},
			example: "ralph knowledge lint", exits: "1 something was found", run: withEntries(runKnowledgeLint),
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
		"title", e.Title, "tags", e.Tags, "feature", null(e.Feature), "kind", e.Kind, "body", e.Body, "file", path.Join(knowledge.Folder, e.File),
		"task", null(e.Task), "run", null(e.Run), "created_at", e.CreatedAt,
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
func withEntries[O any](run func(*app, library, O) error) runner {
	return action(func(ctx context.Context, a *app, o O) error {
		p, err := a.findProject()
		if err != nil {
			return err
		}
		l := library{Store: knowledge.Open(p.Root), now: a.now()}
		entries, warnings := l.Load()
		for _, w := range warnings {
			a.note("warning: %s", w)
		}
		if l.entries = entries; len(entries) > 0 {
			l.uses = knowledgeUses(ctx, a)
		}
		return run(a, l, o)
	})
}

// knowledgeUses are the counts, if they can be read: entries are files, and are of use without.
func knowledgeUses(ctx context.Context, a *app) map[string]knowledge.Use {
	s, err := a.open(ctx)
	if err != nil {
		return nil
	}
	defer s.Close()
	uses, err := loop.KnowledgeUses(ctx, s.store)
	if err != nil {
		return nil
	}
	return uses
}

// runKnowledgeList lists all entries, or those that match the words.
func runKnowledgeList(a *app, l library, o plainOptions) error {
	entries, none := l.entries, "there are no entries yet; agents add them, and you can with: ralph knowledge add"
	if len(o.Args) > 0 {
		entries, none = knowledge.Search(entries, strings.Join(o.Args, " ")), "no entry matches"
	}
	p := a.palette()
	return printList(a, entries, o.JSON, l.asJSON, none, nil, func(e knowledge.Entry) []term.Cell {
		return []term.Cell{{Text: e.Title, Paint: p.Bold}, {Text: string(e.Kind), Paint: p.Dim}, {Text: strings.Join(e.Tags, ", ")}, {Text: l.used(e), Paint: p.Dim}}
	})
}

func runKnowledgeShow(a *app, l library, o plainOptions) error {
	e, err := knowledge.Find(l.entries, o.Args[0])
	if err != nil {
		return err
	}
	if o.JSON {
		return a.printJSON(l.asJSON(e))
	}
	fields := a.fieldLines("kind", string(e.Kind), "tags", strings.Join(e.Tags, ", "), "feature", e.Feature,
		"learned in", strings.TrimSpace(e.Task+" "+e.Run), "file", path.Join(knowledge.Folder, e.File), "created", stamp(e.CreatedAt), "used", strings.TrimPrefix(l.used(e), "used "))
	return written(fmt.Fprintf(a.stdout, "%s\n%s\n%s\n", a.palette().Bold(term.Line(e.Title)), fields, strings.TrimSpace(term.Block(e.Body))))
}

type knowledgeAddOptions struct {
	plainOptions
	Tag                  []string
	Feature, Description string // TEXT, @FILE or -
}

func runKnowledgeAdd(a *app, l library, o knowledgeAddOptions) error {
	body, err := readText(a, o.Description)
	if err != nil {
		return err
	}
	if strings.TrimSpace(body) == "" {
		return hint(usagef("the text is empty"), "give it with -d TEXT")
	}
	e := knowledge.Entry{Title: o.Args[0], Tags: o.Tag, Feature: o.Feature, Body: body, Kind: knowledge.Lesson, CreatedAt: a.now().UTC()}
	r, err := l.Write(redact.Deep(a.redact, e))
	if err != nil {
		return fmt.Errorf("%w: %w", dag.ErrRefused, err)
	}
	if o.JSON {
		return a.printJSON(l.asJSON(r.Entry))
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

func runKnowledgeRm(a *app, l library, o plainOptions) error {
	e, err := l.Remove(o.Args[0])
	if err != nil {
		return err
	}
	a.note("deleted: %s", e.Title)
	return nil
}

func runKnowledgeLint(a *app, l library, o plainOptions) (err error) {
	list, text := []jsonval.Object{}, ""
	for _, p := range l.Lint() {
		list = append(list, jsonval.Object{"file", p.File, "title", null(p.Title), "rule", p.Rule, "detail", p.Detail})
		text += term.Line(fmt.Sprintf("%s: %s: %s", p.File, p.Rule, p.Detail)) + "\n"
	}
	if o.JSON {
		err = a.printJSON(list)
	} else {
		_, err = fmt.Fprint(a.stdout, text)
	}
	switch {
	case err != nil:
		return err
	case len(list) > 0:
		return fmt.Errorf("knowledge: %w: %s found", dag.ErrRefused, human.Count(len(list), "problem"))
	}
	a.note("no problem found")
	return nil
}
