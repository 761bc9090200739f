package prcmd

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/plain"
	"ralph/internal/proc"
	"ralph/internal/pullrequest"
	"ralph/internal/render"
	"ralph/internal/seq"
)

// BranchState is a branch and what a remote has of it.
type BranchState struct {
	repo    *git.Repo
	Target  string // refs/heads/...
	Tip     string // its commit
	Remote  string
	address string // of the remote
	Base    string // the branch of the remote that it is to be merged into
	named   bool   // somebody said so
	behind  bool   // the remote lacks some of it
	commits int    // that the base does not have
}

func (b BranchState) branch() string { return render.Branch(b.Target) }

// installed says whether a program would be found.
func installed(a *cli.App, dir, program string) bool {
	_, err := proc.Lookup(program, dir, a.Environ())
	return err == nil
}

// findBranch finds the branch of a feature's work and what the remote has of it: those that are named, or else where the work landed and
// those of the last time. What cannot be pushed without force is refused.
func findBranch(ctx context.Context, a *cli.App, s *cli.Session, last pullrequest.Request, o prOptions) (b BranchState, err error) {
	feature := last.Feature
	if b.repo, err = wiring.OpenRepo(ctx, s.Project.Root); err == nil && b.repo.Private() {
		err = git.ErrUnknown
	}
	if err != nil {
		return b, cli.Hint(cli.Usagef("a pull request needs a git repository: %v", err), "make one with: git init")
	}
	named := o.Target
	if named == nil {
		if named, err = landedOn(ctx, s, feature); err != nil {
			return b, err
		}
		if named == nil && last.Branch != "" {
			named = &last.Branch
		}
	}
	if b.Target, err = wiring.FindTarget(ctx, b.repo, named); err != nil {
		return b, err
	}
	if merge.Detached(b.Target) {
		return b, cli.Hint(cli.Usagef("a pull request needs a branch, and HEAD is detached"), "make one: git switch -c BRANCH; then: ralph pr %s --target BRANCH", feature)
	}
	if b.Tip, err = b.repo.Commit(ctx, b.Target); err != nil || b.Tip == "" {
		return b, cmp.Or(err, cli.Hint(cli.Usagef("there is no branch %s", b.branch()), "let work land there: ralph run --feature %s --target %s", feature, b.branch()))
	}
	if at, err := merge.At(ctx, b.repo, b.Target); err != nil || at.Landed != "" {
		return b, cmp.Or(err, cli.Hint(fmt.Errorf("%w: %s does not have what landed yet", dag.ErrRefused, b.branch()), "let it have that first: ralph merge --target %s", b.branch()))
	}
	if b.Remote, err = launch.FindRemote(ctx, b.repo, cmp.Or(o.Remote, last.Remote, launch.OwnRemote), b.Target); err != nil {
		return b, cli.Hint(err, "add one: git remote add origin URL; or name another: --remote NAME")
	}
	b.address = b.Remote
	if url, uerr := b.repo.Line(ctx, "config", "--get", "remote."+b.Remote+".url"); uerr == nil {
		b.address = url
	}
	b.Base = cmp.Or(o.Base, s.Config.PR.Base)
	b.named = b.Base != ""
	refs, err := b.remoteRefs(ctx, a)
	if err != nil {
		return b, err
	}
	return b, b.compare(ctx, a, feature, refs)
}

// landedOn is the branch that the work of a feature landed on; nil if nothing has landed.
func landedOn(ctx context.Context, s *cli.Session, feature string) (*string, error) {
	var targets []string
	err := s.Store.View(ctx, func(g *dag.Graph) error {
		done, err := g.Tasks.List(dag.Filter{Feature: feature, Statuses: []dag.Status{dag.Done}})
		for _, t := range done {
			if work, _ := g.Queue.LandedWork(t); work.N != 0 && !slices.Contains(targets, work.Target) { // the first error of the database is that of all that follow
				targets = append(targets, work.Target)
			}
		}
		return cmp.Or(err, g.Tx().Err())
	})
	switch {
	case err != nil || len(targets) == 0:
		return nil, err
	case len(targets) > 1:
		return nil, cli.Hint(cli.Usagef("work of %s landed on several branches: %s", feature, human.List(seq.Map(targets, render.Branch), 5)), "merge them, and name the one that has all of it: --target BRANCH")
	}
	return &targets[0], nil
}

// remoteRefs asks the remote for its branches that matter, and for its default if no base is named.
func (b *BranchState) remoteRefs(ctx context.Context, a *cli.App) (map[string]string, error) {
	refs := map[string]string{}
	ask := func(names ...string) error {
		var out bytes.Buffer
		if err := launch.UserGit(ctx, a, b.repo, &out, append([]string{"ls-remote", "--symref", b.Remote}, names...)...); err != nil {
			err = cmp.Or(context.Cause(ctx), fmt.Errorf("%w: git cannot read the remote %s: %w", dag.ErrRefused, b.Remote, err))
			return cli.Hint(err, "see whether this works: git ls-remote %s", plain.ShellQuote(b.Remote))
		}
		for line := range strings.Lines(out.String()) {
			value, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if ref, is := strings.CutPrefix(value, "ref: "); is && name == "HEAD" {
				b.Base = cmp.Or(b.Base, strings.TrimPrefix(ref, "refs/heads/"))
			} else if !is {
				refs[name] = value
			}
		}
		return nil
	}
	if err := ask("HEAD", b.Target); err != nil {
		return nil, err
	}
	if b.Base == "" {
		return nil, cli.Hint(cli.Usagef("%s does not say which branch is its default", b.Remote), "name the one to merge into: --base BRANCH")
	}
	return refs, ask("refs/heads/" + b.Base)
}

// compare says what is to be pushed, or why it is not.
func (b *BranchState) compare(ctx context.Context, a *cli.App, feature string, refs map[string]string) error {
	branch, there, base := b.branch(), refs[b.Target], refs["refs/heads/"+b.Base]
	switch {
	case branch == b.Base:
		return cli.Hint(fmt.Errorf("%w: the work of %s is on %s, which is also what it would be merged into", dag.ErrRefused, feature, branch),
			"let work land on a branch of its own: ralph run --feature %s --target ralph/%s; or name another base: --base BRANCH", feature, feature)
	case base == "":
		return cli.Hint(fmt.Errorf("%w: %s has no branch %s to merge into", dag.ErrRefused, b.Remote, b.Base), "push it first: git push %s %s; or name another: --base BRANCH", b.Remote, b.Base)
	}
	for _, ref := range []string{b.Target, "refs/heads/" + b.Base} {
		if known, err := b.repo.Commit(ctx, cmp.Or(refs[ref], b.Tip)); err != nil || known == "" {
			if err := launch.UserGit(ctx, a, b.repo, a.Stderr, "fetch", "--quiet", "--no-tags", b.Remote, ref); err != nil {
				return cli.Hint(cmp.Or(context.Cause(ctx), fmt.Errorf("%w: git cannot fetch %s of %s: %w", dag.ErrRefused, render.Branch(ref), b.Remote, err)),
					"see whether this works: git fetch %s", plain.ShellQuote(b.Remote))
			}
		}
	}
	count, err := b.repo.Line(ctx, "rev-list", "--count", b.Tip, "^"+base)
	if err != nil {
		return err
	}
	b.commits, _ = strconv.Atoi(count) // git prints a number
	if b.commits == 0 {
		return cli.Hint(fmt.Errorf("%w: %s has no commit that %s does not have", dag.ErrRefused, branch, b.Base), "run the tasks first: ralph run --feature %s --target ralph/%s", feature, feature)
	}
	if there == "" || there == b.Tip {
		b.behind = there == ""
		return nil
	}
	older, err := b.repo.IsAncestor(ctx, there, b.Tip)
	newer, nerr := b.repo.IsAncestor(ctx, b.Tip, there)
	switch b.behind = older; {
	case err != nil || nerr != nil:
		return cmp.Or(err, nerr)
	case older:
		return nil
	case newer:
		return cli.Hint(fmt.Errorf("%w: %s of %s has commits that are not here", dag.ErrRefused, branch, b.Remote),
			"take them: git fetch %s %s:%s, or git pull if it is checked out", plain.ShellQuote(b.Remote), branch, branch)
	}
	return cli.Hint(fmt.Errorf("%w: %s of %s was rewritten, or somebody pushed other commits to it: it has %s and here is %s, and ralph never pushes by force",
		dag.ErrRefused, branch, b.Remote, render.Commit(there), render.Commit(b.Tip)),
		"look at both: git log --oneline --graph %s %s; then merge theirs into %s, or push yours yourself: git push --force-with-lease %s %s",
		render.Commit(b.Tip), render.Commit(there), branch, plain.ShellQuote(b.Remote), branch)
}
