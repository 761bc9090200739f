package loop

import (
	"context"
	"encoding/json"
	"fmt"

	"ralph/dag"
	"ralph/knowledge"
	"ralph/prompt"
)

// maxChanged is how many of the files that were worked on lately guide recall.
const maxChanged = 200

// recall finds what the project knows that has to do with a task.
func recall(opts Options, t dag.Task, changed []string, in *prompt.Input) []knowledge.Warning {
	if opts.Known == nil {
		return nil
	}
	q := knowledge.Query{Title: t.Title, Description: t.Description, Feature: t.Feature, Paths: changed}
	entries, unread := opts.Known.Load()
	in.Knowledge = prompt.Document{Text: knowledge.Render(q.Match(entries), opts.Tokens), From: knowledge.Folder}
	skills, unusable := knowledge.Skills(opts.Dir, q)
	for _, s := range skills {
		in.Skills = append(in.Skills, prompt.Skill{Name: s.Name, Description: s.Description, Path: s.Path})
	}
	return append(unread, unusable...)
}

// warnOnce tells what could not be read, each file once in a run.
func (r *Runner) warnOnce(warnings []knowledge.Warning) {
	for _, w := range warnings {
		r.mu.Lock()
		told := r.told[w.File]
		r.told[w.File] = true
		r.mu.Unlock()
		if !told {
			r.warn("", w.String())
		}
	}
}

// learned is what an attempt wants later agents to know, as settling stores it.
// The files are written afterwards, from what is stored, so that a crash between
// the two neither loses nor tears anything.
func (a *attempt) learned(outcome string) (string, error) {
	if a.opts.Known == nil || len(a.set.Knowledge) == 0 {
		return "", nil
	}
	kind := knowledge.Lesson
	switch outcome {
	case "failed", "retried", "refused", "timeout", "error":
		kind = knowledge.Failure
	}
	entries := make([]knowledge.Entry, len(a.set.Knowledge))
	for i, k := range a.set.Knowledge {
		entries[i] = knowledge.Entry{
			Title: k.Title, Tags: k.Tags, Body: k.Body, Feature: a.claim.Task.Feature, CreatedAt: a.opts.Now().UTC(),
			Task: a.claim.Task.ID, Run: a.run.ID, Kind: kind,
		}
	}
	b, err := json.Marshal(entries)
	return string(b), err
}

// writeKnowledge writes to files what settled attempts have learned. Writing the
// same twice changes nothing, so a crash in the middle is mended by doing it again.
func (r *Runner) writeKnowledge(ctx context.Context) error {
	if r.opts.Known == nil {
		return nil
	}
	var unwritten []dag.Unwritten
	err := r.opts.Store.View(ctx, func(g *dag.Graph) (err error) { unwritten, err = g.Unwritten(); return err })
	if err != nil {
		return err
	}
	for _, u := range unwritten {
		var entries []knowledge.Entry
		if err := json.Unmarshal([]byte(u.JSON), &entries); err != nil {
			return fmt.Errorf("attempt %s: %w", u.Attempt, err)
		}
		if !r.keep(entries) {
			continue // it stays stored, and is tried again after the next attempt
		}
		if err := r.opts.Store.Update(ctx, func(g *dag.Graph) error { return g.Written(u.Attempt) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) keep(entries []knowledge.Entry) bool {
	for _, e := range entries {
		if _, err := r.opts.Known.Write(e); err != nil {
			r.warn(e.Task, "not written yet: "+err.Error())
			return false
		}
	}
	return true
}

// spent is the share of the run's money that is gone.
func (a *attempt) spent(ctx context.Context) float64 {
	if a.opts.MaxCostUSD <= 0 {
		return 0
	}
	var cost *float64
	err := a.opts.Store.View(ctx, func(g *dag.Graph) (err error) { _, _, cost, err = g.RunUsage(a.run.ID); return err })
	if err != nil || cost == nil {
		return 0
	}
	return *cost / a.opts.MaxCostUSD
}
