package attempt

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/internal/redact"
	"ralph/sigils"
)

// conversation is the session of the attempt's agent and what was said in it.
type conversation struct {
	session *metered // nil until it is open
	scan    *sigils.Scanner
	kept    sigils.Set // from earlier rounds, in which the task was called done too early
	set     sigils.Set
	answer  []string
	files   []string
}

// hear takes in a turn. Sigils are found in the text as it came; what they hold is for
// records and prompts, and so has no secrets.
func (c *conversation) hear(turn acp.Turn, r *redact.Redactor) {
	for i, segment := range turn.Segments {
		if i > 0 {
			c.scan.Break()
		}
		c.scan.Write(segment)
	}
	c.scan.Break()
	set := c.scan.Set()
	set.Journal = joinNotes(c.kept.Journal, set.Journal)
	set.Knowledge = slices.Concat(c.kept.Knowledge, set.Knowledge)
	set.NextModel = cmp.Or(set.NextModel, c.kept.NextModel)
	c.set = redact.Deep(r, set)
	c.answer = append(c.answer, turn.Segments...)
	c.files = append(c.files, turn.Files...)
}

// nextRound closes a round: what was said in it about the task no longer counts,
// what was noted and learned stays.
func (c *conversation) nextRound(task string) {
	c.kept = sigils.Set{Journal: c.set.Journal, Knowledge: c.set.Knowledge, NextModel: c.set.NextModel}
	c.scan = sigils.NewScanner(task)
}

func joinNotes(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "\n\n" + b
}

// keep stores what the agent said, for the next attempt's prompt.
func (c *conversation) keep(folder string, r *redact.Redactor) error {
	if len(c.answer) == 0 {
		return nil
	}
	return os.WriteFile(filepath.Join(folder, "answer.md"), []byte(r.Text(strings.Join(c.answer, "\n"))), 0o600)
}
