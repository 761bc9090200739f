package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"ralph/dag"
	"ralph/internal/project"
)

// databaseGone says that the database was deleted or replaced. A deleted file can still be
// written and saved, as long as there is a folder for what SQLite puts beside it.
func databaseGone(s *session) func() bool {
	return func() bool {
		if s.db.Intact() {
			return false
		}
		_ = os.MkdirAll(s.project.State(), 0o700) // if that fails, the next write says so
		return true
	}
}

// checkDatabase notices when an agent deleted or replaced the database, which a
// cleaning command may do, and saves what is still known. Of several attempts that end
// after that, the last one to do so knows most, so it replaces what the others saved.
func (a *app) checkDatabase(ctx context.Context, s *session) func() error {
	var mu sync.Mutex
	saved := ""
	return func() error {
		if s.db.Intact() {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if saved == "" {
			saved = filepath.Join(s.project.Root, fmt.Sprintf("ralph-rescued-%d.db", a.now().Unix()))
		}
		if err := s.db.Rescue(context.WithoutCancel(ctx), saved); err != nil {
			return fmt.Errorf("%s was deleted or replaced while the run worked, and could not be saved: %w", s.project.DB(), err)
		}
		return fmt.Errorf("%s was deleted or replaced while the run worked; what was known is saved in %s: move it back", s.project.DB(), saved)
	}
}

// rescued lists what runs have saved of databases that went away under them, the
// newest first.
func rescued(root string) []string {
	entries, _ := os.ReadDir(root)
	var found []string
	for _, e := range entries {
		if ok, _ := filepath.Match("ralph-rescued-*.db", e.Name()); ok && e.Type().IsRegular() {
			found = append(found, filepath.Join(root, e.Name()))
		}
	}
	slices.Reverse(found)
	return found
}

// putBack is the command that makes a saved database the project's again. A log that
// the lost one has left does not belong to it.
func (a *app) putBack(saved string) string {
	root := filepath.Dir(saved)
	command := fmt.Sprintf("mkdir -p .ralph && rm -f .ralph/progress.db* && mv %s .ralph/progress.db", filepath.Base(saved))
	if dir, err := a.getwd(); err != nil || dir != root {
		command = fmt.Sprintf("cd %s && %s", shellQuote(root), command)
	}
	return command
}

// shellQuote is for a command that a person copies.
func shellQuote(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool {
		return !strings.ContainsRune("/._-+=:,@%", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}) {
		return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
	}
	return text
}

// refuseRescued keeps a project from being begun anew beside what was saved of it.
func (a *app) refuseRescued(p project.Project) error {
	saved := rescued(p.Root)
	if len(saved) == 0 {
		return nil
	}
	if _, err := os.Stat(p.DB()); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := fmt.Errorf("%w: %s is gone; a run has saved what was in it in %s", dag.ErrRefused, p.DB(), filepath.Base(saved[0]))
	return hint(err, "put it back with: %s", a.putBack(saved[0]))
}

// refuseBegunAnew does so where a command was quicker than the run, and has begun a new
// database before the run could save the old one.
func (a *app) refuseBegunAnew(ctx context.Context, p project.Project, store *dag.Store) error {
	saved := rescued(p.Root)
	if len(saved) == 0 {
		return nil
	}
	return store.View(ctx, func(g *dag.Graph) error {
		tally, err := g.Tally(dag.Scope{})
		if err != nil || tally.Total() > 0 {
			return err
		}
		name := filepath.Base(saved[0])
		err = fmt.Errorf("%w: %s has no task; a run has saved what was in the one before it in %s", dag.ErrRefused, p.DB(), name)
		return hint(err, "put it back with: %s; or, to begin anew, remove it: rm %s", a.putBack(saved[0]), shellQuote(saved[0]))
	})
}

// mentionRescued tells who looks for a project in vain of what was saved of one.
func (a *app) mentionRescued(dir string, err error) error {
	if abs, aerr := filepath.Abs(dir); aerr == nil {
		dir = abs
	}
	saved := rescued(dir)
	if len(saved) == 0 || !errors.Is(err, project.ErrNone) {
		return err
	}
	err = fmt.Errorf("%w; there was one, and a run has saved its database in %s", err, filepath.Base(saved[0]))
	return hint(err, "put it back with: %s && ralph init", a.putBack(saved[0]))
}
