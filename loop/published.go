package loop

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/loop/attempt"
	"ralph/merge"
)

// published is what a remote has of the run: the target, so that it is pushed once, and what nobody needs there any more.
type published struct {
	mu   sync.Mutex
	tip  string
	gone []merge.Ref
}

// publish pushes what attempts begin with, as far as the remote does not have it. The lock is held.
func (r *Runner) publish(ctx context.Context, claim dag.Claim, tip, start string) error {
	p := &r.published
	var refs []merge.Ref
	if tip != p.tip {
		refs = append(refs, merge.Ref{Name: merge.TargetRef(r.run.ID), Commit: tip})
	}
	if start != "" {
		refs = append(refs, merge.Ref{Name: merge.StartRef(claim.Attempt), Commit: start})
	}
	if len(refs) == 0 {
		return nil
	}
	err := patiently(ctx, brief, func() error { return merge.Push(ctx, r.opts.Landing.Repo, r.opts.Landing.Remote, refs...) })
	if err == nil {
		p.tip = tip
	}
	return err
}

// How long a remote that does not answer is waited for: by a run, which says so then and can go on later, and by whoever would
// lose the work of an agent.
const (
	brief = 7 * time.Second
	long  = 2 * time.Minute

	forEver = 1<<63 - 1 // it can be interrupted
)

// patiently tries what a network may fail at, and again until it has waited that long, or ctx ends.
func patiently(ctx context.Context, most time.Duration, do func() error) (err error) {
	for pause := time.Second; ; pause = min(2*pause, 30*time.Second) {
		if err = do(); err == nil || most <= 0 {
			return err
		}
		most -= pause
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// collect fetches the commit that was delivered, and no other: another machine that made the same attempt, late, has pushed to
// a ref that nobody looks at.
func (r *Runner) collect(ctx context.Context, claim dag.Claim, j *attempt.Job, d *Delivery) error {
	to, patience := r.opts.Landing, ctx
	ctx = context.WithoutCancel(ctx) // what an interrupted attempt left is fetched, if that can be done now
	if err := os.MkdirAll(j.Place.Folder, 0o700); err != nil {
		return err
	}
	get := func(most time.Duration, ref, commit string) error {
		if ref == "" {
			return nil
		}
		var got []string
		err := patiently(patience, most, func() (err error) {
			if got, err = merge.Fetch(ctx, to.Repo, to.Remote, ref); err != nil {
				r.bus.warnOnce("fetch\x00"+claim.Attempt, "the work of "+claim.Task.ID+" is made, and is not fetched yet: "+err.Error())
			}
			return err
		})
		if err == nil && got[0] != commit {
			err = fmt.Errorf("%s has %.10s at %s, and %.10s was delivered", to.Remote, got[0], ref, commit)
		}
		return err
	}
	if have, err := merge.Existing(ctx, to.Repo, []string{d.Work}); d.Work != "" && d.Work != d.Onto && (err != nil || len(have) == 0) {
		if err := get(forEver, d.WorkRef, d.Work); err != nil {
			return err
		}
	}
	if d.Work != "" && d.Work != d.Onto {
		if err := merge.SetRefs(ctx, to.Repo, merge.Ref{Name: merge.WorkRef(claim.Task.ID, claim.Attempt), Commit: d.Work}); err != nil {
			return err
		}
	}
	err := get(brief, d.LogRef, d.Log)
	if err == nil && d.Log != "" {
		err = unpack(ctx, to.Repo, d.Log, j.Place.Folder)
	}
	if err != nil { // the work counts all the same
		r.bus.warn(j.Task.ID, "what was said in attempt "+claim.Attempt+" is not here: "+err.Error())
	}
	return nil
}

// unpublish removes what the remote has of this run, and what machines that were late left of earlier ones.
func (r *Runner) unpublish(ctx context.Context) {
	to := r.opts.Landing
	if r.opts.Workers.Elsewhere == nil {
		return
	}
	refs, err := merge.RemoteRefs(ctx, to.Repo, to.Remote)
	var gone []merge.Ref
	if err == nil {
		err = r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
			for _, ref := range refs {
				whole := ref.Attempt()
				at, aerr := g.Attempt(whole)
				if tried := strings.LastIndexByte(whole, '-'); aerr != nil && tried > 0 {
					at, aerr = g.Attempt(whole[:tried])
				}
				if whole == r.run.ID || aerr == nil && !at.EndedAt.IsZero() {
					gone = append(gone, merge.Ref{Name: ref.Name})
				}
			}
			return nil
		})
	}
	for batch := range slices.Chunk(gone, maxGone) {
		if err == nil {
			err = merge.Push(ctx, to.Repo, to.Remote, batch...)
		}
	}
	if err != nil {
		r.bus.warn("", "what other machines needed stays at the remote: "+err.Error())
	}
}

// maxGone is how many refs a remote is told at once to forget.
const maxGone = 100

// forget has the remote forget what it has of an attempt that is settled, many at a time: a push is slower the more refs there
// are. What it does not forget now it does when the run ends.
func (r *Runner) forget(ctx context.Context, names ...string) {
	p := &r.published
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, name := range names {
		if name != "" {
			p.gone = append(p.gone, merge.Ref{Name: name})
		}
	}
	if len(p.gone) >= maxGone {
		_ = merge.Push(ctx, r.opts.Landing.Repo, r.opts.Landing.Remote, p.gone...)
		p.gone = nil
	}
}

// pack makes a commit of the files of an attempt.
func pack(ctx context.Context, repo *git.Repo, folder, message string) (string, error) {
	index := folder + ".index"
	defer func() { _ = os.Remove(index) }() // nobody needs it
	call := git.Call{WorkTree: folder, Index: index}
	if _, err := repo.Git(ctx, call, "-c", "core.autocrlf=false", "add", "--all", "--force", "."); err != nil {
		return "", err
	}
	tree, err := repo.Git(ctx, call, "write-tree")
	if err != nil {
		return "", err
	}
	return repo.CommitTree(ctx, strings.TrimSpace(tree), message, "")
}

// unpack writes the files of an attempt. Links in it are written as files: nothing is written elsewhere.
func unpack(ctx context.Context, repo *git.Repo, commit, folder string) error {
	index := folder + ".index"
	defer func() { _ = os.Remove(index) }() // nobody needs it
	call := git.Call{WorkTree: folder, Index: index}
	if _, err := repo.Git(ctx, call, "read-tree", commit); err != nil {
		return err
	}
	_, err := repo.Git(ctx, call, "-c", "core.symlinks=false", "-c", "core.autocrlf=false", "checkout-index", "--all", "--force", "--quiet")
	return err
}
