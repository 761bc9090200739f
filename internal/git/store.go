package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/internal/atomicfile"
	"ralph/internal/proc"
)

// ErrUnknown says that there is no git repository, or no git program: nobody can
// tell what changed.
var ErrUnknown = errors.New("no git repository, or no git program")

// treeTimeout is how long one step of taking a tree may last. The first one
// reads every file.
const treeTimeout = 10 * time.Minute

// store is a repository of our own that looks at somebody else's working tree. It uses
// none of their configuration, attributes, index and hooks, which an agent may have
// written: no filter, monitor or hook can run, and no flag in an index can hide a file.
type store struct {
	dir    string // the folder whose files are meant
	top    string // of the repository that it lies in
	theirs string // the .git folder of that working tree
	common string // the .git folder that holds the repository's objects
	path   string // ours
	inside string // where dir is in the one that was asked about, if it is not that
}

// openStore finds the repository of dir and makes our own in the folder objects. It
// refuses trees that are not IDs, so that git takes none of them for an option.
func openStore(ctx context.Context, dir, objects string, trees ...string) (*store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	s := &store{dir: dir, top: Top(dir)}
	s.path = filepath.Clean(objects)
	if s.top == "" {
		return nil, fmt.Errorf("%s: %w", dir, ErrUnknown)
	}
	err = s.find()
	if err == nil {
		_, err = exec.LookPath("git")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (%w)", dir, ErrUnknown, err)
	}
	if !filepath.IsAbs(objects) { // what is in the way of a store is removed
		return nil, fmt.Errorf("the folder for trees has to be named by an absolute path, and not by %q", objects)
	}
	if err := s.create(ctx); err != nil {
		return nil, fmt.Errorf("make a store of trees in %s: %w", objects, err)
	}
	for _, id := range trees {
		if !isID(id) {
			return nil, fmt.Errorf("%q is not the ID of a tree", id)
		}
	}
	return s, nil
}

// find looks for the repository's own folders.
func (s *store) find() error {
	s.theirs, s.common = dirs(s.top)
	_, err := os.Stat(filepath.Join(s.common, "objects"))
	return err
}

// attributes has the last word over every .gitattributes: bytes are kept as they
// are, and no file is declared binary to keep it out of a patch.
const attributes = "* -text !eol -ident -filter -working-tree-encoding !diff !whitespace\n"

// create makes our repository, once, and gives it the ignore rules that are not
// in the working tree.
func (s *store) create(ctx context.Context) error {
	if !s.whole() {
		if err := s.begin(ctx); err != nil {
			return err
		}
		if err := s.rules(ctx); err != nil {
			return err
		}
	}
	return put(filepath.Join(s.path, "info", "attributes"), []byte(attributes))
}

// whole reports whether our repository has what git takes one by, and the attributes.
func (s *store) whole() bool {
	for _, name := range []string{"HEAD", "objects", "refs", filepath.Join("info", "attributes")} {
		if _, err := os.Stat(filepath.Join(s.path, name)); err != nil {
			return false
		}
	}
	return true
}

// Rules makes trees of dir go by the ignore rules outside of the working tree, the
// repository's own and a person's, as they are now. Until it is called again, what
// somebody adds to them hides nothing. The first tree calls it by itself.
func Rules(ctx context.Context, dir, objects string) error {
	s, err := openStore(ctx, dir, objects)
	if err != nil {
		return err
	}
	return s.rules(ctx)
}

func (s *store) rules(ctx context.Context) error {
	exclude, err := read(filepath.Join(s.common, "info", "exclude"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	// A setting that is only a name runs nothing, and people expect this one.
	named, _ := run(ctx, s.top, nil, "config", "--type=path", "core.excludesFile")
	file := strings.TrimSuffix(string(named), "\n")
	if file == "" { // where git looks then
		home, _ := os.UserHomeDir()
		config := proc.Getenv(command(ctx, "").Environ(), "XDG_CONFIG_HOME")
		file = filepath.Join(cmp.Or(config, filepath.Join(home, ".config")), "git", "ignore")
	}
	if more, err := read(join(s.top, file)); err == nil {
		exclude = slices.Concat(more, []byte("\n"), exclude)
	}
	return put(filepath.Join(s.path, "info", "exclude"), exclude)
}

// begin makes the repository beside its place and moves it there whole: another
// worker, or another run, may be about to do the same. What is left of one that was deleted goes.
func (s *store) begin(ctx context.Context) error {
	if err := os.MkdirAll(filepath.Dir(s.path), 0o700); err != nil {
		return err
	}
	made := *s
	var err error
	if made.path, err = os.MkdirTemp(filepath.Dir(s.path), "trees-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(made.path) }() // nothing is there if it was moved
	format := "sha1"
	out, _ := made.git(ctx, nil, nil, "config", "--file", filepath.Join(s.common, "config"), "extensions.objectformat")
	if strings.TrimSpace(out) == "sha256" {
		format = "sha256"
	}
	if _, err := made.git(ctx, nil, nil, "init", "-q", "--template=", "--object-format="+format); err != nil {
		return err
	}
	if err := put(filepath.Join(made.path, "info", "attributes"), []byte(attributes)); err != nil {
		return err
	}
	err = os.Rename(made.path, s.path)
	if err != nil && !s.whole() { // by one step: none that another worker puts there is deleted in part
		left := made.path + "-left"
		defer func() { _ = os.RemoveAll(left) }()
		err = errors.Join(os.Rename(s.path, left), os.Rename(made.path, s.path))
	}
	if s.whole() {
		return nil // whoever was faster
	}
	return err
}

// put writes a file, whole, unless it says so already: a second worker may be reading.
func put(path string, data []byte) error {
	if was, err := os.ReadFile(path); err == nil && bytes.Equal(was, data) {
		return nil
	}
	return atomicfile.Write(path, data)
}

// environment points git at our repository and away from everybody's settings.
// The repository's own objects are read, so that only new ones need be written.
func (s *store) environment(cmd *exec.Cmd) []string {
	var env []string
	list := string(os.PathListSeparator)
	alternates := Quote(filepath.Join(s.common, "objects"))
	for _, entry := range cmd.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case name == "GIT_ALTERNATE_OBJECT_DIRECTORIES" && value != "":
			alternates += list + value
		case name == "GIT_EXEC_PATH", !strings.HasPrefix(name, "GIT_"):
			env = append(env, entry)
		}
	}
	return append(env,
		"GIT_DIR="+s.path, "GIT_WORK_TREE="+s.top, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+alternates,
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")
}

// Quote protects a path that has the separator of a list in it.
func Quote(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(filepath.ToSlash(path)) + `"`
}

// git runs git on our repository, in the folder that is asked about.
func (s *store) git(ctx context.Context, env []string, in io.Reader, args ...string) (string, error) {
	var out strings.Builder
	err := s.stream(ctx, env, in, &out, args...)
	return out.String(), err
}

func (s *store) stream(ctx context.Context, env []string, in io.Reader, out io.Writer, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, treeTimeout)
	defer cancel()
	cmd := command(ctx, s.dir, append([]string{
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull,
		"-c", "core.attributesFile=" + os.DevNull, "-c", "core.excludesFile=" + os.DevNull, "-c", "core.quotePath=false", "-c", "core.looseCompression=1", "-c", "gc.auto=0",
		"-c", "core.untrackedCache=true", "-c", "status.showUntrackedFiles=all",
	}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Env = in, out, append(s.environment(cmd), env...)
	return call(ctx, cmd, args[0], nil)
}

// index names the file in which we remember what files looked like when they were
// last read. Another folder needs another.
func (s *store) index() string {
	sum := sha256.Sum256([]byte(s.dir))
	return filepath.Join(s.path, fmt.Sprintf("index-%x", sum[:6]))
}

// forget removes all indexes, of other folders too, so that the next tree reads
// every file again. It reports whether there was any.
func (s *store) forget() (any bool, err error) {
	indexes, _ := filepath.Glob(filepath.Join(s.path, "index-*"))
	for _, index := range indexes {
		if rerr := os.Remove(index); !errors.Is(rerr, fs.ErrNotExist) { // or another worker was faster
			err = errors.Join(err, rerr)
		}
	}
	return len(indexes) > 0, err
}
