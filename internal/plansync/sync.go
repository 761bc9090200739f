// Package plansync keeps the plan in the database and the plan files that git carries the same. It never stages or
// commits anything, and a command that only reads never has it write a file.
package plansync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
)

// TasksFile is the name of plan files: each feature's folder has one, and .ralph has one for tasks of no feature.
const TasksFile = "tasks.jsonl"

// Sync is the plan of a project, in its database and in its files.
type Sync struct {
	Project project.Project
	Store   *dag.Store
	Auto    bool // take in what git brings, and write what commands change, where git carries plans
	Now     func() time.Time
	Life    func(dag.Process) dag.Life     // whether a run lives
	Writer  func(file, text string) string // which agent left a file with that text; empty or nil if none did
	Note    func(format string, args ...any)
	Warn    func(format string, args ...any)
}

// ErrUnmerged is a plan file of which git has several versions.
var ErrUnmerged = errors.New("git left a conflict here")

// Error is a plan file that cannot be taken in. Nothing was changed.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return e.Path + ": " + e.Err.Error() }

// Unwrap gives what is wrong without the path.
func (e *Error) Unwrap() error { return e.Err }

// Is makes it a refusal.
func (e *Error) Is(target error) bool { return target == dag.ErrRefused }

// Path is where the plan of a feature is, or of tasks of none.
func Path(p project.Project, feature string) string {
	if feature == "" {
		return filepath.Join(p.State(), TasksFile)
	}
	return filepath.Join(p.Feature(feature), TasksFile)
}

// In takes in what git or an editor changed in plan files since file and database last agreed. It writes no file.
func (s *Sync) In(ctx context.Context) error {
	if !s.Auto {
		return nil
	}
	files, err := s.look(ctx)
	if err != nil || len(files) == 0 {
		return err
	}
	changed, err := s.changed(ctx, files)
	if err != nil || len(changed) == 0 || s.atWork(ctx) {
		return err
	}
	return s.sync(ctx, changed, false)
}

// Out writes the plan files of features whose plan was changed, after it has taken in what is new in them.
func (s *Sync) Out(ctx context.Context) error {
	if !s.Auto {
		return nil
	}
	files, err := s.look(ctx)
	if err != nil || files == nil {
		return err
	}
	var unsaved []string
	err = s.Store.View(ctx, func(g *dag.Graph) (err error) { unsaved, err = unsavedIn(g); return err })
	switch {
	case err != nil || len(unsaved) == 0:
		return err
	case s.atWork(ctx):
		s.Note("an agent works in this folder: %s is written when its run ends", human.List(seq.Map(unsaved, func(name string) string { return s.file(name).key }), 3))
		return nil
	}
	return s.sync(ctx, seq.Map(unsaved, s.file), true)
}

// atWork says that an agent works in the project's own folder. What git shows there is the agent's doing, perhaps for a moment
// only, and a file that ralph writes would be in its way: both sides wait. Agents in slots have folders of their own.
func (s *Sync) atWork(ctx context.Context) (busy bool) {
	_ = s.Store.View(ctx, func(g *dag.Graph) error { // an error comes up wherever else the database is used
		open, err := g.History.OpenAttempts()
		for _, at := range open {
			if run, rerr := g.History.RunOf(at.ID); rerr == nil && at.Slot == 0 && run.EndedAt.IsZero() && s.Life(run.Process) == dag.Alive {
				busy = true
			}
		}
		return err
	})
	return busy
}

// Save writes the file of a feature, whatever Auto says, after it has taken in what is new in it. Only a line that says so deletes a
// task: without Auto, nobody knows which branch the file was on before. It returns what tasks wait for that is not in the file.
func (s *Sync) Save(ctx context.Context, feature string) (outside map[string][]string, err error) {
	f := s.file(feature)
	f.asked = true
	if err := s.sync(ctx, []*file{f}, true); err != nil {
		return nil, err
	}
	err = s.Store.View(ctx, func(g *dag.Graph) (err error) { _, outside, err = Items(g, Part(feature)); return err })
	return outside, err
}

// Load imports the file of a feature of which the database has no task yet, whatever Auto says, and says whether it did.
func (s *Sync) Load(ctx context.Context, feature string) (bool, error) {
	f := s.file(feature)
	if !f.regular {
		return false, nil
	}
	if err := s.refuseSameNames(ctx, s.files()); err != nil {
		return false, err
	}
	tasks := 0
	err := s.Store.View(ctx, func(g *dag.Graph) error {
		found, err := g.Plan.Feature(feature)
		tasks = found.Total()
		if errors.Is(err, dag.ErrNotFound) {
			return nil
		}
		return err
	})
	if err != nil || tasks > 0 {
		return false, err
	}
	if err := s.sync(ctx, []*file{f}, false); err != nil {
		return false, fmt.Errorf("import %w", err)
	}
	return true, nil
}

// Files lists the features that have a plan file, and "" for tasks of none. A file that only says what was deleted is no plan.
func Files(p project.Project) []string {
	s := Sync{Project: p, Now: func() time.Time { return time.Time{} }}
	plans := slices.DeleteFunc(s.files(), func(f *file) bool {
		plan, err := f.plan()
		return err == nil && len(plan.Bytes()) > 0 && len(plan.Specs()) == 0
	})
	return seq.Map(plans, func(f *file) string { return f.feature })
}

// Faults lists the plan files that can be neither taken in nor written, and why. The store may be nil.
func Faults(ctx context.Context, p project.Project, store *dag.Store) (faulty []error) {
	s := Sync{Project: p, Store: store, Now: func() time.Time { return time.Time{} }}
	if err := s.refuseSameNames(ctx, s.files()); err != nil {
		faulty = append(faulty, err)
	}
	for _, f := range s.folders() {
		err := f.read()
		if err == nil {
			if _, perr := taskfile.ParseFile([]byte(f.text)); perr != nil {
				err = &Error{f.path, perr}
			}
		}
		if err != nil {
			faulty = append(faulty, err)
		}
	}
	return faulty
}

// folders are the plan files, which need not be there, of all that has a folder, or something in its place, and that of tasks of no feature.
func (s *Sync) folders() []*file {
	list := []*file{s.file("")}
	entries, _ := os.ReadDir(s.Project.Features()) // none is none
	for _, e := range entries {
		if (e.IsDir() || e.Type()&os.ModeSymlink != 0) && dag.CheckFeatureName(e.Name()) == nil {
			list = append(list, s.at(e.Name(), filepath.Join(s.Project.Features(), e.Name(), TasksFile)))
		}
	}
	return list
}

// files are the plan files there are: it takes one look at each.
func (s *Sync) files() []*file {
	return slices.DeleteFunc(s.folders(), func(f *file) bool { return !f.regular })
}

// look finds the plan files there are; nil if git carries none of them.
func (s *Sync) look(ctx context.Context) ([]*file, error) {
	index := git.Index(s.Project.Root)
	if index == "" {
		return nil, nil
	}
	var rows map[string]row
	if err := s.Store.View(ctx, func(g *dag.Graph) (err error) { rows, err = rowsOf(g); return err }); err != nil {
		return nil, err
	}
	if carried, err := s.carried(ctx, index, rows[indexKey]); err != nil || !carried {
		return nil, err
	}
	files := s.files()
	if err := s.refuseSameNames(ctx, files); err != nil {
		return nil, err
	}
	for _, f := range files {
		f.row = rows[f.key]
	}
	return append([]*file{}, files...), nil // not nil: git carries plans
}

// carried says whether git carries plans, which it knows from its index: git is asked again when that has changed.
func (s *Sync) carried(ctx context.Context, index string, known row) (bool, error) {
	info, err := os.Stat(index)
	if err != nil {
		return false, nil //nolint:nilerr // nothing was added yet
	}
	now := sealOf(info, s.Now())
	if known.stamp == now && !known.stamp.Fresh {
		return known.carried, nil
	}
	names, unmerged, err := git.Tracked(ctx, s.Project.Root, ".ralph/features/**", ".ralph/"+TasksFile)
	if err != nil {
		return false, nil //nolint:nilerr // what is wrong with git is for doctor to say
	}
	for _, name := range unmerged {
		if path.Base(name) == TasksFile { // it may look whole: what the other side changed is only in the index
			return false, &Error{Path: filepath.Join(s.Project.Root, name), Err: ErrUnmerged}
		}
	}
	carried := len(names) > 0
	if known.stamp != now || known.carried != carried {
		text := ""
		if carried {
			text = carriedText
		}
		// A project that cannot be written can be looked at all the same.
		_ = s.Store.Update(ctx, func(g *dag.Graph) error { return setRow(g, indexKey, now, text) })
	}
	return carried, nil
}

// changed lists the files that say something else than when they were last synced. Those that only look different are
// remembered as they look now.
func (s *Sync) changed(ctx context.Context, files []*file) (list []*file, err error) {
	var same []*file
	for _, f := range files {
		if f.row.stamp == f.stamp && !f.row.stamp.Fresh {
			continue
		}
		if err := f.read(); err != nil {
			return nil, err
		}
		var base string
		var known bool
		err := s.Store.View(ctx, func(g *dag.Graph) (err error) { base, known, err = baseOf(g, f.key); return err })
		switch {
		case err != nil:
			return nil, err
		case f.text == "": // as if there were none
		case !known || base != f.text:
			list = append(list, f)
		case f.row.stamp != f.stamp:
			same = append(same, f)
		}
	}
	if len(same) > 0 {
		_ = s.Store.Update(ctx, func(g *dag.Graph) error {
			for _, f := range same {
				seen(g, f.key, f.stamp)
			}
			return nil
		})
	}
	return list, nil
}

// sync brings files and database together, in one transaction: first the database takes in what is new in the files, then
// the files are written. A process that is killed after that and before the commit leaves files that say what the
// database says, and an older base, from which both have made the same changes.
func (s *Sync) sync(ctx context.Context, files []*file, write bool) error {
	if err := s.refuseAgents(ctx, files); err != nil {
		return err
	}
	var done Taken
	err := s.Store.Update(ctx, func(g *dag.Graph) (err error) {
		done, err = (&merging{s: s, g: g, files: files, write: write}).do()
		return err
	})
	if err != nil {
		return err
	}
	done.say(s)
	return nil
}

// AgentError is a plan file that an agent changed while it worked in the project's folder: gates in it are commands, so a person has
// to look at it.
type AgentError struct{ Writer string }

func (e *AgentError) Error() string {
	return "it was changed while " + e.Writer + ", was at work, and is not taken in until a person confirms it"
}

// refuseAgents refuses files that an agent has changed. What ralph wrote is what both last agreed on.
func (s *Sync) refuseAgents(ctx context.Context, files []*file) error {
	for _, f := range files {
		if s.Writer == nil {
			break
		}
		if err := f.read(); err != nil {
			return err
		}
		var base string
		if err := s.Store.View(ctx, func(g *dag.Graph) (err error) { base, _, err = baseOf(g, f.key); return err }); err != nil {
			return err
		}
		if f.text == "" || f.text == base {
			continue
		}
		if who := s.Writer(f.key, f.text); who != "" {
			return &Error{f.path, &AgentError{who}}
		}
	}
	return nil
}

// Taken is what the database took in.
type Taken struct {
	dag.Applied
	From    []string
	Gates   []string // features that have others now
	Dropped []string
}

func (t Taken) say(s *Sync) {
	count := func(list []string, what string) string {
		if len(list) == 0 {
			return ""
		}
		return fmt.Sprintf("%d %s", len(list), what)
	}
	from := human.List(t.From, 3)
	parts := slices.DeleteFunc([]string{count(t.Added, "added"), count(t.Changed, "changed"), count(t.Deleted, "deleted")}, func(p string) bool { return p == "" })
	switch {
	case len(parts) == 1 && len(t.Added) > 0:
		s.Note("%s imported from %s", human.Count(len(t.Added), "task"), from)
	case len(parts) > 0:
		s.Note("the plan follows %s: %s", from, strings.Join(parts, ", "))
	}
	if len(t.Gates) > 0 {
		s.Note("the gates of %s follow %s", human.List(t.Gates, 3), from)
	}
	for _, what := range t.Dropped {
		s.Warn("%s: %s", from, what)
	}
	if len(t.Kept) > 0 {
		s.Warn("%s: not in %s, and stays: there is work to check, to review or to land, or a question; it goes when that is over", human.List(t.Kept, 3), from)
	}
	if n := len(t.Postponed); n > 0 {
		s.Warn("%s: in progress; what %s says is taken in when it has ended", cmp.Or(human.List(t.Postponed, 3), "a task"), from)
	}
}
