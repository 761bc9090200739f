package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/plain"
	"ralph/internal/proc"
	"ralph/internal/pullrequest"
	"ralph/internal/render"
	"ralph/internal/seq"
)

// branchState is a branch and what a remote has of it.
type branchState struct {
	repo    *git.Repo
	target  string // refs/heads/...
	tip     string // its commit
	remote  string
	address string // of the remote
	base    string // the branch of the remote that it is to be merged into
	named   bool   // somebody said so
	behind  bool   // the remote lacks some of it
	commits int    // that the base does not have
}

func (b branchState) branch() string { return render.Branch(b.target) }

// installed says whether a program would be found.
func installed(a *app, dir, program string) bool {
	_, err := proc.Lookup(program, dir, a.environ())
	return err == nil
}

// findBranch finds the branch of a feature's work and what the remote has of it: those that are named, or else where the work landed and
// those of the last time. What cannot be pushed without force is refused.
func findBranch(ctx context.Context, a *app, s *session, last pullrequest.Request, o prOptions) (b branchState, err error) {
	feature := last.Feature
	if b.repo, err = openRepo(ctx, s.project.Root); err == nil && b.repo.Private() {
		err = git.ErrUnknown
	}
	if err != nil {
		return b, hint(usagef("a pull request needs a git repository: %v", err), "make one with: git init")
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
	if b.target, err = findTarget(ctx, b.repo, named); err != nil {
		return b, err
	}
	if merge.Detached(b.target) {
		return b, hint(usagef("a pull request needs a branch, and HEAD is detached"), "make one: git switch -c BRANCH; then: ralph pr %s --target BRANCH", feature)
	}
	if b.tip, err = b.repo.Commit(ctx, b.target); err != nil || b.tip == "" {
		return b, cmp.Or(err, hint(usagef("there is no branch %s", b.branch()), "let work land there: ralph run --feature %s --target %s", feature, b.branch()))
	}
	if at, err := merge.At(ctx, b.repo, b.target); err != nil || at.Landed != "" {
		return b, cmp.Or(err, hint(fmt.Errorf("%w: %s does not have what landed yet", dag.ErrRefused, b.branch()), "let it have that first: ralph merge --target %s", b.branch()))
	}
	if b.remote, err = findRemote(ctx, b.repo, cmp.Or(o.Remote, last.Remote, ownRemote), b.target); err != nil {
		return b, hint(err, "add one: git remote add origin URL; or name another: --remote NAME")
	}
	b.address = b.remote
	if url, uerr := b.repo.Line(ctx, "config", "--get", "remote."+b.remote+".url"); uerr == nil {
		b.address = url
	}
	b.base = cmp.Or(o.Base, s.config.PR.Base)
	b.named = b.base != ""
	refs, err := b.remoteRefs(ctx, a)
	if err != nil {
		return b, err
	}
	return b, b.compare(ctx, a, feature, refs)
}

// landedOn is the branch that the work of a feature landed on; nil if nothing has landed.
func landedOn(ctx context.Context, s *session, feature string) (*string, error) {
	var targets []string
	err := s.store.View(ctx, func(g *dag.Graph) error {
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
		return nil, hint(usagef("work of %s landed on several branches: %s", feature, human.List(seq.Map(targets, render.Branch), 5)), "merge them, and name the one that has all of it: --target BRANCH")
	}
	return &targets[0], nil
}

// remoteRefs asks the remote for its branches that matter, and for its default if no base is named.
func (b *branchState) remoteRefs(ctx context.Context, a *app) (map[string]string, error) {
	refs := map[string]string{}
	ask := func(names ...string) error {
		var out bytes.Buffer
		if err := userGit(ctx, a, b.repo, &out, append([]string{"ls-remote", "--symref", b.remote}, names...)...); err != nil {
			err = cmp.Or(context.Cause(ctx), fmt.Errorf("%w: git cannot read the remote %s: %w", dag.ErrRefused, b.remote, err))
			return hint(err, "see whether this works: git ls-remote %s", plain.ShellQuote(b.remote))
		}
		for line := range strings.Lines(out.String()) {
			value, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
			if ref, is := strings.CutPrefix(value, "ref: "); is && name == "HEAD" {
				b.base = cmp.Or(b.base, strings.TrimPrefix(ref, "refs/heads/"))
			} else if !is {
				refs[name] = value
			}
		}
		return nil
	}
	if err := ask("HEAD", b.target); err != nil {
		return nil, err
	}
	if b.base == "" {
		return nil, hint(usagef("%s does not say which branch is its default", b.remote), "name the one to merge into: --base BRANCH")
	}
	return refs, ask("refs/heads/" + b.base)
}

// compare says what is to be pushed, or why it is not.
func (b *branchState) compare(ctx context.Context, a *app, feature string, refs map[string]string) error {
	branch, there, base := b.branch(), refs[b.target], refs["refs/heads/"+b.base]
	switch {
	case branch == b.base:
		return hint(fmt.Errorf("%w: the work of %s is on %s, which is also what it would be merged into", dag.ErrRefused, feature, branch),
			"let work land on a branch of its own: ralph run --feature %s --target ralph/%s; or name another base: --base BRANCH", feature, feature)
	case base == "":
		return hint(fmt.Errorf("%w: %s has no branch %s to merge into", dag.ErrRefused, b.remote, b.base), "push it first: git push %s %s; or name another: --base BRANCH", b.remote, b.base)
	}
	for _, ref := range []string{b.target, "refs/heads/" + b.base} {
		if known, err := b.repo.Commit(ctx, cmp.Or(refs[ref], b.tip)); err != nil || known == "" {
			if err := userGit(ctx, a, b.repo, a.stderr, "fetch", "--quiet", "--no-tags", b.remote, ref); err != nil {
				return hint(cmp.Or(context.Cause(ctx), fmt.Errorf("%w: git cannot fetch %s of %s: %w", dag.ErrRefused, render.Branch(ref), b.remote, err)),
					"see whether this works: git fetch %s", plain.ShellQuote(b.remote))
			}
		}
	}
	count, err := b.repo.Line(ctx, "rev-list", "--count", b.tip, "^"+base)
	if err != nil {
		return err
	}
	b.commits, _ = strconv.Atoi(count) // git prints a number
	if b.commits == 0 {
		return hint(fmt.Errorf("%w: %s has no commit that %s does not have", dag.ErrRefused, branch, b.base), "run the tasks first: ralph run --feature %s --target ralph/%s", feature, feature)
	}
	if there == "" || there == b.tip {
		b.behind = there == ""
		return nil
	}
	older, err := b.repo.IsAncestor(ctx, there, b.tip)
	newer, nerr := b.repo.IsAncestor(ctx, b.tip, there)
	switch b.behind = older; {
	case err != nil || nerr != nil:
		return cmp.Or(err, nerr)
	case older:
		return nil
	case newer:
		return hint(fmt.Errorf("%w: %s of %s has commits that are not here", dag.ErrRefused, branch, b.remote),
			"take them: git fetch %s %s:%s, or git pull if it is checked out", plain.ShellQuote(b.remote), branch, branch)
	}
	return hint(fmt.Errorf("%w: %s of %s was rewritten, or somebody pushed other commits to it: it has %s and here is %s, and ralph never pushes by force",
		dag.ErrRefused, branch, b.remote, render.Commit(there), render.Commit(b.tip)),
		"look at both: git log --oneline --graph %s %s; then merge theirs into %s, or push yours yourself: git push --force-with-lease %s %s",
		render.Commit(b.tip), render.Commit(there), branch, plain.ShellQuote(b.remote), branch)
}
