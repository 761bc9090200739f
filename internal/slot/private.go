package slot

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/internal/copyfile"
	"ralph/internal/git"
	"ralph/internal/seq"
)

// private puts a new .git into the slot. It is written as files, so that no git ever starts
// from what an agent left, and complete before it takes the place of the old one. What
// submodules have there stays: setting them up again can take long.
func (s *Slot) private(ctx context.Context, commit string) error {
	fresh := filepath.Join(s.p.o.Dir, ".git-"+strconv.Itoa(s.n))
	old := filepath.Join(s.Top(), ".git")
	err := os.RemoveAll(fresh)
	for _, name := range []string{"objects/pack", "refs/heads"} { // git wants to see them
		err = errors.Join(err, os.MkdirAll(filepath.Join(fresh, filepath.FromSlash(name)), 0o700))
	}
	if err != nil {
		return err
	}
	modules := false
	if !s.made.Unclean && isDir(old) && isDir(filepath.Join(old, "modules")) {
		if err := os.Rename(filepath.Join(old, "modules"), filepath.Join(fresh, "modules")); err != nil {
			return err
		}
		modules = true
	}
	root, err := os.OpenRoot(fresh)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := s.fillGit(ctx, root, modules); err != nil {
		return err
	}
	if err := errors.Join(s.pointIn(root, commit, s.index()), removeAll(old)); err != nil {
		return err
	}
	return os.Rename(fresh, old)
}

// seenRefs are the folders of refs of the project that agents and gates see.
var seenRefs = []string{"refs/heads", "refs/notes", "refs/remotes", "refs/tags"}

// fillGit writes what does not depend on the commit.
func (s *Slot) fillGit(ctx context.Context, root *os.Root, modules bool) error {
	repo := s.p.o.Repo
	config, err := s.config(ctx)
	if err != nil {
		return err
	}
	if modules { // the project may not have set them up
		config += "[submodule]\n\tactive = .\n"
	}
	refs, err := packed(ctx, repo, seenRefs...)
	if err != nil {
		return err
	}
	if !s.p.judges {
		if err := os.WriteFile(s.note(refsNote), []byte(refs), 0o600); err != nil {
			return err
		}
	}
	files := map[string]string{
		"config": config, "packed-refs": refs,
		"objects/info/alternates": s.alternates(),
	}
	for name, from := range map[string]string{"shallow": repo.Common(), "info/exclude": repo.Common(), "info/attributes": repo.Common(), "info/sparse-checkout": repo.Own()} {
		text, err := copyfile.Read(filepath.Join(from, filepath.FromSlash(name)), maxRead)
		if err == nil {
			files[name] = string(text)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for name, text := range files {
		if err := put(root, name, []byte(text), time.Time{}); err != nil {
			return err
		}
	}
	return nil
}

// alternates are where the slot's git finds the project's objects.
func (s *Slot) alternates() string {
	objects := s.p.o.Repo.Objects()
	for _, dir := range s.p.o.Repo.Objects() {
		if covered := s.Place().Behind(dir); covered != dir {
			objects = append(objects, covered)
		}
	}
	return strings.Join(objects, "\n") + "\n"
}

// packed is a file with refs of a repository.
func packed(ctx context.Context, repo *git.Repo, below ...string) (string, error) {
	refs, err := repo.Refs(ctx, below...)
	return packedFile(refs), err
}

func packedFile(sorted []git.Ref) string {
	return "# pack-refs with: sorted \n" + strings.Join(seq.Map(sorted, func(r git.Ref) string { return r.ID + " " + r.Name + "\n" }), "")
}

// point tells the git of the slot what is checked out now. Paths in conflict have stages, as
// update-index takes them.
func (s *Slot) point(ctx context.Context, head string, stages []string) error {
	at := filepath.Join(s.Top(), ".git")
	if !isDir(at) {
		return fmt.Errorf("%s is no folder", at)
	}
	root, err := os.OpenRoot(at)
	if err != nil {
		return err
	}
	defer root.Close()
	if len(stages) == 0 {
		return s.pointIn(root, head, s.index())
	}
	return s.withCopy(ctx, s.Top(), func(g git.Plumbing, index string) error {
		if _, err := g(git.Lines(stages), "update-index", "-z", "--index-info"); err != nil {
			return err
		}
		return s.pointIn(root, head, index)
	})
}

// unfinished is what git has of something that it was in the middle of.
var unfinished = []string{
	"index.lock", "HEAD.lock", "MERGE_HEAD", "MERGE_MSG", "MERGE_MODE", "CHERRY_PICK_HEAD", "REVERT_HEAD", "AUTO_MERGE",
	"rebase-merge", "rebase-apply", "sequencer",
}

// pointIn checks out a branch, not a bare commit, if the target is one: agents run "git checkout main" and hooks ask
// for the branch, and a private one with the target's name gives both what they have in place.
func (s *Slot) pointIn(root *os.Root, commit, index string) error {
	for _, name := range unfinished {
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	}
	head, branch := "HEAD", "refs/heads/"+s.p.o.Branch
	var err error
	if s.p.o.Branch != head { // or it is detached in place, too
		err = put(root, head, []byte("ref: "+branch+"\n"), time.Time{})
		head = branch
	}
	if err = errors.Join(err, put(root, head, []byte(commit+"\n"), time.Time{})); err != nil {
		return err
	}
	info, err := os.Stat(index)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(index)
	if err != nil {
		return err
	}
	return put(root, "index", data, info.ModTime()) // by which git knows what may have changed since
}

// put writes a file of a .git anew, whatever an agent has put in its place.
func put(root *os.Root, name string, data []byte, at time.Time) error {
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil && !at.IsZero() {
		err = root.Chtimes(name, at, at)
	}
	return err
}

// dropped are the sections of a configuration that slots do not get: an agent has nothing to
// push to and no password to do it with. The keys belong to the place of the working tree.
var (
	dropped     = []string{"branch", "credential", "http", "include", "includeif", "remote", "sendemail", "url"}
	droppedKeys = []string{
		"core.bare", "core.fsmonitor", "core.hookspath", "core.splitindex", "core.worktree",
		"extensions.refstorage", "extensions.relativeworktrees", "extensions.worktreeconfig",
	}
)

// config is the project's configuration for the slot: of the repository, and of everywhere who
// the user is, which may depend on the folder. Hooks are those of the project.
func (s *Slot) config(ctx context.Context) (string, error) {
	repo := s.p.o.Repo
	out, err := repo.Settings(ctx)
	if err != nil {
		return "", err
	}
	var text strings.Builder
	hooks := filepath.Join(repo.Common(), "hooks")
	var promisors []string
	user := map[string]string{}
	for pair := range slices.Chunk(strings.Split(strings.TrimSuffix(out, "\x00"), "\x00"), 2) {
		if len(pair) < 2 || pair[0] == "command" {
			continue
		}
		key, value, valued := strings.Cut(pair[1], "\n")
		section, _, _ := strings.Cut(key, ".")
		switch {
		case key == "core.hookspath":
			if hooks = value; !filepath.IsAbs(value) && !strings.HasPrefix(value, "~") {
				hooks = filepath.Join(repo.Dir(), value)
			}
		case section == "user":
			user[key] = value // the last one counts
		case pair[0] != "local" && pair[0] != "worktree":
		case section == "remote" && (strings.HasSuffix(key, ".promisor") || strings.HasSuffix(key, ".partialclonefilter")):
			name := strings.TrimPrefix(key[:strings.LastIndex(key, ".")], "remote.")
			if !slices.Contains(promisors, name) {
				promisors = append(promisors, name)
			}
			setting(&text, key, value, valued)
		case !slices.Contains(dropped, section) && !slices.Contains(droppedKeys, key):
			setting(&text, key, value, valued)
		}
	}
	setting(&text, "core.hookspath", s.Place().Behind(hooks), true)
	setting(&text, "core.splitindex", "false", true) // see theirs, which takes one file
	for _, key := range slices.Sorted(maps.Keys(user)) {
		setting(&text, key, user[key], true)
	}
	// In a partial clone git has to ask for what it does not have; it still cannot push.
	for _, name := range promisors {
		url, err := repo.Line(ctx, "ls-remote", "--get-url", name)
		if err != nil {
			return "", err
		}
		if !strings.Contains(url, ":") && !filepath.IsAbs(url) {
			url = filepath.Join(repo.Dir(), url)
		}
		setting(&text, "remote."+name+".url", url, true)
		setting(&text, "remote."+name+".pushurl", "a-slot-does-not-push", true)
	}
	return text.String(), nil
}

// setting writes one entry of a configuration.
func setting(to io.Writer, key, value string, valued bool) {
	first, last := strings.Index(key, "."), strings.LastIndex(key, ".")
	fmt.Fprintf(to, "[%s", key[:first])
	if first < last {
		fmt.Fprintf(to, ` "%s"`, strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(key[first+1:last]))
	}
	fmt.Fprintf(to, "]\n\t%s", key[last+1:])
	if valued {
		fmt.Fprintf(to, ` = "%s"`, strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\t", `\t`, "\b", `\b`).Replace(value))
	}
	fmt.Fprintln(to)
}

// head is the commit that the git of the slot has checked out, read without asking it, or "".
func (s *Slot) head() string { return s.headOf(".git") }

// headOf is the same of a submodule, by its .git.
func (s *Slot) headOf(at string) string {
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return ""
	}
	defer root.Close()
	if elsewhere, is := strings.CutPrefix(strings.TrimSpace(read(root, at)), "gitdir: "); is {
		at = path.Join(path.Dir(at), elsewhere)
	}
	id := strings.TrimSpace(read(root, path.Join(at, "HEAD")))
	if ref, is := strings.CutPrefix(id, "ref: "); is {
		if id = strings.TrimSpace(read(root, path.Join(at, ref))); id == "" {
			before, _, _ := strings.Cut("\n"+read(root, path.Join(at, "packed-refs")), " "+ref+"\n")
			id = before[strings.LastIndexByte(before, '\n')+1:]
		}
	}
	if len(id) < 40 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

// An agent's files are read up to a size. The index of a million files has 100 MiB.
const (
	maxRead  = 16 << 20
	maxIndex = 512 << 20
)

// read is the text of a file of an agent's, "" if it is none.
func read(root *os.Root, name string) string {
	f, _, err := copyfile.Open(root, name)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil {
		return ""
	}
	return string(data)
}

// copyOut copies an index of an agent's, with its time: see git.CopyIndex.
func copyOut(to string, root *os.Root, name string) error {
	f, info, err := copyfile.Open(root, name)
	if err != nil {
		return err
	}
	defer f.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, io.LimitReader(f, maxIndex))
	return errors.Join(err, out.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

func isDir(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
