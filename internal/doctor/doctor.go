// Package doctor checks a project and what runs need on this machine. It never prints, and it
// changes nothing.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/features"
	"ralph/internal/db"
	"ralph/internal/disk"
	"ralph/internal/gc"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/loop/recovery"
)

// Level is how well a check went.
type Level string

// The levels. A run may still work despite a warning.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Problem Level = "problem"
)

// Finding is the result of one check.
type Finding struct {
	Check string   `json:"check"`
	Level Level    `json:"level"`
	OK    bool     `json:"ok"` // it is no problem
	Text  string   `json:"text"`
	Found []string `json:"found"`
	Fix   *string  `json:"mend"`
}

// New makes a finding; fix is empty where there is nothing to do.
func New(check string, level Level, text, fix string, details ...string) Finding {
	f := Finding{Check: check, Level: level, OK: level != Problem, Text: text, Found: append([]string{}, details...)}
	if fix != "" {
		f.Fix = &fix
	}
	return f
}

// Check is one step of an examination.
type Check struct {
	Waiting string // what people are waiting for if it takes long; empty if it says so itself
	Run     func(context.Context) []Finding
}

// Project is what is examined.
type Project struct {
	project.Project
	Store     *dag.Store // nil if the database cannot be opened
	Opened    error      // why not
	Recoverer recovery.Recoverer
	Collector gc.Collector
	Hint      func(error) string        // what helps against an error
	Restore   func(saved string) string // the command that restores a saved database
}

// State checks what the database holds. What cannot be read is a finding, too.
func (p Project) State(ctx context.Context) []Finding {
	if p.Store == nil {
		text := strings.ReplaceAll(p.Opened.Error(), dag.ErrRefused.Error()+": ", "")
		return []Finding{New("database", Problem, text, p.Hint(p.Opened))}
	}
	view := func(check string, look func(*dag.Graph) (Finding, error)) (f Finding) {
		err := p.Store.View(ctx, func(g *dag.Graph) (err error) { f, err = look(g); return err })
		if err != nil {
			f = New(check, Problem, "cannot be read: "+err.Error(), p.Hint(err))
		}
		return f
	}
	dead, err := p.deadRuns(ctx)
	if err != nil {
		dead = New("dead runs", Problem, "cannot be read: "+err.Error(), p.Hint(err))
	}
	return []Finding{view("database", p.database), view("derived columns", derived), dead}
}

func (p Project) database(g *dag.Graph) (Finding, error) {
	faults, err := g.Integrity()
	if err != nil {
		return Finding{}, err
	}
	if len(faults) > 0 {
		damaged := &db.Error{Path: p.DB(), Kind: db.Damaged}
		fix := "restore it from a backup, or export what can be read: ralph task export --with-status"
		if saved := db.Rescued(p.Root); len(saved) > 0 {
			fix += "; an older state is in " + saved[0]
		}
		return New("database", Problem, damaged.Error(), fix, texts(faults)...), nil
	}
	tally, err := g.Tasks.Tally(dag.Scope{})
	size := int64(0)
	if info, err := os.Stat(p.DB()); err == nil {
		size = info.Size()
	}
	return New("database", OK, fmt.Sprintf("%s, %s", human.Count(tally.Total(), "task"), human.Bytes(size)), ""), err
}

func derived(g *dag.Graph) (Finding, error) {
	faults, err := g.Verify()
	if len(faults) == 0 {
		return New("derived columns", OK, "they agree with the graph", ""), err
	}
	return New("derived columns", Problem, "they disagree with what they are derived from", "ralph doctor --fix", texts(faults)...), err
}

func texts(faults []dag.Fault) []string {
	list := make([]string, len(faults))
	for i, f := range faults {
		list[i] = f.Text
		if f.Task != "" {
			list[i] = f.Task + ": " + f.Text
		}
	}
	return list
}

// deadRuns says what recovery would have to do.
func (p Project) deadRuns(ctx context.Context) (Finding, error) {
	rec, err := p.Recoverer.Preview(ctx)
	if err != nil && !errors.Is(err, dag.ErrNotFound) { // another process was faster
		return Finding{}, err
	}
	details := seq.Map(rec.Tasks, func(t recovery.Reclaimed) string { return t.Task + ": claimed by run " + t.Run + ", which has died" })
	for _, run := range rec.Runs {
		details = append(details, "run "+run+" has died and is not recorded as ended")
	}
	if rec.Orphans > 0 {
		details = append(details, human.Count(rec.Orphans, "process")+" of dead runs still there")
	}
	switch {
	case len(details) == 0:
		return New("dead runs", OK, "nothing is left of any", ""), nil
	case len(rec.Tasks)+rec.Orphans == 0:
		return New("dead runs", Warning, "the record of a run is open", "ralph recover", details...), nil
	}
	return New("dead runs", Problem, "something is left of them", "ralph recover", details...), nil
}

// Git says whether ralph can tell what agents change, and store their work.
func (p Project) Git(ctx context.Context) []Finding {
	level, fix := Warning, ""
	text, err := git.Version(ctx)
	state := git.Look(ctx, p.Root)
	switch {
	case err != nil:
		text, fix = "not found", "install git"
	case git.Own(p.Root):
		level, text = OK, text+"; the project is in no repository, and ralph keeps what agents change in one of its own"
	case state.Known:
		level = OK
		text += "; a repository"
		if state.Head == "" {
			text += " without a commit yet"
		} else if state.Branch != "" {
			text += " on " + state.Branch
		}
	case len(git.Find(p.Root).Folders) > 0:
		text, fix = text+"; it cannot read the repository", "see what it says: git status"
		if _, err := git.OpenRepo(ctx, p.Root); errors.Is(err, git.ErrWaits) { // so would the person's
			text, fix = text+": "+err.Error(), "remove that file"
		}
	default:
		level, text = OK, text+"; the project is in no repository, and ralph will make one of its own"
	}
	if repo, err := git.OpenRepo(ctx, p.Root); err == nil && state.Known {
		if err := repo.Writable(); err != nil {
			return []Finding{New("git", Warning, fmt.Sprintf("%s; it cannot store the work of agents: %v", text, err), "make that folder writable for you")}
		}
	}
	if level == Warning {
		text += ": ralph cannot tell whether an agent changed anything"
	}
	list := []Finding{New("git", level, text, fix)}
	if lock := git.LeftLock(p.Root); lock != nil {
		level := Warning
		if lock.Sure {
			level = Problem
		}
		list = append(list, New("git lock", level, lock.Error(), lock.Remedy()))
	}
	return append(list, p.plans(ctx)...)
}

// plans says whether git merges the plans that it carries, or leaves its markers in them.
func (p Project) plans(ctx context.Context) []Finding {
	if carried, _, err := git.Tracked(ctx, p.Root, features.Driver().Pattern); err != nil || len(carried) == 0 {
		return nil
	}
	parts, err := features.Driver().Missing(ctx, p.Root)
	ignored := p.Unadmitted()
	switch {
	case len(ignored) > 0:
		return []Finding{New("plans", Warning, ".ralph/.gitignore is of an older version: git misses parts of a plan, or takes what killed commands left", "ralph init", ignored...)}
	case err != nil:
		return nil // what is wrong with git was said
	case len(parts) > 0:
		return []Finding{New("plans", Warning, "git does not merge plan files by task here, so that two people get conflicts", "ralph init --git")}
	}
	return []Finding{New("plans", OK, "git merges plan files by task", "")}
}

// Processes says whether anything can outlive an agent here.
func Processes(context.Context) []Finding {
	text, gaps := "an agent is ended with everything that it started", proc.Gaps()
	if len(gaps) > 0 {
		text += "; not covered:"
	}
	return []Finding{New("processes", OK, text, "", gaps...)}
}

// scarce is when people are warned about the disk: a build can need that much.
const scarce = 1 << 30

// Disk looks at the file systems that runs fill.
func (p Project) Disk(context.Context) []Finding {
	var free [2]int64
	var low []string
	for i, dir := range []string{p.Root, os.TempDir()} {
		var err error
		if free[i], err = disk.Free(dir); err != nil {
			return []Finding{New("disk", Warning, fmt.Sprintf("cannot tell how much is free in %s: %v", dir, err), "")}
		}
		if free[i] < scarce {
			low = append(low, fmt.Sprintf("%s are left in %s", human.Bytes(free[i]), dir))
		}
	}
	text := fmt.Sprintf("%s free for the project, %s for temporary files", human.Bytes(free[0]), human.Bytes(free[1]))
	if len(low) > 0 {
		return []Finding{New("disk", Warning, text, "free some space; to remove what old runs left: ralph gc --older-than 30d", low...)}
	}
	return []Finding{New("disk", OK, text, "")}
}

// Leftovers lists what was left behind, one finding per kind, each with the command that
// deals with it.
func (p Project) Leftovers(ctx context.Context) []Finding {
	var list []Finding
	warn := func(text, fix string, details ...string) {
		list = append(list, New("leftovers", Warning, text, fix, details...))
	}
	if saved := db.Rescued(p.Root); len(saved) > 0 {
		name := filepath.Base(saved[0])
		warn("a database that was deleted or replaced during a run is saved in "+name,
			"put it back with: "+p.Restore(saved[0])+"; or remove it: rm "+name, saved[1:]...)
	}
	for _, s := range p.Collector.Planning() {
		what, again := "tasks", "ralph task create"
		if s.Feature != "" {
			what, again = "feature "+s.Feature, "ralph feature create "+s.Feature
		}
		if features.Busy(s.Path) {
			list = append(list, New("leftovers", OK, fmt.Sprintf("planning of %s is in progress: %s", what, s.Step), ""))
			continue
		}
		warn(fmt.Sprintf("planning of %s was started and not finished: %s, %s ago", what, s.Step, human.Span(p.Collector.Now().Sub(s.Touched))),
			"continue it with: "+again+"; or remove it when it is a week old: ralph gc --older-than 7d")
	}
	if temps := p.Collector.Temporaries(); len(temps) > 0 {
		var paths []string
		var bytes int64
		for _, t := range temps {
			paths, bytes = append(paths, t.Path), bytes+t.Bytes
		}
		warn(fmt.Sprintf("%s of killed processes: %s", human.Count(len(temps), "temporary file"), human.Bytes(bytes)), "ralph gc --older-than 90d", paths...)
	}
	for _, stash := range git.Stashes(ctx, p.Root, "ralph: ") {
		warn("git has a stash of ours: "+stash.Message,
			fmt.Sprintf("apply it with: git stash pop '%s'; or drop it: git stash drop '%s'", stash.Name, stash.Name))
	}
	if len(list) == 0 {
		return []Finding{New("leftovers", OK, "none", "")}
	}
	return list
}
