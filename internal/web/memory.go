package web

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/render"
	"ralph/internal/seq"
	"ralph/journal"
	"ralph/knowledge"
)

// journalPage is what iterations did, the newest first, or those that match words.
type journalPage struct {
	Query   string
	Entries []journalEntry
	More    int // how many to show next; 0 if that is all
}

type journalEntry struct {
	journal.Entry
	Word, Mark, Class string
}

const journalShown = 50

func loadJournal(v *visit) (any, error) {
	q := v.URL.Query()
	n, _ := strconv.Atoi(q.Get("n"))
	limit := min(max(n, journalShown), 1000)
	p := journalPage{Query: q.Get("q")}
	var entries []journal.Entry
	var err error
	if strings.TrimSpace(p.Query) != "" {
		entries, err = journal.Search(v.g.Tx(), p.Query, limit+1)
	} else {
		entries, err = journal.List(v.g.Tx(), journal.Filter{Task: q.Get("task"), Run: q.Get("run"), Limit: limit + 1})
		slices.Reverse(entries)
	}
	if err != nil {
		return nil, err
	}
	if len(entries) > limit {
		entries, p.More = entries[:limit], limit+journalShown
	}
	for _, e := range entries {
		word, tone := render.Attempt(e.Outcome, "")
		p.Entries = append(p.Entries, journalEntry{e, word, tone.Sign(), toneClass(tone)})
	}
	return p, nil
}

// knowledgePage is what the project has learned, what matches words of it, or one entry.
type knowledgePage struct {
	Query    string
	Entries  []lesson
	One      *lesson
	New      lesson
	Warnings []knowledge.Warning
}

// lesson is an entry, and how often it was of use.
type lesson struct {
	knowledge.Entry
	Used, Href string
}

const lessonsShown = 500

func loadKnowledge(v *visit) (any, error) {
	p := knowledgePage{Query: strings.TrimSpace(v.URL.Query().Get("q"))}
	uses, err := v.g.History.KnowledgeUses()
	if err != nil {
		return nil, err
	}
	entries, warnings := knowledge.Open(v.project.Root).Load()
	p.Warnings = warnings
	show := func(e knowledge.Entry) lesson {
		l := lesson{Entry: e, Href: "/knowledge/" + url.PathEscape(e.Title)}
		if u := uses[e.Sum()]; u.Used > 0 {
			l.Used = fmt.Sprintf("used %d, done %d", u.Used, u.Done)
		}
		return l
	}
	if title := v.PathValue("title"); title != "" {
		e, err := knowledge.Find(entries, title)
		if errors.Is(err, knowledge.ErrNotFound) {
			err = fmt.Errorf("%w: %w", dag.ErrNotFound, err)
		}
		one := show(e)
		p.One = &one
		return p, err
	}
	if p.Query != "" {
		entries = knowledge.Search(entries, p.Query)
	}
	p.Entries = seq.Map(entries[:min(len(entries), lessonsShown)], show)
	return p, nil
}
