package journal

import (
	"cmp"
	"encoding/json"
	"slices"
	"unicode/utf8"

	"zombiezen.com/go/sqlite"

	"ralph/internal/db"
)

// Query is what a prompt wants to remember for.
type Query struct {
	Run                string // whose last entries come first; empty before a run
	Title, Description string // of the task; any text whatever
}

// Options tune a selection. Zero means the default; less than zero means none.
type Options struct {
	Recent  int // the last entries of the run: 5
	Matches int // earlier entries that speak of the same things: 5
	Tokens  int // all of it, rendered, at four bytes a token: 3,000
}

func (o Options) withDefaults() Options {
	for value, standard := range map[*int]int{&o.Recent: 5, &o.Matches: 5, &o.Tokens: 3000} {
		if *value == 0 {
			*value = standard
		}
		*value = max(*value, 0)
	}
	return o
}

// Selection is what a prompt remembers: entries whose rendering keeps to the
// budget, newest first, none of them twice.
type Selection struct {
	Recent  []Entry // the last of this run
	Matches []Entry // earlier ones of any run, found by their words
	LeftOut int     // chosen too, but the budget was spent on newer ones

	room int // bytes that Text may take
}

// Select chooses what to remember for a task: the last entries of the run, and of
// all others those that bm25 ranks first among the rows with the task's telling
// words. It does not fail because of any text.
func Select(tx *db.Tx, q Query, opts Options) (Selection, error) {
	opts = opts.withDefaults()
	s := Selection{room: opts.Tokens * bytesPerToken}
	var err error
	if q.Run != "" && opts.Recent > 0 {
		if s.Recent, err = collect(tx, recentSQL, ":run", q.Run, ":limit", opts.Recent); err != nil {
			return Selection{}, err
		}
	}
	if s.Matches, err = matches(tx, q, s.Recent, opts.Matches); err != nil {
		return Selection{}, err
	}
	slices.SortFunc(s.Matches, func(a, b Entry) int { return cmp.Compare(b.N, a.N) })
	s.fit()
	return s, nil
}

// A row without notes and reason says nothing that the graph does not say. FTS5
// hands out rows in the order asked for, so that the limit ends the work.
const (
	rankedSQL = matchSQL + ` AND rank MATCH 'bm25(1.0, 2.0, 1.0)' ORDER BY rank LIMIT :limit;`
	newestSQL = matchSQL + ` ORDER BY f.rowid DESC LIMIT :limit;`
	matchSQL  = `
SELECT ` + columns + ` FROM journal_fts f JOIN journal j ON j.n = f.rowid
WHERE journal_fts MATCH :query AND f.rowid > :since
    AND NOT (j.run = :run AND j.n >= :shown) AND (j.notes <> '' OR j.reason <> '')`
)

// matches returns what bm25 ranks first, the recent entries left out.
func matches(tx *db.Tx, q Query, recent []Entry, limit int) ([]Entry, error) {
	if limit == 0 {
		return nil, nil
	}
	list, err := telling(tx, candidates(q.Title, q.Description))
	if err != nil || len(list) == 0 {
		return nil, err
	}
	run, shown := "", int64(0)
	if len(recent) > 0 {
		run, shown = q.Run, recent[len(recent)-1].N
	}
	p, err := plan(tx, list)
	if err != nil || len(p.words) == 0 {
		return nil, err
	}
	return collect(tx, p.sql, ":query", query(p.words, "OR"), ":since", p.since, ":run", run, ":shown", shown, ":limit", limit)
}

const (
	maxText       = 16 << 10 // bytes of a title or description that are looked at
	maxCandidates = 40       // words that are looked up
	maxTerms      = 3        // words that are searched for: each costs about as much as one bare query
	maxDocs       = 600      // rows that may hold them, all in all
	maxScored     = 40       // rows that should be ranked
	commonShare   = 8        // a word in more than one of so many rows tells nothing
)

// candidates are the distinct words of a task, those of the title first.
func candidates(title, description string) []string {
	seen := map[string]bool{}
	var list []string
	for _, text := range []string{title, description} {
		for word := range words(text[:min(len(text), maxText)]) {
			if seen[word] || utf8.RuneCountInString(word) < 2 {
				continue
			}
			seen[word] = true
			if list = append(list, word); len(list) == maxCandidates {
				return list
			}
		}
	}
	return list
}

// term is a word and how many rows hold it.
type term struct {
	word string
	docs int
}

// CROSS JOIN keeps SQLite from reading all words to find a few.
const docsSQL = `
SELECT value, docs FROM json_each(:words) CROSS JOIN journal_words ON word = value WHERE docs > 0;`

// telling returns the words that the journal knows, rarest first.
func telling(tx *db.Tx, list []string) (terms []term, err error) {
	asked, err := json.Marshal(list)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	err = tx.Each(docsSQL, func(stmt *sqlite.Stmt) error {
		terms = append(terms, term{stmt.ColumnText(0), stmt.ColumnInt(1)})
		return nil
	}, ":words", string(asked))
	slices.SortStableFunc(terms, func(a, b term) int { return a.docs - b.docs })
	return terms, err
}

// search is a query whose cost does not grow with the journal.
type search struct {
	words []string
	sql   string
	since int64 // the row after which to look
}

const extentSQL = `SELECT coalesce((SELECT min(n) FROM journal), 0), coalesce((SELECT max(n) FROM journal), 0);`

// plan takes the rarest words that can be afforded. Of their rows about maxScored,
// the newest, are ranked. If even the rarest is in too many rows to be ranked,
// the newest of those are taken as they come.
func plan(tx *db.Tx, terms []term) (search, error) {
	p := search{sql: rankedSQL}
	docs := 0
	for _, t := range terms[:min(len(terms), maxTerms)] {
		if docs+t.docs > maxDocs {
			break
		}
		docs += t.docs
		p.words = append(p.words, t.word)
	}
	if len(p.words) > 0 && docs <= maxScored {
		return p, nil
	}
	var first, last int64
	err := tx.Each(extentSQL, func(stmt *sqlite.Stmt) error {
		first, last = stmt.ColumnInt64(0), stmt.ColumnInt64(1)
		return nil
	})
	rows := last - first + 1
	switch {
	case len(p.words) > 0:
		p.since = last - rows*maxScored/int64(docs)
	case int64(terms[0].docs) <= rows/commonShare:
		p.words, p.sql = []string{terms[0].word}, newestSQL
	}
	return p, err
}
