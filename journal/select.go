package journal

import "ralph/internal/db"

// Query is what a prompt wants to remember for.
type Query struct {
	Run                string // whose last entries come first; empty before a run
	Title, Description string // of the task; any text
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

	text string
}

const recentSQL = `SELECT ` + columns + ` FROM journal j WHERE run = +:run ORDER BY n DESC LIMIT +:limit;`

// Select chooses what to remember for a task: the last entries of the run, and of
// all others those that bm25 ranks first for the task's telling words. It does not
// fail because of any text.
func Select(tx *db.Tx, q Query, opts Options) (Selection, error) {
	opts = opts.withDefaults()
	var s Selection
	if q.Run != "" && opts.Recent > 0 {
		s.Recent, _ = db.All(tx, recentSQL, scan, ":run", q.Run, ":limit", opts.Recent)
	}
	if opts.Matches > 0 {
		s.Matches = matches(tx, q, s.Recent, opts.Matches)
	}
	s.fit(opts.Tokens * bytesPerToken)
	return s, tx.Err()
}
