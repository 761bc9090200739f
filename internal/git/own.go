package git

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/atomicfile"
	"ralph/internal/plain"
)

// A project in a folder without git has a repository of ralph's own in its state. Everything here takes it for one whose git folder lies
// elsewhere; no other git program finds it.
const (
	state     = ".ralph"
	ownFolder = "repository"
)

// OwnBranch is the branch of a repository of ralph's own: it has the files of the folder.
const OwnBranch = "this-folder"

// ownIn is where ralph's own repository of a folder is, or would be.
func ownIn(dir string) string { return filepath.Join(dir, state, ownFolder) }

// ownTop is the project around dir, if that has a repository of ralph's own.
func ownTop(dir string) string {
	for {
		if isDir(filepath.Join(dir, state)) {
			if exists(filepath.Join(ownIn(dir), "HEAD")) {
				return dir
			}
			return ""
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// dirs are the git folders of the repository that has its files in top.
func dirs(top string) (own, common string) {
	if Own(top) {
		return ownIn(top), ownIn(top)
	}
	return gitDirs(filepath.Join(top, ".git"))
}

// Own reports whether the repository around dir is one of ralph's own.
func Own(dir string) bool { return theirTop(dir) == "" && ownTop(dir) != "" }

// Private reports whether this is a repository of ralph's own.
func (r *Repo) Private() bool { return r.common == ownIn(r.dir) }

// Typed is how people type git for the repository around dir, from the folder in which this process was started.
func Typed(dir string) string {
	if !Own(dir) {
		return "git"
	}
	top := ownTop(dir)
	if here, err := filepath.Abs("."); err == nil {
		if here, err = filepath.EvalSymlinks(here); err == nil {
			if name, err := filepath.Rel(here, top); err == nil && len(name) < len(top) {
				top = name
			}
		}
	}
	typed := "git --git-dir=" + plain.ShellQuote(ownIn(top))
	if top != "." { // git takes the current folder for the one with the files
		typed += " --work-tree=" + plain.ShellQuote(top)
	}
	return typed
}

// ownSettings are those of a repository of ralph's own: files come back byte by byte, and nothing of a person's counts.
const ownSettings = `[core]
	bare = false
	autocrlf = false
	safecrlf = false
[user]
	name = ralph
	email = ralph@localhost
[commit]
	gpgSign = false
`

// attributes have the last word over every .gitattributes: bytes are kept as they are.
const attributes = "* -text !eol -ident -filter -working-tree-encoding !diff !whitespace\n"

// ownEnv has git read no settings but the repository's.
var ownEnv = []string{"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1"}

// MakeOwn makes a repository of ralph's own for a folder that lies in none, unless there is one. It has a commit without files.
func MakeOwn(ctx context.Context, dir string) error {
	if err := os.MkdirAll(filepath.Join(dir, state), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Join(dir, state), ownFolder+"-") // beside its place, to which it is moved whole
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // nothing is there if it was moved
	cmd := command(ctx, dir, "init", "-q", "--template=", "--object-format=sha1", "--initial-branch="+OwnBranch)
	cmd.Env = append(repoEnv(cmd), append(ownEnv, "GIT_DIR="+temp)...)
	if err := call(ctx, cmd, "init", nil); err != nil {
		return err
	}
	config, err := os.OpenFile(filepath.Join(temp, "config"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = config.WriteString(ownSettings)
	if err = errors.Join(err, config.Close(), os.MkdirAll(filepath.Join(temp, "info"), 0o700)); err == nil {
		err = os.WriteFile(filepath.Join(temp, "info", "attributes"), []byte(attributes), 0o600)
	}
	made := repoAt(dir, temp, temp, cmd.Env)
	tree, commit := "", ""
	if err == nil {
		tree, err = made.Line(ctx, "mktree") // of nothing
	}
	if err == nil {
		commit, err = made.CommitTree(ctx, tree, "Begin\n", "")
	}
	if err == nil {
		_, err = made.Line(ctx, "update-ref", "refs/heads/"+OwnBranch, commit)
	}
	if err == nil {
		err = os.Rename(temp, ownIn(dir))
	}
	if err != nil && ownTop(dir) == dir { // another process was faster
		return nil
	}
	return err
}

// Exclude has a repository of ralph's own leave out what these patterns name, and ralph's state.
func (r *Repo) Exclude(patterns []string) error {
	list := append([]string{"/" + state + "/"}, patterns...)
	return atomicfile.Write(filepath.Join(r.common, "info", "exclude"), []byte(strings.Join(list, "\n")+"\n"))
}

// openOwn opens the repository of ralph's own.
func openOwn(ctx context.Context, top string) (*Repo, error) {
	if _, err := exec.LookPath("git"); err != nil {
		return nil, errors.Join(ErrUnknown, err)
	}
	env := append(repoEnv(command(ctx, top)), ownEnv...)
	return repoAt(top, ownIn(top), ownIn(top), append(env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")), nil
}

// repoEnv is the environment of a command without what would name another repository.
func repoEnv(cmd *exec.Cmd) []string {
	return slices.DeleteFunc(cmd.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains([]string{"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_NAMESPACE", "GIT_PREFIX"}, name)
	})
}
