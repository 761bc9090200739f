package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/sigils"
	"ralph/strategy"
)

// learned is what an attempt wants later agents to know, as settling stores it.
// The files are written afterwards, from what is stored, so that a crash between
// the two neither loses nor tears anything.
func learned(said []sigils.Knowledge, outcome event.AttemptOutcome, of knowledge.Entry) (string, error) {
	if len(said) == 0 {
		return "", nil
	}
	of.Kind = knowledge.Lesson
	if outcome.Trouble() {
		of.Kind = knowledge.Failure
	}
	entries := make([]knowledge.Entry, len(said))
	for i, k := range said {
		entries[i] = of
		entries[i].Title, entries[i].Tags, entries[i].Body = k.Title, k.Tags, k.Body
	}
	b, err := json.Marshal(entries)
	return string(b), err
}

// WriteKnowledge writes to files what settled attempts have learned, if that was not done
// yet. Writing the same twice changes nothing, so a crash in the middle is repaired by doing
// it again. What cannot be written stays stored. Report, which may be nil, is told of each entry and why it was not written.
func WriteKnowledge(ctx context.Context, store *dag.Store, known *knowledge.Store, report func(attempt string, e knowledge.Entry, err error)) error {
	var unwritten []dag.Unwritten
	err := store.View(ctx, func(g *dag.Graph) (err error) { unwritten, err = g.History.Unwritten(); return err })
	if err != nil {
		return err
	}
	for _, u := range unwritten {
		var entries []knowledge.Entry
		if err := json.Unmarshal([]byte(u.JSON), &entries); err != nil {
			return fmt.Errorf("attempt %s: %w", u.Attempt, err)
		}
		if !writeEntries(known, u.Attempt, entries, report) {
			continue // it is tried again after the next attempt
		}
		if err := store.Update(ctx, func(g *dag.Graph) error { return g.History.Written(u.Attempt) }); err != nil {
			return err
		}
	}
	return nil
}

func writeEntries(known *knowledge.Store, attempt string, entries []knowledge.Entry, report func(attempt string, e knowledge.Entry, err error)) bool {
	for _, e := range entries {
		_, err := known.Write(e)
		if report != nil {
			report(attempt, e, err)
		}
		if err != nil && !errors.Is(err, knowledge.ErrInvalid) {
			return false
		}
	}
	return true
}

// learnt reports an entry that was written, or why it was not.
func (r *Runner) learnt(attempt string, e knowledge.Entry, err error) {
	switch {
	case err == nil:
		r.bus.emit(event.Event{Type: event.Learned, Task: e.Task, Attempt: attempt, Text: e.Title})
	case errors.Is(err, knowledge.ErrInvalid):
		r.bus.warn(e.Task, "an entry was dropped: "+err.Error())
	default:
		r.bus.warn(e.Task, "not written yet: "+err.Error())
	}
}

// writeKnowledge is for one worker at a time: of two, the later must not write what the
// earlier read.
func (r *Runner) writeKnowledge(ctx context.Context) error {
	if r.opts.Prompt.Knowledge == nil {
		return nil
	}
	r.writing.Lock()
	defer r.writing.Unlock()
	return WriteKnowledge(ctx, r.opts.Graph.Store, r.opts.Prompt.Knowledge, r.learnt)
}

// KnowledgeUses are the uses of the project's entries, by their sums.
func KnowledgeUses(ctx context.Context, store *dag.Store) (map[string]knowledge.Use, error) {
	var stored map[string]dag.KnowledgeUse
	err := store.View(ctx, func(g *dag.Graph) (err error) { stored, err = g.History.KnowledgeUses(); return err })
	uses := make(map[string]knowledge.Use, len(stored))
	for sum, u := range stored {
		uses[sum] = knowledge.Use(u)
	}
	return uses, err
}

// countUses counts once what the prompt of an attempt had, when its work is accepted or not. What is only given back, or
// waits for verification or for a person, says nothing about it yet.
func countUses(g *dag.Graph, task string, res attempt.Result) error {
	switch d := res.Decision; d.Action {
	case policy.Complete, policy.Fail, policy.Retry:
	case policy.Release:
		if d.Uncounted || res.Seen.Checked {
			return nil
		}
	default:
		return nil
	}
	return g.History.UseKnowledge(res.Told, task, res.Decision.Action == policy.Complete)
}

// remindSelf takes over what earlier runs in the same scope came to, so that a
// strategy does not start over with every run.
func (r *Runner) remindSelf(ctx context.Context) error {
	return r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		entries, err := journal.List(g.Tx(), journal.Filter{Feature: r.opts.Graph.Scope.Feature, Task: r.opts.Graph.Scope.Task, Limit: 50})
		for _, e := range entries {
			tier, _ := strategy.ParseTier(e.Model)
			r.ledger.memory.history = append(r.ledger.memory.history, strategy.Attempt{Task: e.Task, Outcome: e.Outcome, Tier: tier, Notes: e.Notes})
		}
		return err
	})
}
