package attempt

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/plain"
	"ralph/internal/redact"
	"ralph/internal/testing/failpoint"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/strategy"
)

const (
	lessonsFolder = "lessons" // in the folder of the attempt
	lessonsTime   = 2 * time.Minute
)

// learn asks the cheapest model, once for each task, what later agents should know about work that was accepted only
// after a retry or a repair. The work is safe by then, and whatever comes of this changes nothing about it.
func (a *attempt) learn(ctx context.Context, d policy.Decision, script bool) {
	switch {
	case !a.job.Lessons, a.job.Review != nil, script, !a.seen.Opened:
		return
	case !d.Passed(), a.said.Repairs+a.job.Task.Retries == 0:
		return
	case ctx.Err() != nil, a.lessonsAsked(), a.overspent(ctx) != nil:
		return
	}
	ctx, end := context.WithTimeoutCause(ctx, lessonsTime, errors.New("no answer within "+lessonsTime.String()))
	defer end()
	lessons, err := a.askLessons(ctx)
	if err != nil {
		a.warn(a.job.Task.ID, "no lessons: "+cmp.Or(context.Cause(ctx), err).Error())
	}
	a.talk.set.Knowledge = append(a.talk.set.Knowledge, lessons...)
}

// lessonsAsked reports whether an attempt at the task asked before. It may have been killed since: it is paid for all the same.
func (a *attempt) lessonsAsked() bool {
	runs := filepath.Dir(filepath.Dir(a.job.Place.Folder))
	return slices.ContainsFunc(a.job.History.Attempts, func(at dag.Attempt) bool {
		_, err := os.Stat(filepath.Join(runs, at.Run, at.ID, lessonsFolder))
		return err == nil
	})
}

// askLessons asks in a session that changes nothing. Its answer is data: only whole entries count.
func (a *attempt) askLessons(ctx context.Context) ([]sigils.Knowledge, error) {
	op := a.opening(filepath.Join(a.job.Place.Folder, lessonsFolder), true)
	op.Review, op.Model, op.Task.Model = true, string(strategy.Haiku), ""
	if err := os.Mkdir(op.Folder, 0o700); err != nil {
		return nil, err
	}
	a.tell(event.Event{Type: event.Prompted, Reason: "what later agents should know"})
	s, err := a.openReader(ctx, op, false)
	if err != nil {
		return nil, err
	}
	failpoint.Hit("in-lessons")
	ctx, cut := context.WithCancelCause(ctx)
	guarding := a.guard(a.inspectBudgets).Watch(ctx, cut)
	turn, err := s.Prompt(ctx, prompt.Lessons(a.lessonsInput(ctx)))
	cut(nil)
	<-guarding
	set, unread := turn.Scan(sigils.NewScanner(""))
	if err = cmp.Or(err, unread, s.Close()); err != nil || !turn.Completed() {
		return nil, err
	}
	lessons := redact.Deep(a.Redact, set.Knowledge[:min(len(set.Knowledge), 2)])
	for i := range lessons {
		lessons[i].Body = plain.Head(lessons[i].Body, 4<<10)
	}
	return lessons, nil
}

func (a *attempt) lessonsInput(ctx context.Context) prompt.LessonsInput {
	t := a.job.Task
	in := prompt.LessonsInput{Task: prompt.Task{ID: t.ID, Title: t.Title, Description: t.Description}}
	for _, at := range a.job.History.Attempts {
		if at.Outcome == event.AttemptRetried && at.Reason != "" {
			in.Troubles = append(in.Troubles, at.Reason)
		}
	}
	in.Troubles = append(in.Troubles, a.talk.repaired...)
	if shown := cmp.Or(a.evidence.candidate, a.evidence.finished); shown != "" && a.evidence.base.Tree != "" {
		if d, err := a.evidence.difference(ctx, a.evidence.base.Tree, shown); err == nil { // it can be asked without
			in.Diff = prompt.Document{Text: patchOf(d.Changes), From: "the difference since the task began"}
		}
	}
	return in
}
