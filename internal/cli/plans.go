package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/plansync"
	"ralph/internal/taskfile"
	"ralph/internal/term"
)

// newPlans keeps the plan of an open project and its files the same.
func newPlans(a *App, s *Session) *plansync.Sync {
	return &plansync.Sync{
		Project: s.Project, Store: s.Store, Auto: s.Config.Git.Sync == "auto", Now: a.Now, Life: Life, Writer: HistoryOf(a, s.Project).PlanWriter,
		Note: a.Note, Warn: func(format string, args ...any) { a.Note("warning: "+format, args...) },
	}
}

// takePlans takes in what git brought into plan files. What is wrong with them is kept: commands that only look go on with
// a warning, all others are refused. An agent at work has no say in this, and doctor changes nothing.
func takePlans(ctx context.Context, a *App, s *Session) {
	if a.Getenv("RALPH_RUN") == "" && !a.Looks {
		s.Unsynced = s.Plans.In(ctx)
	}
}

// SavePlans writes plan files after a change. The change is stored: what goes wrong now is only a warning, and the next
// command tries again.
func SavePlans(ctx context.Context, a *App, s *Session) {
	if a.Getenv("RALPH_RUN") != "" || s.Plans == nil || s.Unsynced != nil { // which is said when the project is closed
		return
	}
	if err := s.Plans.Out(context.WithoutCancel(ctx)); err != nil {
		a.Note("warning: the plan is stored, but not in its file: %v", err)
	}
}

// FollowPlans keeps the plan of a run that waits for tasks and its files the same. What is wrong with a file ends nothing: the
// run goes on with the plan as it was.
func FollowPlans(a *App, s *Session) func(ctx context.Context, idle bool) []string {
	return func(ctx context.Context, idle bool) (warnings []string) {
		if _, err := os.Lstat(git.Index(s.Project.Root) + ".lock"); err == nil {
			return nil // git is at work, and may have written half of a file
		}
		plans, log := *s.Plans, a.Logger()
		plans.Note = func(format string, args ...any) { log.Info().Msgf(format, args...) }
		plans.Warn = func(format string, args ...any) { warnings = append(warnings, fmt.Sprintf(format, args...)) }
		err := plans.In(ctx)
		if err == nil && idle {
			err = plans.Out(ctx)
		}
		if err != nil && ctx.Err() == nil {
			warnings = append(warnings, UnsyncedText(err)+human.Lead("; ", HintFor(err)))
		}
		return warnings
	}
}

// UnsyncedText says why a plan file cannot be taken in to people who are not refused because of it.
func UnsyncedText(err error) string {
	return term.Line(strings.ReplaceAll(err.Error(), dag.ErrRefused.Error()+": ", ""))
}

// RefuseUnsynced refuses to change or run a plan that disagrees with its file.
func (s *Session) RefuseUnsynced() error {
	err := s.Unsynced
	s.Unsynced = nil // it is said once
	return err
}

// warnUnsynced tells a person who only looks at a plan that it is not what its file says.
func warnUnsynced(a *App, err error) {
	a.Note("warning: %s", UnsyncedText(err))
	if h := HintFor(err); h != "" {
		a.Note("hint: %s", term.Line(h))
	}
}

// planFileHint says what to do about a plan file.
func planFileHint(err *plansync.Error) string {
	file := plain.ShellQuote(err.Path)
	if errors.Is(err, plansync.ErrUnmerged) {
		return "let git merge it by task: ralph init --git && git checkout -m -- " + file + " && git add " + file + "; or edit the file and add it"
	}
	if errors.Is(err, taskfile.ErrMarkers) {
		return "edit the file: remove git's markers and keep one line for each task"
	}
	if same := (*plansync.SameNameError)(nil); errors.As(err, &same) {
		return fmt.Sprintf("if it is one feature, move all files and the lines of tasks.jsonl from .ralph/features/%s to %s, and remove the folder; if they are two, rename the folder, and the feature in the lines",
			same.Other, same.Keep)
	}
	if errors.As(err, new(*plansync.AgentError)) {
		return "undo it: git checkout -- " + file + "; or check it, git diff " + file + ", and type: ralph config trust"
	}
	return "correct that in the file, or take it as it was committed: git checkout -- " + file
}
