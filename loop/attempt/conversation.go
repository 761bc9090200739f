package attempt

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/internal/human"
	"ralph/internal/redact"
	"ralph/sigils"
)

// conversation is the session of the attempt's agent and what was said in it.
type conversation struct {
	session  *metered // nil until it is open
	thaw     func()   // lets it go on, while it stands still; nil while it does not
	scan     *sigils.Scanner
	kept     sigils.Set // from earlier rounds, in which the task was called done too early
	set      sigils.Set
	files    []string
	repaired []string // why gates refused the work in the session
	told     []string // the knowledge that the prompt had
	tools    Tools    // nil if the agent has none

	asks     *asking  // what its tools ask; nil if no one can be asked
	query    string   // what a person asks, and the agent answers in its turn; "" if it is not asked
	injected injected // by hooks, for the next prompt
	approved bool     // a person says that what the turn was cut for is what the task needs

	answer *redact.Writer // to the file; nil until something was said
	file   *os.File
	lost   error // why it has no more
}

// hear takes in a turn. Sigils are found in the text as it came; what is for records and
// prompts has no secrets. What was said is kept for the next attempt's prompt.
func (c *conversation) hear(ctx context.Context, turn acp.Turn, folder string, r *redact.Redactor) error {
	err := turn.Each(func(piece string, begins bool) {
		if c.answer == nil {
			c.file, c.lost = os.OpenFile(filepath.Join(folder, "answer.md"), os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
			c.answer = r.Writer(c.file)
		} else if begins {
			c.keep("\n")
		}
		if begins {
			c.scan.Break()
		}
		c.scan.Write(piece)
		c.keep(piece)
	})
	c.scan.Break()
	set := c.scan.Set()
	if c.tools != nil {
		set = set.Join(c.tools.Said(ctx))
	}
	set.Journal = strings.Join(human.Parts(c.kept.Journal, set.Journal), "\n\n")
	set.Knowledge = slices.Concat(c.kept.Knowledge, set.Knowledge)
	set.NextModel = cmp.Or(set.NextModel, c.kept.NextModel)
	set.MergeDropped = cmp.Or(set.MergeDropped, c.kept.MergeDropped)
	c.set = redact.Deep(r, set)
	c.files = append(c.files, turn.Files...)
	return err
}

func (c *conversation) keep(text string) {
	if c.lost == nil {
		_, c.lost = c.answer.Write([]byte(text))
	}
}

// nextRound closes a round: what was said in it about the task no longer counts,
// what was noted and learned stays.
func (c *conversation) nextRound(task string) {
	c.kept = sigils.Set{Journal: c.set.Journal, Knowledge: c.set.Knowledge, NextModel: c.set.NextModel, MergeDropped: c.set.MergeDropped}
	c.scan = sigils.NewScanner(task)
	if c.tools != nil {
		c.tools.Forget()
	}
}

// close ends the answer, and says why it is not whole.
func (c *conversation) close() error {
	if c.answer == nil {
		return nil
	}
	return cmp.Or(c.lost, c.answer.Close(), c.file.Close())
}
