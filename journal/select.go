package journal

import "ralph/internal/db"

// Query is what a prompt wants to remember for.
type Query struct {
	Run                string // whose last entries come first; empty before a run
	Title, Description string // of the task; any text
}

// Options bound a selection.
type Options struct {
	Recent  int // the last entries of the run
	Matches int // earlier entries that speak of the same things
	Tokens  int // all of it, rendered, at four bytes a token
}

// Selection is what a prompt remembers: entries whose rendering keeps to the
// budget, newest first, none of them twice.
type Selection struct {
	Recent  []Entry // the last of this run
	Matches []Entry // earlier ones of any run, found by their words
	LeftOut int     // chosen too, but older than what is shown

	text string
}

const recentSQL = `SELECT ` + columns + ` FROM journal j WHERE run = +:run ORDER BY n DESC LIMIT +:limit;`

// Select chooses what to remember for a task: the last entries of the run, and of
// all others those that bm25 ranks first for the task's telling words. It does not
// fail because of any text.
func Select(tx *db.Tx, q Query, opts Options) (Selection, error) {
	var s Selection
	if q.Run != "" && opts.Recent > 0 {
		s.Recent, _ = db.All(tx, recentSQL, scan, ":run", q.Run, ":limit", opts.Recent)
	}
	if opts.Matches > 0 {
		s.Matches = matches(tx, q, s.Recent, opts.Matches)
	}
	s.fit(opts.Tokens*bytesPerToken, opts.Recent)
	return s, tx.Err()
}
