package main

import (
	"context"
	"errors"
	"strings"

	"ralph/dag"
	"ralph/internal/plansync"
	"ralph/internal/taskfile"
	"ralph/internal/term"
)

// newPlans keeps the plan of an open project and its files the same.
func newPlans(a *app, s *session) *plansync.Sync {
	return &plansync.Sync{
		Project: s.project, Store: s.store, Auto: s.config.Git.Sync == "auto", Now: a.now, Life: life,
		Note: a.note, Warn: func(format string, args ...any) { a.note("warning: "+format, args...) },
	}
}

// takePlans takes in what git brought into plan files. What is wrong with them is kept: commands that only look go on with
// a warning, all others are refused. An agent at work has no say in this, and doctor changes nothing.
func takePlans(ctx context.Context, a *app, s *session) {
	if a.getenv("RALPH_RUN") == "" && !a.looks {
		s.unsynced = s.plans.In(ctx)
	}
}

// savePlans writes plan files after a change. The change is stored: what goes wrong now is only a warning, and the next
// command tries again.
func savePlans(ctx context.Context, a *app, s *session) {
	if a.getenv("RALPH_RUN") != "" || s.plans == nil || s.unsynced != nil { // which is said when the project is closed
		return
	}
	if err := s.plans.Out(context.WithoutCancel(ctx)); err != nil {
		a.note("warning: the plan is stored, but not in its file: %v", err)
	}
}

// refuseUnsynced refuses to change or run a plan that disagrees with its file.
func (s *session) refuseUnsynced() error {
	err := s.unsynced
	s.unsynced = nil // it is said once
	return err
}

// warnUnsynced tells a person who only looks at a plan that it is not what its file says.
func warnUnsynced(a *app, err error) {
	a.note("warning: %s", term.Line(strings.ReplaceAll(err.Error(), dag.ErrRefused.Error()+": ", "")))
	if h := hintFor(err); h != "" {
		a.note("hint: %s", term.Line(h))
	}
}

// planFileHint says what to do about a plan file.
func planFileHint(err *plansync.Error) string {
	if errors.Is(err, taskfile.ErrMarkers) {
		return "let git merge it by task: ralph init --git && git checkout -m -- " + err.Path + "; or edit the file"
	}
	return "correct that in the file, or take it as it was committed: git checkout -- " + err.Path
}
