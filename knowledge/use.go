package knowledge

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Use is how often an entry was part of a prompt, and what came of that.
type Use struct {
	Used int       // attempts whose prompt had it
	Done int       // of these, those that were done
	Idle int       // tasks in a row, up to now, that were not done with it
	At   time.Time // the last time
}

const (
	maxIdle = 5
	rest    = 30 * 24 * time.Hour
	unused  = 90 * 24 * time.Hour
)

// Faded says that an entry is left out of prompts: the last five tasks that had it were not done. After a month it is
// tried again.
func (u Use) Faded(now time.Time) bool { return u.Idle >= maxIdle && now.Sub(u.At) < rest }

// unused says that no prompt has had an entry for three months, as far as is known. Whatever else matches comes before it.
func (e *Entry) unused(u Use, now time.Time) bool {
	last := e.CreatedAt
	if u.At.After(last) {
		last = u.At
	}
	return !last.IsZero() && now.Sub(last) > unused
}

// Sum is what the uses of an entry are counted by: its title and its text, wherever its file is. One that says something
// else starts over.
func (e *Entry) Sum() string {
	sum := sha256.Sum256([]byte(e.key + "\n" + e.Body))
	return hex.EncodeToString(sum[:8])
}
