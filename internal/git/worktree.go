package git

import (
	"context"
	"path/filepath"
	"strings"
)

// Worktree is a folder in which files of the repository are checked out.
type Worktree struct {
	Dir    string
	GitDir string // has its index and its HEAD
	Head   string // the commit, "" if there is none yet
	Branch string // the full name, "" when detached
	Rebase string // the branch that a rebase in progress will move at its end
}

// Call is a call of git in the working tree, with its own index.
func (w Worktree) Call() Call { return Call{Own: w.GitDir, WorkTree: w.Dir} }

// Worktrees lists the working trees that exist, the main one and the linked ones.
func (r *Repo) Worktrees(ctx context.Context) (list []Worktree, err error) {
	var out string
	branch, id := head(r.dir)
	if alone := r.own == r.common && !exists(filepath.Join(r.common, "worktrees")); alone && id != "" && branch != "" && !strings.HasPrefix(branch, "refs/") {
		out = "worktree " + r.dir + "\x00HEAD " + id + "\x00branch refs/heads/" + branch
	} else if out, err = r.Git(ctx, Call{}, "worktree", "list", "--porcelain", "-z"); err != nil {
		return nil, err
	}
	for i, record := range strings.Split(strings.TrimSuffix(out, "\x00\x00"), "\x00\x00") {
		var w Worktree
		for _, line := range strings.Split(record, "\x00") {
			switch key, value, _ := strings.Cut(line, " "); key {
			case "worktree":
				w.Dir = value
			case "HEAD":
				w.Head = value
				if strings.Trim(value, "0") == "" { // unborn
					w.Head = ""
				}
			case "branch":
				w.Branch = value
			}
		}
		if i == 0 && r.own == r.common { // git does not know where a separate git folder has its files
			w.Dir = r.dir
		}
		if w.Dir, err = filepath.EvalSymlinks(w.Dir); err != nil { // it is known by this name, whatever way leads there
			continue // gone
		}
		if w.GitDir, _ = dirs(w.Dir); !exists(filepath.Join(w.GitDir, "HEAD")) {
			continue // bare
		}
		for _, name := range []string{"rebase-merge", "rebase-apply"} {
			if text, err := read(filepath.Join(w.GitDir, name, "head-name")); err == nil {
				w.Rebase = strings.TrimSpace(string(text))
			}
		}
		list = append(list, w)
	}
	return list, nil
}

// Unfinished names what git is in the middle of in the project's working tree, such as a merge; "" if it is in the middle of nothing.
func (r *Repo) Unfinished() string {
	for _, doing := range [][2]string{
		{"MERGE_HEAD", "merge"},
		{"rebase-merge", "rebase"},
		{"rebase-apply", "rebase"},
		{"CHERRY_PICK_HEAD", "cherry-pick"},
		{"REVERT_HEAD", "revert"},
		{"BISECT_LOG", "bisect"},
	} {
		if exists(filepath.Join(r.own, doing[0])) {
			return doing[1]
		}
	}
	return ""
}
