package launch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/render"
	"ralph/internal/risk"
	"ralph/internal/seq"
	"ralph/loop"
	"ralph/loop/land"
)

// PlaceOptions say where agents work, and where their work ends up.
type PlaceOptions struct {
	Target               *string
	InPlace, WithChanges bool
	Review               *bool
	Push                 *string
}

// setLanding lets agents work in slots, unless a person wants them in this folder, or it is in no repository and nothing was asked for that needs one.
func setLanding(ctx context.Context, a *cli.App, s *cli.Session, given Options, opts *loop.Options) error {
	review := cli.Or(given.Review, s.Config.Merge.Review == "all")
	risky := given.Review == nil && s.Config.Merge.Review == "risky"
	if given.InPlace && given.Jobs == nil {
		opts.Workers.Jobs = 1 // what is configured is meant for slots
	}
	jobs, here := opts.Workers.Jobs, given.InPlace
	switch {
	case here && given.Target != nil:
		return cli.Usagef("--target goes with slots: leave out --in-place")
	case here && given.Push != nil:
		return cli.Hint(cli.Usagef("--push goes with slots: in this folder ralph commits nothing"), "let work land on a branch: --target BRANCH")
	case here && given.WithChanges:
		return cli.Usagef("--with-changes goes with slots: agents in this folder see what is uncommitted")
	case here && jobs > 1:
		return cli.Hint(cli.Usagef("%d agents in one folder overwrite each other's work", jobs), "run one: --jobs 1; or leave out --in-place")
	}
	repo, err := slotRepo(ctx, a, s, given)
	if err != nil && !errors.As(err, new(cli.UsageError)) {
		err = cli.Hint(cli.Usagef("git cannot be used here: %v", err), "ralph needs git 2.38 or newer")
	}
	if repo == nil || err != nil {
		return err
	}
	if given.Finished && given.Target == nil && !here {
		if given.Target, err = finishedFor(ctx, s); err != nil {
			return err
		}
	}
	folder, err := merge.FolderRef(repo)
	if err != nil {
		return err
	}
	here = here || given.Finished && cli.Or(given.Target, "") == folder
	opts.Landing = land.Options{
		Repo: repo, Here: here, Window: s.Config.Merge.Window, Review: review, Ahead: s.Config.Verify.Ahead, Cut: s.Config.Merge.Rebase == "conflict", Protect: s.Config.Verify.Deciding(),
	}
	if risky {
		if opts.Landing.Above, err = riskAbove(ctx, s); err != nil {
			return err
		}
	}
	opts.Rules.Resolve = s.Config.Merge.Resolve
	if here {
		opts.Workers.Jobs, opts.Landing.Target = 1, folder
		return wiring.RefuseBare(repo)
	}
	if given.Target == nil && !given.Finished && !repo.Private() && s.Config.Target != "" {
		given.Target = &s.Config.Target
	}
	target, err := wiring.FindTarget(ctx, repo, given.Target)
	switch {
	case err != nil || given.Executor || repo.Private():
	case given.Finished: // no agent begins anything
		err = refuseMistyped(ctx, s, repo, target)
	default:
		err = noteChanges(ctx, a, s, repo, target, given)
	}
	opts.Landing.Target = target
	if repo.Private() {
		opts.Landing.TakeIn = func(ctx context.Context) error {
			_, err := takeIn(ctx, a, s, repo, given.OutputOptions, true)
			return err
		}
	}
	if err == nil && given.Workers != nil {
		opts.Landing.Remote, err = FindRemote(ctx, repo, s.Config.Temporal.Remote, target)
	}
	return err
}

// riskAbove is what a person looks at before it lands: what is riskier than is configured, or than four fifths of what landed.
func riskAbove(ctx context.Context, s *cli.Session) (*float64, error) {
	if s.Config.Given("merge.risk") { // 0 holds all that has any risk
		return &s.Config.Merge.Risk, nil
	}
	past, err := cli.Read(ctx, s, func(g *dag.Graph) ([]float64, error) { return g.History.Risks() })
	above := risk.Threshold(past)
	return &above, err
}

// finishedTargets are the branches for which work is finished.
func finishedTargets(ctx context.Context, s *cli.Session) ([]string, error) {
	finished, err := cli.Read(ctx, s, func(g *dag.Graph) ([]dag.Merge, error) { return g.Queue.Finished() })
	return slices.Compact(slices.Sorted(slices.Values(seq.Map(finished, func(m dag.Merge) string { return m.Target })))), err
}

// refuseMistyped refuses a branch that does not exist if nothing would land there.
func refuseMistyped(ctx context.Context, s *cli.Session, repo *git.Repo, target string) error {
	at, err := repo.Commit(ctx, target)
	targets, terr := finishedTargets(ctx, s)
	if at != "" || err != nil || terr != nil || slices.Contains(targets, target) {
		return cmp.Or(err, terr)
	}
	err = cli.Usagef("--target: there is no branch %s, and no finished work for it", render.Branch(target))
	if len(targets) > 0 {
		return cli.Hint(err, "finished work is for %s", human.List(seq.Map(targets, render.Branch), 5))
	}
	return err
}

// finishedFor is the branch for which work is finished; nil if there is none, or no such work.
func finishedFor(ctx context.Context, s *cli.Session) (target *string, err error) {
	targets, err := finishedTargets(ctx, s)
	switch {
	case len(targets) > 1:
		return nil, cli.Hint(cli.Usagef("finished work is for several branches, such as %s and %s", render.Branch(targets[0]), render.Branch(targets[1])), "name one: --target BRANCH")
	case len(targets) == 1:
		target = &targets[0]
	}
	return target, err
}

// prepareFolder makes the ref of what lands in the folder, which begins with what is checked out.
func prepareFolder(ctx context.Context, to land.Options) error {
	if err := to.Repo.Writable(); err != nil {
		return cli.Hint(cli.Usagef("git cannot store the work of agents: %v", err), "make that folder writable for you")
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

// prepareLanding finds out where the target is pushed to, commits changes, and makes the target if there is no such
// branch. What is mistyped must not show after hours of work.
func prepareLanding(ctx context.Context, a *cli.App, s *cli.Session, o Options, to land.Options) (push Destination, err error) {
	if to.Here {
		return push, prepareFolder(ctx, to)
	}
	if !to.Repo.Private() { // which has nowhere to push to
		if push, err = findDestination(ctx, to.Repo, cli.Or(o.Push, s.Config.Merge.Push), to.Target); err != nil {
			return push, fmt.Errorf("--push: %w", err)
		}
	}
	if err := to.Repo.Writable(); err != nil {
		return push, cli.Hint(cli.Usagef("git cannot store the work of agents: %v", err), "make that folder writable for you")
	}
	if to.Repo.Private() {
		if err := takeInFirst(ctx, a, s, to.Repo, o.OutputOptions); err != nil {
			return push, err
		}
	} else if o.WithChanges {
		if err := commitChanges(ctx, a, s, to.Repo, o.OutputOptions); err != nil {
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
		return push, cli.Usagef("--target: git cannot make the branch %s: %s", render.Branch(to.Target), strings.TrimSpace(why[strings.LastIndex(why, ": ")+1:]))
	}
	return push, nil
}
