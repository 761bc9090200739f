package merge

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/copyfile"
	"ralph/internal/git"
	"ralph/internal/testing/failpoint"
)

// Edits are what the project's folder has and the last commit does not, as git names it: from the top of the repository on.
type Edits struct {
	Names    []string
	Inside   []string   // repositories that git does not track
	Conflict []string   // files that a merge left unresolved
	Left     []git.Left // files that cannot be committed; the others are

	paths []string // what is not staged
}

// FindEdits looks for them. What is ralph's own is none.
func FindEdits(ctx context.Context, r *git.Repo, ours func(path string) bool) (e Edits, err error) {
	call := git.Call{Own: r.Own(), WorkTree: r.Dir(), Env: []string{"GIT_OPTIONAL_LOCKS=0"}}
	out, err := r.Git(ctx, call, "status", "--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignore-submodules=dirty")
	for _, line := range git.Split(out) {
		state, path := line[:2], line[3:]
		switch {
		case slices.Contains(strings.Split(path, "/"), ".ralph"), ours(path):
			continue
		case strings.HasSuffix(path, "/"):
			e.Inside = append(e.Inside, path)
			continue
		case strings.Contains(state, "U") || state == "AA" || state == "DD":
			if !r.Private() || marked(r, path) {
				e.Conflict = append(e.Conflict, path)
			}
		}
		e.Names = append(e.Names, path)
		if state[1] != ' ' {
			e.paths = append(e.paths, path)
		}
	}
	slices.Sort(e.Names)
	e.Names = slices.Compact(e.Names) // one that is no longer tracked has two states
	return e, err
}

// marked reports whether a file has markers of a conflict: without a git of their own, people resolve one by removing them.
func marked(r *git.Repo, path string) bool {
	text, err := copyfile.Read(filepath.Join(r.Dir(), filepath.FromSlash(path)), maxEdit)
	return err == nil && bytes.Contains(append([]byte("\n"), text...), []byte("\n<<<<<<< "))
}

// ErrConflict says that edits cannot be committed before a person has resolved what is in conflict.
var ErrConflict = errors.New("in conflict")

// maxEdit is the size of the largest file that a repository of ralph's own takes in, which is what may land.
const maxEdit = 512 << 20

// SaveEdits commits the edits on the branch that is checked out in the project's folder, while nothing lands there: what a landing that was
// interrupted has left there is no edit. Commit is "" if there is none. With idle, it does nothing as long as work waits beyond the branch.
func SaveEdits(ctx context.Context, r *git.Repo, branch, message string, idle bool, ours func(path string) bool) (e Edits, commit string, err error) {
	l := &landing{repo: r, target: branch}
	err = l.alone(ctx, func(p Place) (err error) {
		if idle && p.Landed != "" {
			return nil
		}
		if e, err = FindEdits(ctx, r, ours); err != nil || len(e.Names) == 0 {
			return err
		}
		if len(e.Conflict) > 0 {
			return ErrConflict
		}
		if err := e.stage(ctx, r); err != nil {
			return err
		}
		call := git.Call{Own: r.Own(), WorkTree: r.Dir()}
		_, err = r.Git(ctx, call, "diff", "--cached", "--quiet")
		if git.Status(err) != 1 { // nothing is staged
			return err
		}
		failpoint.Hit("before-commit")
		if _, err = r.Git(ctx, call, "commit", "--quiet", "--no-verify", "--message="+message); err == nil {
			commit, err = r.Commit(ctx, branch)
		}
		return err
	})
	return e, commit, err
}

// stage adds edits to the index. In a repository of ralph's own, one file that cannot be taken does not keep the others out.
func (e *Edits) stage(ctx context.Context, r *git.Repo) error {
	if len(e.paths) == 0 {
		return nil
	}
	call := git.Call{Own: r.Own(), WorkTree: r.Dir(), Env: []string{"GIT_LITERAL_PATHSPECS=1"}, In: git.Lines(e.paths)}
	if !r.Private() {
		_, err := r.Git(ctx, call, "add", "--all", "--pathspec-from-file=-", "--pathspec-file-nul")
		return err
	}
	folder := git.Folder{Dir: r.Dir(), Max: maxEdit, Git: r.Plumbing(ctx, call)}
	up, err := folder.Update(e.paths)
	e.Left = up.Left
	for _, name := range up.Large {
		e.Left = append(e.Left, git.Left{Path: name, Why: "it is larger than 512 MiB"})
	}
	return err
}
