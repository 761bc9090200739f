package merge

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"ralph/internal/git"
)

// Refs keeps what nothing else refers to yet from git's garbage collection.
const Refs = "refs/ralph/"

// WorkRef names what an attempt left.
func WorkRef(task, attempt string) string { return Refs + "work/" + task + "/" + attempt }

// StashRef names what an attempt left that no later one goes on with.
func StashRef(task, attempt string) string { return Refs + "stash/" + task + "/" + attempt }

// CandidateRef names the candidate of an entry of the queue.
func CandidateRef(n int64) string { return fmt.Sprintf("%scandidate/%d", Refs, n) }

// Ref is a name of a commit.
type Ref struct{ Name, Commit string }

// SetRefs sets all of these or none. A commit of "" deletes the name, if it exists.
func SetRefs(ctx context.Context, r *git.Repo, refs ...Ref) error {
	var in strings.Builder
	for _, ref := range refs {
		if !strings.HasPrefix(ref.Name, Refs) {
			return fmt.Errorf("set ref %s: it is not below %s", ref.Name, Refs)
		}
		if ref.Commit == "" {
			fmt.Fprintf(&in, "delete %s\x00\x00", ref.Name)
		} else {
			fmt.Fprintf(&in, "update %s\x00%s\x00\x00", ref.Name, ref.Commit)
		}
	}
	return Patiently(ctx, func() error {
		_, err := r.Git(ctx, git.Call{In: strings.NewReader(in.String()), Outlive: true}, "update-ref", "--no-deref", "-z", "--stdin")
		if !isLocked(err) {
			return err
		}
		if _, err := removeLocks(r, git.Worktree{}, refLocks(r)); err != nil {
			return err
		}
		return fmt.Errorf("%w: %w", ErrLocked, err)
	})
}

// refLocks are the lock files that a git which sets refs of ours can have left.
func refLocks(r *git.Repo) []string {
	files := []string{filepath.Join(r.Common(), "packed-refs.lock")}
	_ = filepath.WalkDir(filepath.Join(r.Common(), filepath.FromSlash(Refs)), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			files = append(files, path)
		}
		return nil
	})
	return files
}

// Patiently does something again for some seconds as long as it fails with ErrLocked.
func Patiently(ctx context.Context, do func() error) error {
	for tries := 1; ; tries++ {
		err := do()
		if !errors.Is(err, ErrLocked) || tries == 100 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// ListRefs lists the refs below a folder of Refs, such as "work/t-1", or all for "".
func ListRefs(ctx context.Context, r *git.Repo, under string) ([]Ref, error) {
	out, err := r.Git(ctx, git.Call{}, "for-each-ref", "--format=%(refname) %(objectname)", strings.TrimSuffix(Refs+under, "/"))
	if err != nil {
		return nil, err
	}
	var list []Ref
	for line := range strings.Lines(out) {
		name, commit, _ := strings.Cut(strings.TrimSpace(line), " ")
		list = append(list, Ref{Name: name, Commit: commit})
	}
	return list, nil
}

// Kept lists the refs of work that did not land, by attempt.
func Kept(ctx context.Context, r *git.Repo) (map[string]string, error) {
	refs, err := ListRefs(ctx, r, "work")
	kept := make(map[string]string, len(refs))
	for _, ref := range refs {
		kept[path.Base(ref.Name)] = ref.Name
	}
	return kept, err
}
