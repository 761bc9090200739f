package slot

import (
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/git"
	_ "ralph/internal/testing/seeded"

	"ralph/internal/testing/check"
)

// repo is a real repository in a folder.
type repo struct {
	t   testing.TB
	dir string
}

func newRepo(t testing.TB, args ...string) repo {
	t.Helper()
	r := repo{t, filepath.Join(t.TempDir(), "project")}
	check.OK(t, os.Mkdir(r.dir, 0o700))
	r.git(append([]string{"init", "-q", "-b", "main"}, args...)...)
	r.git("config", "user.name", "Ann")
	r.git("config", "user.email", "ann@localhost")
	return r
}

func (r repo) try(args ...string) (string, error) {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "git", args...)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (r repo) git(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return out
}

// sh runs what an agent would.
func (r repo) sh(script string) string {
	r.t.Helper()
	cmd := exec.CommandContext(r.t.Context(), "sh", "-ec", script)
	cmd.Dir = r.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// write writes files: the name and the text of one, of the next, and so on.
func (r repo) write(files ...string) {
	r.t.Helper()
	for file := range slices.Chunk(files, 2) {
		path := filepath.Join(r.dir, file[0])
		check.OK(r.t, os.MkdirAll(filepath.Dir(path), 0o700))
		check.OK(r.t, os.WriteFile(path, []byte(file[1]), 0o600))
	}
}

// commit writes files and commits everything.
func (r repo) commit(files ...string) string {
	r.t.Helper()
	r.write(files...)
	r.git("add", "-A")
	r.git("commit", "-qm", "work")
	return r.git("rev-parse", "HEAD")
}

func (r repo) text(name string) string {
	r.t.Helper()
	data, err := os.ReadFile(filepath.Join(r.dir, name))
	if err != nil {
		return ""
	}
	return string(data)
}

func (r repo) has(name string) bool {
	_, err := os.Lstat(filepath.Join(r.dir, name))
	return err == nil
}

// all is everything below a folder: links by where they lead, the rest by its text.
func (r repo) all() map[string]string {
	r.t.Helper()
	files := map[string]string{}
	check.OK(r.t, filepath.WalkDir(r.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(r.dir, path)
		if d.Type() == fs.ModeSymlink {
			files[name], err = os.Readlink(path)
			return err
		}
		data, err := os.ReadFile(path)
		files[name] = string(data)
		return err
	}))
	return files
}

// working is all without the git folder.
func (r repo) working() map[string]string {
	files := r.all()
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasPrefix(name, ".git/") })
	return files
}

func open(t testing.TB, r repo, change func(*Options)) *Pool {
	t.Helper()
	repo, err := git.OpenRepo(t.Context(), r.dir)
	check.OK(t, err)
	beside := filepath.Dir(r.dir)
	o := Options{
		Repo: repo, Dir: filepath.Join(beside, "slots"), State: filepath.Join(beside, "state"),
		Project: r.dir, Name: "My Project", Branch: "main",
	}
	if change != nil {
		change(&o)
	}
	return Open(o)
}

// take takes a slot, and returns it as a repository to work in too.
func take(t testing.TB, p *Pool, n int, commit string) (*Slot, repo) {
	t.Helper()
	s, err := p.Take(t.Context(), n, "a-1", commit, commit)
	check.OK(t, err)
	return s, repo{t, s.Top()}
}

func keep(t testing.TB, s *Slot, base string) Work {
	t.Helper()
	w, err := s.Keep(t.Context(), base, "kept\n")
	check.OK(t, err)
	return w
}

// wantClean: git in the slot sees nothing to commit, on the target's branch, at the commit.
func wantClean(t testing.TB, at repo, commit string) {
	t.Helper()
	check.Equal(t, "git status", "## main", at.git("status", "--porcelain", "--branch"))
	check.Equal(t, "HEAD", commit, at.git("rev-parse", "HEAD"))
}

// wantFolders: there are so many slots, and nothing but what names the project beside them.
func wantFolders(t testing.TB, p *Pool, n int) {
	t.Helper()
	entries, err := os.ReadDir(p.o.Dir)
	check.OK(t, err)
	check.Equal(t, "files and folders", n+1, len(entries))
}

func sorted(list ...string) []string { return slices.Sorted(slices.Values(list)) }

func files(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}
