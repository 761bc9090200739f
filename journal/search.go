package journal

import "ralph/internal/db"

const searchSQL = `
SELECT ` + columns + ` FROM journal_fts f JOIN journal j ON j.n = f.rowid
WHERE journal_fts MATCH :query AND rank MATCH 'bm25(1.0, 2.0, 1.0)' ORDER BY rank LIMIT :limit;`

// maxSearched is how many words of a question count.
const maxSearched = 32

// Search returns the entries whose notes, title or reason hold every word of
// text, best first by bm25; if there is none, those that hold any. Text is words,
// never syntax. A limit of 0 means 20.
func Search(tx *db.Tx, text string, limit int) ([]Entry, error) {
	if limit <= 0 {
		limit = 20
	}
	var list []string
	for word := range words(text) {
		if list = append(list, word); len(list) == maxSearched {
			break
		}
	}
	if len(list) == 0 {
		return nil, nil
	}
	found, err := collect(tx, searchSQL, ":query", query(list, "AND"), ":limit", limit)
	if err != nil || len(found) > 0 || len(list) == 1 {
		return found, err
	}
	return collect(tx, searchSQL, ":query", query(list, "OR"), ":limit", limit)
}
