package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/internal/slot"
	"ralph/loop"
	"ralph/loop/attempt"
	"ralph/loop/recovery"
	"ralph/merge"
	"ralph/verify"
)

// placeOptions say where agents work.
type placeOptions struct {
	Target                *string
	InPlace, SharedFolder bool
	Review                *bool
	Push                  *string
}

// minGit is the first version that merges without a working tree.
var minGit = [2]int{2, 38}

// setLanding lets agents work in slots, if several do or a target was named.
func setLanding(ctx context.Context, s *session, given runOptions, opts *loop.Options) error {
	if given.InPlace && !given.SharedFolder && given.Jobs == nil {
		opts.Workers.Jobs = 1 // what is configured is meant for slots
	}
	jobs, review := opts.Workers.Jobs, or(given.Review, s.config.Merge.Review == "all") && !given.finished && !given.undo
	switch {
	case given.SharedFolder || given.InPlace && jobs == 1:
		if given.Target != nil {
			return usagef("--target goes with slots: leave out --in-place and --shared-folder")
		}
		if review {
			return hint(usagef("work can be reviewed before it lands only if agents work in slots"), "leave out --in-place and --shared-folder, or do without a review: --review=false")
		}
		return refuseAccepted(ctx, s)
	case given.InPlace:
		return hint(usagef("%d agents in one folder overwrite each other's work", jobs), "run one: --jobs 1; or accept that: --shared-folder")
	case jobs == 1 && given.Target == nil && !review && !given.finished:
		return refuseAccepted(ctx, s)
	}
	repo, err := git.OpenRepo(ctx, s.project.Root)
	if err != nil {
		return hint(usagef("agents side by side need a git repository: %v", err), "run one: --jobs 1; or several in one folder, where they may overwrite each other's work: --shared-folder")
	}
	if version, err := git.Version(ctx); err == nil && older(version) {
		return hint(usagef("agents side by side need git %d.%d, and this is %s", minGit[0], minGit[1], version), "run one: --jobs 1")
	}
	opts.Landing = loop.Landing{Repo: repo, Window: s.config.Merge.Window, Review: review}
	landing := false // by a run that is at work, or has died
	err = s.store.View(ctx, func(g *dag.Graph) error { open, err := g.Unlanded(); landing = len(open) > 0; return err })
	if err != nil {
		return err
	}
	if opts.Landing.Target, err = findTarget(ctx, repo, given.Target, landing); err != nil {
		return err
	}
	opts.Rules.Resolve = s.config.Merge.Resolve
	return nil
}

// refuseAccepted refuses a run in the project's own folder while accepted work waits to land: it would
// be claimed first, and its files are not there.
func refuseAccepted(ctx context.Context, s *session) error {
	var waiting []string
	err := s.store.View(ctx, func(g *dag.Graph) error {
		held, err := g.MergesIn(dag.MergeHeld)
		for _, m := range held {
			if m.Accepted {
				waiting = append(waiting, m.Task)
			}
		}
		return err
	})
	if err != nil || len(waiting) == 0 {
		return err
	}
	return hint(usagef("work that was accepted waits to land: %s", human.List(waiting, 5)), "land it first: ralph merge; or let agents work in slots: --target BRANCH")
}

// older says that a version of git cannot merge without a working tree.
func older(version string) bool {
	var major, minor int
	n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return n == 2 && (major < minGit[0] || major == minGit[0] && minor < minGit[1])
}

// findTarget is the branch that work lands on: the one that was named, which may not exist
// yet, or the one that is checked out. While something is landing, what is uncommitted may be
// no person's.
func findTarget(ctx context.Context, repo *git.Repo, named *string, landing bool) (string, error) {
	if repo.Dir() == repo.Own() {
		return "", hint(usagef("%s is a bare repository, and its files are nowhere", repo.Dir()), "clone it and run there")
	}
	here := git.Call{Own: repo.Own()} // a linked worktree has its own HEAD
	if _, err := repo.Git(ctx, here, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"); err != nil {
		return "", hint(usagef("the repository has no commit yet, so there is nothing to copy"), "make one, or run one agent in this folder: --jobs 1")
	}
	head, _ := repo.Git(ctx, here, "symbolic-ref", "--quiet", "HEAD")
	head = strings.TrimSpace(head)
	target := head
	if named != nil {
		target = "refs/heads/" + strings.TrimPrefix(*named, "refs/heads/")
		if _, err := repo.Line(ctx, "check-ref-format", target); err != nil || strings.HasPrefix(*named, "-") {
			return "", usagef("--target: %q is no name of a branch", *named)
		}
	}
	if target == "" {
		return "", hint(usagef("HEAD is detached, so work has no branch to land on"), "name one: --target BRANCH")
	}
	if target != head || landing {
		return target, nil
	}
	dirty, err := repo.Git(ctx, git.Call{WorkTree: repo.Dir(), Index: filepath.Join(repo.Own(), "index"), Own: repo.Own()},
		"diff", "--name-only", "-z", "--no-ext-diff", "--ignore-submodules=all", "HEAD", "--")
	if err != nil {
		return "", err
	}
	changed := slices.DeleteFunc(strings.Split(strings.TrimSuffix(dirty, "\x00"), "\x00"), func(name string) bool {
		return name == "" || slices.Contains(strings.Split(name, "/"), ".ralph")
	})
	if len(changed) > 0 {
		return "", hint(usagef("%s has uncommitted changes that agents would not see: %s", strings.TrimPrefix(target, "refs/heads/"), human.List(changed, 5)),
			"commit them, or let work land on another branch: --target ralph/%s", filepath.Base(repo.Dir()))
	}
	return target, nil
}

// makeTarget makes the target if there is no such branch.
func makeTarget(ctx context.Context, repo *git.Repo, target string) error {
	at, err := repo.Commit(ctx, target)
	if err != nil || at != "" {
		return err
	}
	head, err := repo.Git(ctx, git.Call{Own: repo.Own()}, "rev-parse", "HEAD^{commit}")
	if err != nil {
		return err
	}
	head = strings.TrimSpace(head)
	if _, err := repo.Line(ctx, "update-ref", target, head, strings.Repeat("0", len(head))); err != nil {
		return usagef("--target: %v", err)
	}
	return nil
}

// sites are the slots of a run as places for agents and gates.
type sites struct {
	opener *agents.Opener
	env    []string // of gates

	mu sync.Mutex
	at map[string]*site
}

type site struct {
	opener *agents.Opener
	gates  *sandbox.Confinement
}

// in finds or makes the site of a folder.
func (s *sites) in(dir string) (*site, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := s.at[dir]; at != nil || dir == s.opener.Dir {
		return at, nil
	}
	confiner, err := s.opener.Sandbox.In(dir)
	if err != nil {
		return nil, err
	}
	at := &site{opener: s.opener.In(dir, confiner)}
	if at.gates, err = confiner.ForWork(sandbox.Process{Env: s.env}); err != nil {
		return nil, err
	}
	s.at[dir] = at
	return at, nil
}

// slotOptions are where the slots of the project are, whoever made them, and what is in them.
func slotOptions(a *app, s *session, repo *git.Repo) (slot.Options, error) {
	p, dir := s.config.Parallel, slotsDir(a, s)
	if in, err := filepath.Rel(repo.Dir(), dir); !filepath.IsAbs(dir) || p.Dir != "" && err == nil && filepath.IsLocal(in) {
		return slot.Options{}, fmt.Errorf("%w: parallel.dir: %q is not an absolute path outside the repository", project.ErrConfig, p.Dir)
	}
	sub, err := filepath.Rel(repo.Dir(), s.project.Root)
	return slot.Options{
		Repo: repo, Dir: dir, State: slotsState(s), Project: s.project.Root, Sub: sub,
		Name: filepath.Base(s.project.Root), Copy: p.Copy, SetupIs: p.Setup, SetupOn: p.SetupOn, MinFree: int64(p.MinFreeGiB * (1 << 30)),
	}, err
}

// findParallel finds where agents of earlier runs worked side by side.
func findParallel(a *app, s *session) func(context.Context) (recovery.Parallel, error) {
	var once sync.Mutex
	var found recovery.Parallel
	return func(ctx context.Context) (recovery.Parallel, error) {
		once.Lock()
		defer once.Unlock()
		if found.Repo != nil {
			return found, nil
		}
		repo, err := git.OpenRepo(ctx, s.project.Root)
		if err != nil {
			return found, err
		}
		slots, err := slotOptions(a, s, repo)
		if err == nil {
			found = recovery.Parallel{Repo: repo, Slots: slot.Open(slots)}
		}
		return found, err
	}
}

// openSlots makes the pool of slots and the sites in them.
func openSlots(a *app, s *session, o *agents.Opener, opts *loop.Options) error {
	at := &sites{opener: o, env: opts.Verify.GateRunner.Env, at: map[string]*site{}}
	runner := opts.Verify.GateRunner
	opts.Landing.Gates = func(p attempt.Place) (verify.Gates, error) {
		x, err := at.in(p.Dir)
		if err != nil {
			return verify.Gates{}, err
		}
		r := runner
		r.Confine, r.Env = x.gates.Spec, slices.Concat(runner.Env, x.gates.Env, p.Env)
		return r, nil
	}
	p := s.config.Parallel
	slots, err := slotOptions(a, s, opts.Landing.Repo)
	if err != nil {
		return err
	}
	slots.Branch = opts.Landing.Target
	if p.Setup != "" {
		slots.Setup = func(ctx context.Context, at *slot.Slot) error {
			runner, err := opts.Landing.Gates(attempt.Place{Dir: at.Dir(), Env: at.Env()})
			if err != nil {
				return err
			}
			runner.Dir, runner.Timeout, runner.Redact = at.Dir(), p.SetupTimeout.Std(), opts.Host.Redact
			return setUp(ctx, runner, p.Setup, filepath.Join(slots.State, fmt.Sprintf("setup-%d.log", at.N())))
		}
	}
	opts.Landing.Slots = slot.Open(slots)
	opts.Agents.Open = func(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
		x, err := at.in(op.Place.Dir)
		if err != nil {
			return nil, err
		}
		return openAttempt(x.opener)(ctx, op)
	}
	opts.Agents.Warm = nil
	return nil
}

// setUp runs the command that makes a slot ready. All it prints is in log.
func setUp(ctx context.Context, runner verify.Gates, command, log string) error {
	if err := os.MkdirAll(filepath.Dir(log), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(log, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	res, err := runner.Run(ctx, command, f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if !res.Passed {
		return fmt.Errorf("%q in parallel.setup: %s; all it printed is in %s", command, res.Exit, log)
	}
	return nil
}

// slotsName tells the slots of one project from those of others.
func slotsName(root string) string {
	sum := sha256.Sum256([]byte(root))
	return fmt.Sprintf("%s-%x", filepath.Base(root), sum[:4])
}

// keptWork lists the refs of work that did not land, by attempt. Nothing fails where git has none.
func keptWork(ctx context.Context, root string) map[string]string {
	repo, err := git.OpenRepo(ctx, root)
	if err != nil {
		return nil
	}
	kept, _ := merge.Kept(ctx, repo)
	return kept
}
