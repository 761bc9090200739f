package remote

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/internal/git"
	"ralph/internal/merge"
	"ralph/loop/policy"
)

// Refs are what a remote has of a run. The target is pushed once, and what no one needs any more is removed.
type Refs struct {
	Repo   *git.Repo
	Remote string

	mu   sync.Mutex
	tip  string
	gone []merge.Ref
}

// Publish pushes what an attempt begins with, as far as the remote does not have it. Begin finds that under the
// lock: who looked at the target first must not push it last.
func (r *Refs) Publish(ctx context.Context, run, attempt string, begin func() (tip, start string, err error)) (tip, start string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if tip, start, err = begin(); err != nil {
		return "", "", err
	}
	var refs []merge.Ref
	if tip != r.tip {
		refs = append(refs, merge.Ref{Name: merge.TargetRef(run), Commit: tip})
	}
	if start == tip {
		start = ""
	} else {
		refs = append(refs, merge.Ref{Name: merge.StartRef(attempt), Commit: start})
	}
	if len(refs) == 0 {
		return tip, start, nil
	}
	if err = patiently(ctx, brief, func() error { return merge.Push(ctx, r.Repo, r.Remote, refs...) }); err != nil {
		return "", "", policy.Halted{Reason: err.Error() + "; other machines need it to get at the code"}
	}
	r.tip = tip
	return tip, start, nil
}

// How long a remote that does not answer is waited for: by a run, which says so then and can go on later, and by a machine that
// would lose the work of an agent.
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

// Fetch fetches the commit of a result, and no other: another machine that made the same attempt, late, has pushed to a ref that no one
// reads. The files of the attempt go into a folder; the work counts without them, too.
func (r *Refs) Fetch(patience context.Context, task, attempt, folder string, res Result, warn func(string)) error {
	ctx := context.WithoutCancel(patience) // what an interrupted attempt left is fetched, if that can be done now
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	work, log := res.refs(task, attempt)
	get := func(most time.Duration, ref, commit string) error {
		var got []string
		err := patiently(patience, most, func() (err error) {
			if got, err = merge.Fetch(ctx, r.Repo, r.Remote, ref); err != nil {
				warn("the work of " + task + " is made, and is not fetched yet: " + err.Error())
			}
			return err
		})
		if err == nil && got[0] != commit {
			err = fmt.Errorf("%s has %.10s at %s, and %.10s was delivered", r.Remote, got[0], ref, commit)
		}
		return err
	}
	if work != "" {
		if have, err := merge.Existing(ctx, r.Repo, []string{res.Work}); err != nil || len(have) == 0 {
			if err := get(forEver, work, res.Work); err != nil {
				return err
			}
		}
		if err := merge.SetRefs(ctx, r.Repo, merge.Ref{Name: merge.WorkRef(task, attempt), Commit: res.Work}); err != nil {
			return err
		}
	}
	if log == "" {
		return nil
	}
	err := get(brief, log, res.Log)
	if err == nil {
		err = unpack(ctx, r.Repo, res.Log, folder)
	}
	if err != nil {
		warn("what was said in attempt " + attempt + " is not here: " + err.Error())
	}
	return nil
}

// Clean removes what the remote has of a run that has ended, and what machines that were late left of earlier ones.
func (r *Refs) Clean(ctx context.Context, over func(id string) bool) error {
	refs, err := merge.RemoteRefs(ctx, r.Repo, r.Remote)
	var gone []merge.Ref
	for _, ref := range refs {
		id := ref.Attempt()
		if over(id) || over(id[:max(strings.LastIndexByte(id, '-'), 0)]) { // without the try
			gone = append(gone, merge.Ref{Name: ref.Name})
		}
	}
	for batch := range slices.Chunk(gone, maxGone) {
		if err == nil {
			err = merge.Push(ctx, r.Repo, r.Remote, batch...)
		}
	}
	return err
}

// maxGone is how many refs one push removes.
const maxGone = 100

// Forget has the remote forget what it has of a result that is stored, many at a time: a push is slower the more refs there
// are. What it does not forget now it does when the run ends.
func (r *Refs) Forget(ctx context.Context, task, attempt string, res Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	work, log := res.refs(task, attempt)
	for _, name := range []string{work, log} {
		if name != "" {
			r.gone = append(r.gone, merge.Ref{Name: name})
		}
	}
	if len(r.gone) >= maxGone {
		_ = merge.Push(ctx, r.Repo, r.Remote, r.gone...)
		r.gone = nil
	}
}

// pack makes a commit of the files of an attempt.
func pack(ctx context.Context, repo *git.Repo, folder, message string) (string, error) {
	index := folder + ".index"
	defer func() { _ = os.Remove(index) }() // it is not needed any more
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
	defer func() { _ = os.Remove(index) }() // it is not needed any more
	call := git.Call{WorkTree: folder, Index: index}
	if _, err := repo.Git(ctx, call, "read-tree", commit); err != nil {
		return err
	}
	_, err := repo.Git(ctx, call, "-c", "core.symlinks=false", "-c", "core.autocrlf=false", "checkout-index", "--all", "--force", "--quiet")
	return err
}
