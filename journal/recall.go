package journal

import (
	"cmp"
	"maps"
	"slices"

	"ralph/internal/db"
	"ralph/internal/seq"
	"ralph/internal/words"
)

const (
	maxText       = 16 << 10 // bytes of a title or description that are looked at
	maxCandidates = 40       // words that are looked up
	maxTerms      = 3        // words that are searched for: each is a query of its own
	maxRows       = 30       // rows of each word that are considered, the newest
	spare         = 4        // rows that are ranked beyond those that are wanted
	commonShare   = 8        // a word in more than one of so many rows is too common
	leastCommon   = 20       // unless those are fewer than this
	manyRows      = 1000     // a word in more rows is searched for only if rarer ones brought little
	titleTimes    = 2        // a word of the title counts so often
)

// matches returns the entries that bm25 ranks first, newest first, the recent ones
// left out. FTS5's own ranking visits every row that holds a word, twice, so that a
// common word costs hundreds of times what a rare one does. Here it is asked for
// the newest rows of each of the rarest words only, which costs the same however
// long the journal is, and bm25 is computed for the most promising of those.
func matches(tx *db.Tx, q Query, recent []Entry, limit int) []Entry {
	terms := telling(tx, candidates(q.Title, q.Description))
	rows := promising(tx, terms, recent)
	list := best(read(tx, rows, min(limit, len(rows))+spare), terms, limit)
	slices.SortFunc(list, func(a, b Entry) int { return cmp.Compare(b.N, a.N) })
	return list
}

// candidates are the distinct words of a task, those of the title first.
func candidates(title, description string) []string {
	seen := map[string]bool{}
	var list []string
	for _, text := range []string{title, description} {
		for word := range words.All(text[:min(len(text), maxText)]) {
			if seen[word] || !words.Tells(word) {
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

// CROSS JOIN keeps SQLite from reading all words to find a few.
const docsSQL = `
SELECT value, docs, (SELECT max(n) FROM journal) - (SELECT min(n) FROM journal) + 1
FROM json_each(:words) CROSS JOIN journal_words ON word = value WHERE docs > 0;`

// telling returns the words that the journal knows and that are not all over it,
// the rarest few.
func telling(tx *db.Tx, list []string) (terms []words.Term) {
	for r := range tx.Rows(docsSQL, ":words", db.JSON(list)) {
		if t := (words.Term{Word: r.Text(), Docs: r.Int(), Rows: r.Int()}); t.Docs <= max(t.Rows/commonShare, leastCommon) {
			terms = append(terms, t)
		}
	}
	slices.SortStableFunc(terms, func(a, b words.Term) int { return cmp.Compare(a.Docs, b.Docs) })
	return terms[:min(len(terms), maxTerms)]
}

// A parameter behind a + is one whose value the planner does not look at. Otherwise
// SQLite prepares the statement again for each new value, which takes as long as a
// search.
const newestSQL = `
SELECT rowid FROM journal_fts WHERE journal_fts MATCH :query ORDER BY rowid DESC LIMIT +:limit;`

// promising returns the numbers of rows that hold terms, those that could score
// most first, the newer first among equals. The newest rows of a word that is in
// very many are a few of them, by chance: if rarer words brought enough rows, it is
// left to bm25 to see whether it is in those.
func promising(tx *db.Tx, terms []words.Term, recent []Entry) []int64 {
	could := make(map[int64]float64, len(terms)*maxRows)
	for _, t := range terms {
		if t.Docs > manyRows && len(could) >= maxRows {
			break
		}
		for r := range tx.Rows(newestSQL, ":query", query([]string{t.Word}, ""), ":limit", maxRows+len(recent)) {
			could[r.Int64()] += t.Weight()
		}
	}
	for _, e := range recent {
		delete(could, e.N)
	}
	return slices.SortedFunc(maps.Keys(could), func(a, b int64) int {
		return cmp.Or(cmp.Compare(could[b], could[a]), cmp.Compare(b, a))
	})
}

// A row without notes and reason says nothing that the graph does not say.
const readSQL = `
SELECT ` + columns + ` FROM journal j WHERE j.n = +:n AND (j.notes <> '' OR j.reason <> '');`

// read returns the first rows that say something.
func read(tx *db.Tx, rows []int64, limit int) (list []Entry) {
	for i := 0; i < len(rows) && len(list) < limit; i++ {
		found, _ := db.All(tx, readSQL, scan, ":n", rows[i])
		list = append(list, found...)
	}
	return list
}

// best returns the entries that bm25 ranks first, the newer among equals.
func best(list []Entry, terms []words.Term, limit int) []Entry {
	scores := words.Scores(seq.Map(list, func(e Entry) []words.Part {
		return []words.Part{{Text: e.Title, Times: titleTimes}, {Text: e.Notes, Times: 1}, {Text: e.Reason, Times: 1}}
	}), terms)
	score := make(map[int64]float64, len(list))
	for i, e := range list {
		score[e.N] = scores[i]
	}
	slices.SortFunc(list, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(score[b.N], score[a.N]), cmp.Compare(b.N, a.N))
	})
	return list[:min(len(list), limit)]
}
