package merge

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"ralph/internal/git"
)

// Refs keeps what nothing else refers to yet from git's garbage collection. A name ends with a branch (LandedRef), or with
// an attempt, which tells whose it is: a repository may have several projects, in worktrees or
// subfolders, with a database each, and their tasks may have the same IDs.
const Refs = "refs/ralph/"

// WorkRef names what an attempt left.
func WorkRef(task, attempt string) string { return Refs + "work/" + task + "/" + attempt }

// StashRef names what an attempt left that no later one goes on with.
func StashRef(task, attempt string) string { return Refs + "stash/" + task + "/" + attempt }

// CandidateRef names the candidate that an attempt has in the queue.
func CandidateRef(attempt string) string { return Refs + "candidate/" + attempt }

// Ref is a name of a commit.
type Ref struct{ Name, Commit string }

// SetRefs sets all of these or none. A commit of "" deletes the name, if it exists.
func SetRefs(ctx context.Context, r *git.Repo, refs ...Ref) error {
	alone, err := Lock(ctx, r, "refs")
	if err != nil {
		return err
	}
	defer alone.Close()
	at := func(name string) string { return filepath.Join(r.Common(), filepath.FromSlash(name)) }
	// Nobody else is here, so that a lock was left by a git that was killed.
	_ = filepath.WalkDir(at(Refs), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".lock") {
			_ = os.Remove(path)
		}
		return nil
	})
	var in strings.Builder
	gone := map[string]bool{}
	for _, ref := range refs {
		switch {
		case !strings.HasPrefix(ref.Name, Refs):
			return fmt.Errorf("set ref %s: it is not below %s", ref.Name, Refs)
		case ref.Commit != "":
			fmt.Fprintf(&in, "update %s\x00%s\x00\x00", ref.Name, ref.Commit)
		default:
			// To delete a ref, git locks those of everybody, and would leave that if it was killed.
			// It need not, unless somebody has packed ours with the others.
			_, _ = os.Remove(at(ref.Name)), os.Remove(path.Dir(at(ref.Name)))
			gone[ref.Name] = true
		}
	}
	if len(gone) > 0 {
		packed, err := ListRefs(ctx, r)
		if err != nil {
			return err
		}
		for _, ref := range packed {
			if gone[ref.Name] {
				fmt.Fprintf(&in, "delete %s\x00\x00", ref.Name)
			}
		}
	}
	if in.Len() == 0 || len(refs) == 1 && r.SetRef(ctx, refs[0].Name, refs[0].Commit) {
		return nil
	}
	call := git.Call{In: strings.NewReader(in.String()), Outlive: true, Holds: alone}
	_, err = r.Git(ctx, call, "update-ref", "--no-deref", "-z", "--stdin")
	return err
}

// Kind says what a ref is of: "work", "stash", "candidate", "landed", "landed-on" or "folder".
func (r Ref) Kind() string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(r.Name, Refs), "/")
	return kind
}

// OfAttempt says that a ref is of an attempt, and not of a branch or a folder.
func (r Ref) OfAttempt() bool { return !strings.HasPrefix(r.Kind(), "landed") && r.Kind() != "folder" }

// Attempt is the attempt that a ref is of.
func (r Ref) Attempt() string { return path.Base(r.Name) }

// ListRefs lists the refs of all projects.
func ListRefs(ctx context.Context, r *git.Repo) ([]Ref, error) {
	refs, err := r.Refs(ctx, Refs)
	var list []Ref
	for _, ref := range refs {
		list = append(list, Ref{Name: ref.Name, Commit: ref.ID})
	}
	return list, err
}

// Kept lists the refs of work that did not land, by attempt.
func Kept(ctx context.Context, r *git.Repo) (map[string]string, error) {
	refs, err := ListRefs(ctx, r)
	kept := map[string]string{}
	for _, ref := range refs {
		if ref.Kind() == "work" {
			kept[ref.Attempt()] = ref.Name
		}
	}
	return kept, err
}
