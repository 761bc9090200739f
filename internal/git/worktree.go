package git

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// Worktree is a folder in which files of the repository are checked out.
type Worktree struct {
	Dir    string
	GitDir string // has its index and its HEAD
	Branch string // the full name, "" when detached
	Rebase string // the branch that a rebase in progress will move at its end
}

// Call is a call of git in the working tree, with its own index.
func (w Worktree) Call() Call { return Call{Own: w.GitDir, WorkTree: w.Dir} }

// Worktrees lists the working trees that exist, the main one and the linked ones.
func (r *Repo) Worktrees(ctx context.Context) ([]Worktree, error) {
	out, err := r.Git(ctx, Call{}, "worktree", "list", "--porcelain", "-z")
	if err != nil {
		return nil, err
	}
	var list []Worktree
	for i, record := range strings.Split(strings.TrimSuffix(out, "\x00\x00"), "\x00\x00") {
		var w Worktree
		for _, line := range strings.Split(record, "\x00") {
			switch key, value, _ := strings.Cut(line, " "); key {
			case "worktree":
				w.Dir = value
			case "branch":
				w.Branch = value
			}
		}
		if i == 0 && r.own == r.common { // git does not know where a separate git folder has its files
			w.Dir = r.dir
		}
		at := filepath.Join(w.Dir, ".git")
		if _, err := os.Lstat(at); errors.Is(err, os.ErrNotExist) {
			continue // bare, or the folder is gone
		}
		w.GitDir, _ = gitDirs(at)
		// whatever way leads there, as the system names open files
		for _, dir := range []*string{&w.Dir, &w.GitDir} {
			if *dir, err = filepath.EvalSymlinks(*dir); err != nil {
				return nil, err
			}
		}
		for _, name := range []string{"rebase-merge", "rebase-apply"} {
			if text, err := os.ReadFile(filepath.Join(w.GitDir, name, "head-name")); err == nil {
				w.Rebase = strings.TrimSpace(string(text))
			}
		}
		list = append(list, w)
	}
	return list, nil
}
