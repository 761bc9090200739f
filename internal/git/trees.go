package git

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Trees are trees of the repository around a project, or of the project's folder alone. Files are named as they are seen from Sub, the
// project's folder: those outside of it begin with "../".
type Trees struct {
	Dir string // the project
	Sub string // with slashes; "" if all of a tree is the project
}

// Name is what a tree calls a file that is seen from the project.
func (t Trees) Name(seen string) string { return path.Join(t.Sub, seen) }

// Seen is what a file of a tree is called in the project.
func (t Trees) Seen(name string) string {
	if t.Sub == "" || name == "" {
		return name
	}
	rel, err := filepath.Rel(filepath.FromSlash(t.Sub), filepath.FromSlash(name))
	if err != nil { // neither is absolute
		return name
	}
	return filepath.ToSlash(rel)
}

// Outside reports whether a file is not in the project.
func Outside(seen string) bool { return strings.HasPrefix(seen, "../") }

// ours has a git folder of ours for one call of git: what an agent may have written in the repository's own, its configuration, its
// attributes and its index, does not count.
func (t Trees) ours(like string) (dir string, err error) {
	if err = os.MkdirAll(filepath.Join(t.Dir, state), 0o700); err == nil {
		dir, err = os.MkdirTemp(filepath.Join(t.Dir, state), "trees-")
	}
	for _, name := range []string{"objects", "refs"} {
		if err == nil {
			err = os.Mkdir(filepath.Join(dir, name), 0o700)
		}
	}
	files := map[string]string{"HEAD": "ref: refs/heads/none\n"}
	if len(like) == 2*sha256.Size {
		files["config"] = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
	}
	for name, text := range files {
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600)
		}
	}
	return dir, err
}

// git runs git on objects of the repository, and on those that an older ralph stored in the project's state. Trees are refused that are
// not IDs, so that git takes none of them for an option.
func (t Trees) git(ctx context.Context, in io.Reader, out io.Writer, trees []string, args ...string) error {
	if real, err := filepath.EvalSymlinks(t.Dir); err == nil {
		t.Dir = real
	}
	_, _, common := place(t.Dir)
	stores := []string{filepath.Join(common, "objects"), filepath.Join(t.Dir, state, "objects", "objects")}
	if Top(t.Dir) == "" || !isDir(stores[0]) {
		return fmt.Errorf("%s: %w", t.Dir, ErrUnknown)
	}
	like := ""
	for _, like = range trees {
		if !isID(like) {
			return fmt.Errorf("%q is not the ID of a tree", like)
		}
	}
	dir, err := t.ours(like)
	defer func() { _ = os.RemoveAll(dir) }() // what is left is a temporary file
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, repoTimeout)
	defer cancel()
	cmd := command(ctx, dir, append([]string{"-c", "core.quotePath=false", "-c", "core.attributesFile=" + os.DevNull}, args...)...)
	list := ""
	var env []string
	for _, entry := range cmd.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "GIT_ALTERNATE_OBJECT_DIRECTORIES" && value != "":
			list = string(os.PathListSeparator) + value
		case name == "GIT_EXEC_PATH", !strings.HasPrefix(name, "GIT_"):
			env = append(env, entry)
		}
	}
	list = Quote(stores[0]) + list
	if isDir(stores[1]) {
		list = Quote(stores[1]) + string(os.PathListSeparator) + list
	}
	cmd.Stdin, cmd.Stdout = in, out
	cmd.Env = slices.Concat(env, ownEnv, []string{"GIT_DIR=" + dir, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + list, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C"})
	return call(ctx, cmd, args[0], nil)
}

// Quote protects a path that has the separator of a list in it.
func Quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(filepath.ToSlash(path)) + `"`
}

// Modes are those of the files of a tree.
func (t Trees) Modes(ctx context.Context, tree string) (map[string]string, error) {
	at, err := entries(func(in io.Reader, args ...string) (string, error) {
		var out bytes.Buffer
		err := t.git(ctx, in, &out, []string{tree}, args...)
		return out.String(), err
	}, tree)
	modes := make(map[string]string, len(at))
	for name, entry := range at {
		modes[t.Seen(name)] = entry.Mode
	}
	return modes, err
}

// Files lists the names of the files in a tree.
func (t Trees) Files(ctx context.Context, tree string) ([]string, error) {
	modes, err := t.Modes(ctx, tree)
	return slices.Sorted(maps.Keys(modes)), err
}

// Missing lists those of some trees that are not there any more.
func (t Trees) Missing(ctx context.Context, trees ...string) (gone []string, err error) {
	var out bytes.Buffer
	err = t.git(ctx, strings.NewReader(strings.Join(trees, "\n")+"\n"), &out, trees, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	there := strings.Split(out.String(), "\n")
	for _, id := range trees {
		if err == nil && !slices.Contains(there, id+" tree") {
			gone = append(gone, id)
		}
	}
	return gone, err
}

// Whole reports whether a tree is one of the repository: an older ralph stored those of the project's folder alone.
func (t Trees) Whole(ctx context.Context, tree string) bool {
	if t.Sub == "" {
		return true
	}
	var kind strings.Builder
	err := t.git(ctx, nil, &kind, []string{tree}, "cat-file", "-t", tree+":"+t.Sub)
	return err == nil && kind.String() == "tree\n"
}
