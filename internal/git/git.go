// Package git asks the git program about a working tree, and compares what a repository has. It never changes a working tree, nor the
// repository that it belongs to, but for Repo, which is asked for by name.
package git

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // the length of an ID
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// ErrUnknown says that there is no git repository, or no git program: nobody can
// tell what changed.
var ErrUnknown = errors.New("no git repository, or no git program")

// State is where a working tree stands. The zero State means that there is no
// git repository, or no git.
type State struct {
	Branch      string // "" when detached or unborn
	Head        string // the full commit, "" when there is none yet
	Uncommitted []string
	Known       bool // there is a repository, and git could be asked
}

// timeout is how long git may take: a question must not hold up a run.
const timeout = 30 * time.Second

// Look asks about the tree that dir lies in, or about these files of it. Of a repository of ralph's own, people and agents know nothing.
func Look(ctx context.Context, dir string, only ...string) State {
	if Own(dir) {
		return State{}
	}
	args := []string{"--literal-pathspecs", "status", "--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--ignore-submodules=all", "--"}
	out, err := run(ctx, dir, nil, append(args, only...)...)
	if err != nil {
		return State{}
	}
	s := State{Known: true}
	words := map[byte]int{'#': 3, '1': 9, '2': 10, 'u': 11} // of a line, else 2; the last is a name, or what is asked
	fields := Split(out)
	for i := 0; i < len(fields); i++ {
		line := strings.SplitN(fields[i], " ", cmp.Or(words[fields[i][0]], 2))
		switch last := line[len(line)-1]; {
		case line[0] != "#":
			if s.Uncommitted = append(s.Uncommitted, last); line[0] == "2" {
				i++ // the name it had before
			}
		case line[1] == "branch.oid" && last != "(initial)":
			s.Head = last
		case line[1] == "branch.head" && last != "(detached)":
			s.Branch = last
		}
	}
	relate(s.Uncommitted, Top(dir), dir)
	slices.Sort(s.Uncommitted)
	return s
}

// Version is the version of the git program, an error if there is none.
func Version(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	out, err := command(ctx, "", "--version").Output()
	return strings.TrimPrefix(strings.TrimSpace(string(out)), "git version "), err
}

// Top is the top of the repository that dir lies in, or "". It is found
// without asking git: starting a program costs more than all else that an
// iteration does.
func Top(dir string) string { return cmp.Or(theirTop(dir), ownTop(dir)) }

// theirTop is Top for repositories of people.
func theirTop(dir string) string {
	for {
		if isRepository(dir) {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// isRepository says whether dir is the top of one. As for git, a .git folder without
// a HEAD is none: there are programs that leave an empty one in a temporary folder.
func isRepository(dir string) bool {
	at := filepath.Join(dir, ".git")
	info, err := os.Lstat(at)
	return err == nil && (!info.IsDir() || exists(filepath.Join(at, "HEAD")))
}

// relate makes names that begin at the top of a repository begin at dir, as all
// other names of files do.
func relate(names []string, top, dir string) {
	if top == dir {
		return
	}
	for i, name := range names {
		if rel, err := filepath.Rel(dir, filepath.Join(top, filepath.FromSlash(name))); err == nil {
			names[i] = filepath.ToSlash(rel)
		}
	}
}

func run(ctx context.Context, dir string, in io.Reader, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	if Top(dir) == "" { // starting git costs more than all else
		return nil, ErrUnknown
	}
	// No hooks, no pager, no program that checks signatures, no lock on the index: an agent may be committing.
	options := []string{"--no-optional-locks", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull, "-c", "log.showSignature=false"}
	cmd := command(ctx, dir, append(options, args...)...)
	cmd.Env = withoutFilters(ctx, dir)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout = in, &out
	verb := slices.IndexFunc(args, func(arg string) bool { return !strings.HasPrefix(arg, "-") })
	err := call(ctx, cmd, args[verb], nil)
	return out.Bytes(), err
}

// call runs git. The error is a CommandError with all that git said, which else goes to said.
func call(ctx context.Context, cmd *exec.Cmd, verb string, said io.Writer) error {
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	err := watch(cmd)
	if err != nil {
		return &CommandError{Verb: verb, Err: cmp.Or(context.Cause(ctx), err), Stderr: complaint.String()}
	}
	if said != nil {
		_, err = complaint.WriteTo(said)
	}
	return err
}

// lastLine is where git says what was fatal, unless advice follows.
func lastLine(text string) string {
	text = strings.ToValidUTF8(strings.TrimSpace(text), "?")
	if i := strings.LastIndex("\n"+text, "\nfatal: "); i >= 0 {
		text, _, _ = strings.Cut(text[i:], "\n")
	}
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// command runs git in dir. What git leaves running does not hold up whoever waits for it for long; on a machine that is busy
// its last words take seconds to be read.
func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.WaitDelay = dir, 10*time.Second
	return cmd
}

// accepting has the repositories that git accepted once.
var accepting sync.Map

// accepted says that git works in a repository. It must not be told where one is before:
// then it does not ask whose it is.
func accepted(ctx context.Context, top string, env []string) bool {
	if _, ok := accepting.Load(top); ok || Own(top) {
		return true
	}
	cmd := command(ctx, top, "rev-parse", "--git-dir")
	cmd.Env = append(slices.Clone(env), "GIT_CEILING_DIRECTORIES="+filepath.Dir(top))
	ok := watch(cmd) == nil
	if ok {
		accepting.Store(top, true)
	}
	return ok
}

// withoutFilters is our environment with every filter of the repository's own
// configuration switched off: git runs filters while it only looks, an agent can write
// that configuration, and ralph is not confined. The user's own filters stay.
func withoutFilters(ctx context.Context, dir string) []string {
	top, own, common := place(dir)
	var env []string
	count := 0
	for _, entry := range command(ctx, "").Environ() {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE":
			continue
		case "GIT_CONFIG_COUNT":
			count, _ = strconv.Atoi(value) // git refuses what is no number
		}
		env = append(env, entry)
	}
	if accepted(ctx, top, env) {
		// Git is told where the repository is, so that it reads the files that are read here.
		env = append(env, "GIT_DIR="+own, "GIT_WORK_TREE="+top)
	}
	if !mayFilter(filepath.Join(common, "config")) && !mayFilter(filepath.Join(own, "config.worktree")) {
		return env
	}
	cmd := command(ctx, dir, "config", "--show-scope", "--includes", "--name-only", "-z", "--get-regexp", `^filter\.`)
	cmd.Env = env
	var out bytes.Buffer
	cmd.Stdout = &out
	_ = watch(cmd) // an error says that there are none
	for pair := range slices.Chunk(Split(out.Bytes()), 2) {
		if len(pair) < 2 || pair[0] != "local" && pair[0] != "worktree" {
			continue
		}
		value := ""
		if strings.HasSuffix(strings.ToLower(pair[1]), ".required") {
			value = "false"
		}
		env = append(env, "GIT_CONFIG_KEY_"+strconv.Itoa(count)+"="+pair[1], "GIT_CONFIG_VALUE_"+strconv.Itoa(count)+"="+value)
		count++
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(count))
}

// mayFilter says that a configuration could name a filter, itself or in a file that it
// includes. Git need not be asked about most; the name of a section cannot be disguised.
func mayFilter(config string) bool {
	text, err := read(config)
	text = bytes.ToLower(text)
	return err != nil && !errors.Is(err, fs.ErrNotExist) || bytes.Contains(text, []byte("filter")) || bytes.Contains(text, []byte("include"))
}

// Head is the commit that is checked out in dir, or "" if there is none.
func Head(ctx context.Context, dir string) string {
	if _, id := head(dir); id != "" {
		return id
	}
	out, _ := run(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "HEAD")
	return strings.TrimSpace(string(out))
}

// head reads what is checked out in dir without asking git. The commit is "" where there
// is none, or where it is kept in another way than in files.
func head(dir string) (branch, id string) {
	_, own, common := place(dir)
	id = pointer(filepath.Join(own, "HEAD"))
	if ref, is := strings.CutPrefix(id, "ref: "); is && filepath.IsLocal(ref) {
		branch, id = strings.TrimPrefix(ref, "refs/heads/"), pointer(filepath.Join(common, filepath.FromSlash(ref)))
		if id == "" {
			packed, _ := read(filepath.Join(common, "packed-refs")) // most have few
			before, _, _ := strings.Cut(string(packed), " "+ref+"\n")
			id = before[strings.LastIndexByte(before, '\n')+1:]
		}
	}
	if !isID(id) {
		return "", ""
	}
	return branch, id
}

// place is the top of the repository that dir lies in, the .git folder of that working tree,
// and the one that holds the repository's objects.
func place(dir string) (top, own, common string) {
	dir, _ = filepath.Abs(dir)
	top = cmp.Or(Top(dir), dir)
	own, common = dirs(top)
	return top, own, common
}

// isID says that git takes it for the name of an object, and for nothing else.
func isID(id string) bool {
	return len(id) >= 2*sha1.Size && strings.Trim(id, "0123456789abcdef") == ""
}

// Stashed is an entry of git's stash.
type Stashed struct{ Name, Message string }

// Stashes lists the entries whose messages begin so, the newest first.
func Stashes(ctx context.Context, dir, prefix string) []Stashed {
	out, _ := run(ctx, dir, nil, "stash", "list", "-z", "--format=%gd %gs") // where git cannot say there are none
	var list []Stashed
	for _, entry := range Split(out) {
		name, message, _ := strings.Cut(entry, " ")
		_, message, _ = strings.Cut(message, ": ") // "On main"
		if strings.HasPrefix(message, prefix) {
			list = append(list, Stashed{Name: name, Message: message})
		}
	}
	return list
}
