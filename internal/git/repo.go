package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// repoTimeout is how long one git command of a Repo may take: it may write every file.
const repoTimeout = 10 * time.Minute

// Repo is the repository of a project, for whoever adds to it: objects, refs, and working
// trees that ralph makes. Its configuration counts, filters included, but no hooks run.
type Repo struct {
	dir    string // the working tree of the project, or a bare repository
	own    string // the git folder of that working tree
	common string // the git folder that holds objects and refs
	env    []string
	aside  []string // folders of objects besides its own
	known  *known
}

// OpenRepo finds the repository that dir lies in, or that of ralph's own. The error is ErrUnknown where there is
// none that git accepts.
func OpenRepo(ctx context.Context, dir string) (*Repo, error) {
	if Own(dir) {
		return openOwn(ctx, ownTop(dir))
	}
	cmd := command(ctx, dir, "rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir")
	env := repoEnv(cmd)
	cmd.Env = env
	var out strings.Builder
	cmd.Stdout = &out
	err := call(ctx, cmd, "rev-parse", nil)
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if failed := new(CommandError); errors.As(err, &failed) && failed.Stderr != "" {
		err = errors.New(lastLine(failed.Stderr))
	} else if err == nil && len(lines) != 2 {
		err = fmt.Errorf("git rev-parse prints %q", out.String())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w (%w)", dir, ErrUnknown, err)
	}
	top := Top(dir)
	if top == "" { // bare
		top = lines[0]
	}
	return repoAt(top, lines[0], lines[1], append(env, "GIT_TERMINAL_PROMPT=0", "LC_ALL=C")), nil
}

// repoAt is a repository of which nothing is known yet.
func repoAt(dir, own, common string, env []string) *Repo {
	return &Repo{dir: dir, own: own, common: common, env: env, known: &known{}}
}

// Dir is the top of the project's working tree.
func (r *Repo) Dir() string { return r.dir }

// Common is the git folder that holds objects and refs.
func (r *Repo) Common() string { return r.common }

// Own is the git folder of the project's working tree: its index, HEAD, and what is sparse.
func (r *Repo) Own() string { return r.own }

// Aside is the repository for whoever only tries something: new objects go to a folder of their own, which is made.
func (r *Repo) Aside(objects string) (*Repo, error) {
	aside := *r
	aside.aside, aside.known = []string{objects}, &known{} // what is only there is unknown here
	aside.env = append(slices.Clone(r.env), "GIT_OBJECT_DIRECTORY="+objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES="+Quote(filepath.Join(r.common, "objects")))
	return &aside, os.MkdirAll(objects, 0o700) // without it git sees no repository
}

// Objects lists the folders that it reads objects from.
func (r *Repo) Objects() []string {
	return append(slices.Clone(r.aside), filepath.Join(r.common, "objects"))
}

// Writable returns why nothing can be stored, or nil. It creates nothing: a file that a killed process left in refs would be
// a broken ref.
func (r *Repo) Writable() error {
	for _, name := range []string{"objects", "refs"} {
		dir := filepath.Join(r.common, name)
		if err := writable(dir); err != nil {
			return &os.PathError{Op: "write to", Path: dir, Err: err}
		}
	}
	return nil
}

// Call says how git is run, besides its arguments. The zero Call looks at objects and refs.
type Call struct {
	WorkTree string // a folder of files; needs Index
	Index    string // the index of that folder, outside of it
	Own      string // the git folder of a working tree, if that is a person's and its own index counts
	Hooks    string // a folder with hooks to run; none otherwise
	Set      string // a setting for this call: key=value
	Env      []string
	In       io.Reader
	Said     io.Writer // gets what git says of its success besides its output

	// Outlive keeps git running when we are killed or ctx ends. It is for steps that
	// must not stop halfway; it inherits Holds, such as a locked file, as descriptor 3.
	Outlive bool
	Holds   *os.File
}

// ownIndex are settings under which an index of ours can be relied on, whoever wrote the
// files: a change cannot be hidden, no git runs in a repository inside, and no part of the
// index is in the project's git folder.
var ownIndex = []string{
	"-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "core.ignoreStat=false", "-c", "core.splitIndex=false",
	"-c", "core.safecrlf=false", "-c", "submodule.recurse=false",
}

// Git runs git on the repository and returns what it printed.
func (r *Repo) Git(ctx context.Context, c Call, args ...string) (string, error) {
	if c.Outlive {
		return r.outlive(c, args)
	}
	ctx, cancel := context.WithTimeout(ctx, repoTimeout)
	defer cancel()
	for try := 1; ; try++ {
		cmd := r.command(ctx, c, args)
		var out strings.Builder
		cmd.Stdout = &out
		err := call(ctx, cmd, args[0], c.Said)
		if try == storing || !swept(err) || !rewind(c.In) {
			return out.String(), err
		}
	}
}

// Plumbing runs git as a call says, with other input.
func (r *Repo) Plumbing(ctx context.Context, c Call) Plumbing {
	return func(in io.Reader, args ...string) (string, error) {
		c.In = in
		return r.Git(ctx, c, args...)
	}
}

// storing is how often git is run that cannot store an object because somebody else's git gc removes the folder for
// it, which is empty, between the two steps in which git makes the folder and writes into it.
const storing = 20

func swept(err error) bool {
	failed := new(CommandError)
	return errors.As(err, &failed) && strings.Contains(failed.Stderr, "unable to create temporary file: No such file or directory")
}

// rewind has a command read its input once more.
func rewind(in io.Reader) bool {
	if in == nil {
		return true
	}
	again, can := in.(io.Seeker)
	if can {
		_, err := again.Seek(0, io.SeekStart)
		can = err == nil
	}
	return can
}

func (r *Repo) command(ctx context.Context, c Call, args []string) *exec.Cmd {
	settings := []string{
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + cmp.Or(c.Hooks, os.DevNull), "-c", "gc.auto=0",
		"-c", "core.quotePath=false", "-c", "core.bare=false",
	}
	dir, env := r.common, append(slices.Clone(r.env), "GIT_DIR="+cmp.Or(c.Own, r.common))
	if c.WorkTree != "" {
		dir = c.WorkTree
		env = append(env, "GIT_WORK_TREE="+c.WorkTree)
	}
	if c.Index != "" {
		settings = append(settings, ownIndex...)
		env = append(env, "GIT_INDEX_FILE="+c.Index)
	}
	if c.Set != "" {
		settings = append(settings, "-c", c.Set)
	}
	cmd := command(ctx, dir, append(settings, args...)...)
	cmd.Env, cmd.Stdin = slices.Concat(env, c.Env), c.In
	return cmd
}

// outlive runs git in a session of its own, out of reach of signals to ours. Its output
// goes to a file: a pipe would kill git at its first word after our end.
func (r *Repo) outlive(c Call, args []string) (string, error) {
	said, err := os.CreateTemp("", "ralph-git-")
	if err != nil {
		return "", err
	}
	_ = os.Remove(said.Name()) // nobody would after our end; not all systems can while it is open
	defer func() { said.Close(); _ = os.Remove(said.Name()) }()
	ctx, cancel := context.WithTimeout(context.Background(), repoTimeout) // a filter may hang
	defer cancel()
	cmd := r.command(ctx, c, args)
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = said, said, ownSession()
	cmd.Cancel = func() error { return killSession(cmd.Process) }
	if c.Holds != nil && inherits {
		cmd.ExtraFiles = []*os.File{c.Holds}
	}
	err = watch(cmd)
	text, rerr := io.ReadAll(io.NewSectionReader(said, 0, 1<<30))
	if err != nil {
		return "", &CommandError{Verb: args[0], Err: err, Stderr: string(text)}
	}
	return string(text), rerr
}

// CommandError is a git command that did not succeed.
type CommandError struct {
	Verb   string
	Err    error
	Stderr string
}

func (e *CommandError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("git %s: %v: %s", e.Verb, e.Err, lastLine(e.Stderr)), ": ")
}

func (e *CommandError) Unwrap() error { return e.Err }

// Status is the exit status of the git command that err is about: 0 if it is about none, -1 if
// the command did not end by itself.
func Status(err error) int {
	exit := new(exec.ExitError)
	switch {
	case !errors.As(err, new(*CommandError)):
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

// Line is Git for what prints one line.
func (r *Repo) Line(ctx context.Context, args ...string) (string, error) {
	out, err := r.Git(ctx, Call{}, args...)
	return strings.TrimSuffix(out, "\n"), err
}

// Tree is the tree of a commit, or a tree itself.
func (r *Repo) Tree(ctx context.Context, of string) (string, error) {
	ask := func() (string, error) { return r.Line(ctx, "rev-parse", "--verify", of+"^{tree}") }
	if !isID(of) {
		return ask()
	}
	if _, is := r.known.get(treeOf(of)); !is {
		r.describe(ctx, of)
	}
	return r.Once(treeOf(of), ask)
}

// Parents are the parents of a commit, a line each.
func (r *Repo) Parents(ctx context.Context, commit string) (string, error) {
	ask := func() (string, error) { return r.Line(ctx, "rev-parse", commit+"^@") }
	if !isID(commit) {
		return ask()
	}
	return r.Once(parentsOf(commit), ask)
}

// Commit is the commit that a name stands for, or "" if there is none.
func (r *Repo) Commit(ctx context.Context, name string) (string, error) {
	id, err := r.Line(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if Status(err) == 1 {
		return "", nil
	}
	return id, err
}

// Has lists those of some texts that stand on a line of a file of a commit. Git reads the texts from a pipe: other users see its arguments.
func (r *Repo) Has(ctx context.Context, commit string, texts []string) ([]string, error) {
	texts = slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.Contains(text, "\n") })
	if len(texts) == 0 {
		return nil, nil
	}
	out, err := r.Git(ctx, Call{In: strings.NewReader(strings.Join(texts, "\n"))}, "grep", "-ohIF", "-f", "-", commit)
	if Status(err) == 1 {
		return nil, nil
	}
	return slices.DeleteFunc(texts, func(text string) bool { return !strings.Contains(out, text) }), err
}

// Within is the name, from dir on, of a file that git names from the top of the working tree on. False means that it lies outside.
func (r *Repo) Within(dir, name string) (string, bool) {
	names := []string{name}
	relate(names, r.dir, dir)
	return names[0], filepath.IsLocal(filepath.FromSlash(names[0]))
}
