package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/lazyregexp"
	"ralph/internal/merge"
	"ralph/internal/render"
	"ralph/internal/risk"
	"ralph/internal/seq"
	"ralph/loop"
	"ralph/loop/land"
)

// placeOptions say where agents work, and where their work ends up.
type placeOptions struct {
	Target               *string
	InPlace, WithChanges bool
	Review               *bool
	Push                 *string
}

// setLanding lets agents work in slots, unless a person wants them in this folder, or it is in no repository and nothing was asked for that needs one.
func setLanding(ctx context.Context, a *app, s *session, given runOptions, opts *loop.Options) error {
	review := or(given.Review, s.config.Merge.Review == "all")
	risky := given.Review == nil && s.config.Merge.Review == "risky"
	if given.InPlace && given.Jobs == nil {
		opts.Workers.Jobs = 1 // what is configured is meant for slots
	}
	jobs, here := opts.Workers.Jobs, given.InPlace
	switch {
	case here && given.Target != nil:
		return usagef("--target goes with slots: leave out --in-place")
	case here && given.Push != nil:
		return hint(usagef("--push goes with slots: in this folder ralph commits nothing"), "let work land on a branch: --target BRANCH")
	case here && given.WithChanges:
		return usagef("--with-changes goes with slots: agents in this folder see what is uncommitted")
	case here && jobs > 1:
		return hint(usagef("%d agents in one folder overwrite each other's work", jobs), "run one: --jobs 1; or leave out --in-place")
	}
	repo, err := slotRepo(ctx, a, s, given)
	if err != nil && !errors.As(err, new(usageError)) {
		err = hint(usagef("git cannot be used here: %v", err), "ralph needs git 2.38 or newer")
	}
	if repo == nil || err != nil {
		return err
	}
	if given.finished && given.Target == nil && !here {
		if given.Target, err = finishedFor(ctx, s); err != nil {
			return err
		}
	}
	folder, err := merge.FolderRef(repo)
	if err != nil {
		return err
	}
	here = here || given.finished && or(given.Target, "") == folder
	opts.Landing = land.Options{
		Repo: repo, Here: here, Window: s.config.Merge.Window, Review: review, Ahead: s.config.Verify.Ahead, Cut: s.config.Merge.Rebase == "conflict", Protect: s.config.Verify.Deciding(),
	}
	if risky {
		if opts.Landing.Above, err = riskAbove(ctx, s); err != nil {
			return err
		}
	}
	opts.Rules.Resolve = s.config.Merge.Resolve
	if here {
		opts.Workers.Jobs, opts.Landing.Target = 1, folder
		return refuseBare(repo)
	}
	target, err := findTarget(ctx, repo, given.Target)
	switch {
	case err != nil || given.executor || repo.Private():
	case given.finished: // no agent begins anything
		err = refuseMistyped(ctx, s, repo, target)
	default:
		err = noteChanges(ctx, a, s, repo, target, given)
	}
	opts.Landing.Target = target
	if repo.Private() {
		opts.Landing.TakeIn = func(ctx context.Context) error {
			_, err := takeIn(ctx, a, s, repo, given.runOutput, true)
			return err
		}
	}
	if err == nil && given.workers != nil {
		opts.Landing.Remote, err = findRemote(ctx, repo, s.config.Temporal.Remote, target)
	}
	return err
}

// riskAbove is what a person looks at before it lands: what is riskier than is configured, or than four fifths of what landed.
func riskAbove(ctx context.Context, s *session) (*float64, error) {
	if s.config.Given("merge.risk") { // 0 holds all that has any risk
		return &s.config.Merge.Risk, nil
	}
	past, err := look(ctx, s, func(g *dag.Graph) ([]float64, error) { return g.History.Risks() })
	above := risk.Threshold(past)
	return &above, err
}

// finishedTargets are the branches for which work is finished.
func finishedTargets(ctx context.Context, s *session) ([]string, error) {
	finished, err := look(ctx, s, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.Finished() })
	return slices.Compact(slices.Sorted(slices.Values(seq.Map(finished, func(m dag.Merge) string { return m.Target })))), err
}

// refuseMistyped refuses a branch that does not exist if nothing would land there.
func refuseMistyped(ctx context.Context, s *session, repo *git.Repo, target string) error {
	at, err := repo.Commit(ctx, target)
	targets, terr := finishedTargets(ctx, s)
	if at != "" || err != nil || terr != nil || slices.Contains(targets, target) {
		return cmp.Or(err, terr)
	}
	err = usagef("--target: there is no branch %s, and no finished work for it", render.Branch(target))
	if len(targets) > 0 {
		return hint(err, "finished work is for %s", human.List(seq.Map(targets, render.Branch), 5))
	}
	return err
}

// finishedFor is the branch for which work is finished; nil if there is none, or no such work.
func finishedFor(ctx context.Context, s *session) (target *string, err error) {
	targets, err := finishedTargets(ctx, s)
	switch {
	case len(targets) > 1:
		return nil, hint(usagef("finished work is for several branches, such as %s and %s", render.Branch(targets[0]), render.Branch(targets[1])), "name one: --target BRANCH")
	case len(targets) == 1:
		target = &targets[0]
	}
	return target, err
}

// prepareFolder makes the ref of what lands in the folder, which begins with what is checked out.
func prepareFolder(ctx context.Context, to land.Options) error {
	if err := to.Repo.Writable(); err != nil {
		return hint(usagef("git cannot store the work of agents: %v", err), "make that folder writable for you")
	}
	if at, err := to.Repo.Commit(ctx, to.Target); err != nil || at != "" {
		return err
	}
	unborn, err := merge.Unborn(ctx, to.Repo)
	head := ""
	switch {
	case err != nil:
	case !unborn:
		head, err = to.Repo.Git(ctx, git.Call{Own: to.Repo.Own()}, "rev-parse", "HEAD^{commit}")
	default:
		if head, err = to.Repo.Line(ctx, "mktree"); err == nil { // of nothing
			head, err = to.Repo.CommitTree(ctx, head, "This folder, before anything was committed\n", "")
		}
	}
	if err != nil {
		return err
	}
	return merge.SetRefs(ctx, to.Repo, merge.Ref{Name: to.Target, Commit: strings.TrimSpace(head)})
}

// openRepo opens the repository of a project, if this git can merge without a working tree.
func openRepo(ctx context.Context, root string) (*git.Repo, error) {
	repo, err := git.OpenRepo(ctx, root)
	if err != nil {
		return nil, err
	}
	version, _ := git.Version(ctx)
	var major, minor int
	if n, _ := fmt.Sscanf(version, "%d.%d", &major, &minor); n == 2 && (major < 2 || major == 2 && minor < 38) {
		return nil, fmt.Errorf("git 2.38 is needed, and this is %s", version)
	}
	return repo, nil
}

// otherName matches what git would make a branch of, and reads as something else: a commit's ID, a ref, or a HEAD of its own.
var otherName = lazyregexp.New(`^([0-9a-fA-F]{40}|[0-9a-fA-F]{64}|refs/.*|[A-Z_]+_HEAD)$`)

// branchNamed is the full name of a branch that need not exist.
func branchNamed(ctx context.Context, repo *git.Repo, typed string) (string, error) {
	name, err := repo.Line(ctx, "check-ref-format", "--branch", strings.TrimPrefix(typed, "refs/heads/"))
	if err != nil || name == "@" {
		return "", usagef("%q is not the name of a branch", typed)
	}
	if ref := "refs/heads/" + name; !otherName.Get().MatchString(name) {
		return ref, nil
	} else if at, err := repo.Commit(ctx, ref); err != nil || at != "" {
		return ref, err
	}
	return "", hint(usagef("%q is not the name of a branch", typed), "name a branch; to make one there: git branch NAME %s", name)
}

// checkedOut is the branch that is checked out in the project's folder, a full name, or its HEAD, if that is detached.
func checkedOut(ctx context.Context, repo *git.Repo) (string, error) {
	branch, err := repo.Git(ctx, git.Call{Own: repo.Own()}, "symbolic-ref", "--quiet", "HEAD") // a linked worktree has its own HEAD
	if git.Status(err) == 1 {
		return merge.HeadRef(repo)
	}
	return strings.TrimSpace(branch), err
}

// findTarget is what work lands on: the branch that was named, which may not exist yet, or what is checked out, a branch or a detached HEAD.
func findTarget(ctx context.Context, repo *git.Repo, named *string) (string, error) {
	if err := refuseBare(repo); err != nil {
		return "", err
	}
	head, err := checkedOut(ctx, repo)
	detached, herr := merge.HeadRef(repo)
	if err != nil || herr != nil {
		return "", cmp.Or(err, herr)
	}
	target := head
	switch {
	case named == nil:
	case (*named == "HEAD" || *named == detached) && head != detached:
		return "", hint(usagef("--target: HEAD is not detached: %s is checked out", render.Branch(head)), "name that branch, or detach HEAD: git checkout --detach")
	case *named != "HEAD" && *named != detached:
		if target, err = branchNamed(ctx, repo, *named); err != nil {
			return "", fmt.Errorf("--target: %w", err)
		}
		if at, err := repo.Commit(ctx, target); err != nil {
			return "", err
		} else if at == "" {
			name := render.Branch(target)
			if remote, err := repo.Commit(ctx, "refs/remotes/"+name); err != nil || remote != "" {
				_, local, _ := strings.Cut(name, "/")
				return "", cmp.Or(err, hint(usagef("--target: %s is a branch of a remote, where only a push lands", name), "name one of your own: --target %s; --push sends it there", local))
			}
		}
	}
	if doing := repo.Unfinished(); merge.Detached(target) && doing != "" {
		return "", hint(usagef("HEAD is detached, and a %s is in progress", doing), "finish it, or abort it: git status shows how; or let work land on a branch: --target BRANCH")
	}
	return target, nil
}

func refuseBare(repo *git.Repo) error {
	if repo.Dir() == repo.Own() {
		return hint(usagef("%s is a bare repository, and its files are nowhere", repo.Dir()), "clone it and run there")
	}
	return nil
}

// prepareLanding finds out where the target is pushed to, commits changes, and makes the target if there is no such
// branch. What is mistyped must not show after hours of work.
func prepareLanding(ctx context.Context, a *app, s *session, o runOptions, to land.Options) (push destination, err error) {
	if to.Here {
		return push, prepareFolder(ctx, to)
	}
	if !to.Repo.Private() { // which has nowhere to push to
		if push, err = findDestination(ctx, to.Repo, or(o.Push, s.config.Merge.Push), to.Target); err != nil {
			return push, fmt.Errorf("--push: %w", err)
		}
	}
	if err := to.Repo.Writable(); err != nil {
		return push, hint(usagef("git cannot store the work of agents: %v", err), "make that folder writable for you")
	}
	if to.Repo.Private() {
		if err := takeInFirst(ctx, a, s, to.Repo, o.runOutput); err != nil {
			return push, err
		}
	} else if o.WithChanges {
		if err := commitChanges(ctx, a, s, to.Repo, o.runOutput); err != nil {
			return push, err
		}
	}
	if at, err := merge.At(ctx, to.Repo, to.Target); err != nil || at.Branch != "" {
		return push, err
	}
	head, err := to.Repo.Git(ctx, git.Call{Own: to.Repo.Own()}, "rev-parse", "HEAD^{commit}")
	if err == nil {
		_, err = to.Repo.Line(ctx, "update-ref", to.Target, strings.TrimSpace(head), strings.Repeat("0", len(head)-1))
	}
	if err != nil {
		why := err.Error() // the last part of what git says is the cause
		return push, usagef("--target: git cannot make the branch %s: %s", render.Branch(to.Target), strings.TrimSpace(why[strings.LastIndex(why, ": ")+1:]))
	}
	return push, nil
}
