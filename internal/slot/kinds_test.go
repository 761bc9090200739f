package slot

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ralph/internal/git"
	"ralph/internal/testing/check"
)

// TestConfiguration: an agent has the project's, without what leads elsewhere.
func TestConfiguration(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "a")
	r.sh(`git tag v1; git branch other; git update-ref refs/remotes/origin/main HEAD; git update-ref refs/ralph/work/x HEAD; git stash create >/dev/null
		git remote add origin https://token@example.com/x; git config branch.main.remote origin; git config url.x.insteadOf y; git config credential.helper store
		git config http.https://example.com/.extraheader 'AUTHORIZATION: x'; git config core.fsmonitor true; git config alias.st 'status -s'
		git config 'odd."sub\section.key' 'a "b" \ c	d
e # f'; printf '[odd]\n\tflag\n' >> .git/config; printf '[include]\n\tpath = more\n' >> .git/config; printf '[more]\n\tx = y\n' > .git/more
		printf 'own\n' > .git/info/exclude; printf 'a -text\n' > .git/info/attributes`)
	_, at := take(t, open(t, r, nil), 1, first)
	get := func(key string) string { t.Helper(); out, _ := at.try("config", "--local", "--get", key); return out }
	for key, want := range map[string]string{
		"user.name": "Ann", "alias.st": "status -s", `odd."sub\section.key`: "a \"b\" \\ c\td\ne # f", "more.x": "y", "core.hookspath": filepath.Join(r.dir, ".git", "hooks"),
		"branch.main.remote": "", "url.x.insteadof": "", "credential.helper": "", "http.https://example.com/.extraheader": "", "core.fsmonitor": "", "include.path": "",
	} {
		check.Equal(t, key, want, get(key))
	}
	check.Equal(t, "a flag", "true", at.git("config", "--type=bool", "odd.flag"))
	check.Equal(t, "remotes", "", at.git("remote"))
	check.Equal(t, "refs", []string{"refs/heads/main", "refs/heads/other", "refs/remotes/origin/main", "refs/tags/v1"}, files(at.git("for-each-ref", "--format=%(refname)")))
	check.Equal(t, "git describe", "v1", at.git("describe", "--tags"))
	check.Equal(t, "rules", "own\na -text\n", at.text(".git/info/exclude")+at.text(".git/info/attributes"))
	check.Equal(t, "git fsck", "", at.git("fsck", "--no-dangling", "--no-progress"))
}

// TestHooks of the project run in a slot, where it says that they are, and never for ralph.
func TestHooks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ path, folder string }{
		"in .git":         {folder: ".git/hooks"},
		"a relative path": {path: "tools/hooks", folder: "tools/hooks"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			first := r.commit("a", "a")
			r.write("tools/.gitignore", "*\n", test.folder+"/none", "")
			if test.path != "" {
				r.git("config", "core.hooksPath", test.path)
			}
			ran := filepath.Join(t.TempDir(), "ran")
			for _, hook := range []string{"pre-commit", "post-checkout", "post-index-change", "reference-transaction"} {
				program(t, filepath.Join(r.dir, test.folder, hook), "#!/bin/sh\necho "+hook+" >> "+ran+"\n")
			}
			s, at := take(t, open(t, r, nil), 1, first)
			at.write("a", "b")
			keep(t, s, first)
			_, err := os.Stat(ran)
			check.That(t, err != nil, "a hook ran for ralph")
			at.git("commit", "-qam", "own")
			said, err := os.ReadFile(ran)
			check.OK(t, err)
			check.Contains(t, "hooks of the agent's commit", "pre-commit", string(said))
		})
	}
}

// TestKindsOfRepositories: a slot of each is clean at once, and work in it is kept.
func TestKindsOfRepositories(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		make  func(r repo) repo           // from a repository with a few commits
		check func(t *testing.T, at repo) // in the slot
	}{
		"plain": {make: func(r repo) repo { return r }, check: func(t *testing.T, at repo) {
			check.Equal(t, "commits", "3", at.git("rev-list", "--count", "HEAD"))
		}},
		"shallow": {make: func(r repo) repo { return r.clone("--depth=1") }, check: func(t *testing.T, at repo) {
			check.Equal(t, "commits", "1", at.git("rev-list", "--count", "HEAD"))
		}},
		"sparse": {make: func(r repo) repo {
			r.git("sparse-checkout", "set", "in")
			return r
		}, check: func(t *testing.T, at repo) {
			check.That(t, at.has("in/x") && !at.has("out"), "it is not sparse")
		}},
		"sparse, with a sparse index": {make: func(r repo) repo {
			r.git("sparse-checkout", "set", "--sparse-index", "in")
			return r
		}, check: func(t *testing.T, at repo) {
			check.That(t, at.has("in/x") && !at.has("out"), "it is not sparse")
		}},
		"sparse by patterns": {make: func(r repo) repo {
			r.git("sparse-checkout", "set", "--no-cone", "/*", "!out")
			return r
		}, check: func(t *testing.T, at repo) {
			check.That(t, at.has("in/x") && !at.has("out"), "it is not sparse")
		}},
		"borrowing objects": {make: func(r repo) repo {
			c := r.clone("--shared")
			check.OK(r.t, os.WriteFile(filepath.Join(c.dir, ".git/objects/info/alternates"), []byte("../../../project/.git/objects\n"), 0o600))
			return c
		}, check: func(t *testing.T, at repo) {
			check.Equal(t, "git fsck", "", at.git("fsck", "--no-dangling", "--no-progress"))
		}},
		"a linked worktree, sparse where the other is not": {make: func(r repo) repo {
			r.git("worktree", "add", "-q", "-b", "linked", "../copy")
			w := repo{r.t, filepath.Join(filepath.Dir(r.dir), "copy")}
			w.git("sparse-checkout", "set", "in")
			return w
		}, check: func(t *testing.T, at repo) {
			check.Equal(t, "what is sparse", "in", at.git("sparse-checkout", "list"))
			check.That(t, at.has("in/x") && !at.has("out"), "it is not sparse")
		}},
		"partial": {make: func(r repo) repo {
			r.git("config", "uploadpack.allowFilter", "true")
			r.git("config", "uploadpack.allowAnySHA1InWant", "true")
			return r.clone("--filter=blob:none")
		}, check: func(t *testing.T, at repo) {
			check.Contains(t, "git log -p", "+first", at.git("log", "-p")) // which is nowhere but at the remote
			_, err := at.try("push", "origin", "HEAD:refs/heads/x")
			check.That(t, err != nil, "it can push")
		}},
		"many files": {make: func(r repo) repo {
			for _, key := range []string{"feature.manyFiles", "core.splitIndex", "core.untrackedCache"} {
				r.git("config", key, "true")
			}
			return r
		}, check: func(*testing.T, repo) {}},
		"line endings": {make: func(r repo) repo {
			r.git("config", "core.autocrlf", "true")
			r.git("config", "core.safecrlf", "true")
			return r
		}, check: func(t *testing.T, at repo) {
			check.Equal(t, "a text", "third\r\n", at.text("in/x"))
			at.write("mixed", "a\r\nb\n")
		}},
		"filters of the user's": {make: func(r repo) repo {
			r.git("config", "filter.upper.clean", "tr A-Z a-z")
			r.git("config", "filter.upper.smudge", "tr a-z A-Z")
			r.git("config", "filter.upper.required", "true")
			r.write(".gitattributes", "in/* filter=upper\n")
			r.commit()
			return r
		}, check: func(t *testing.T, at repo) {
			check.Equal(t, "a text", "THIRD\n", at.text("in/x"))
		}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRepo(t)
			for _, text := range []string{"first\n", "second\n", "third\n"} {
				r.commit("in/x", text, "out/y", text)
			}
			r = test.make(r)
			tip := r.git("rev-parse", "HEAD")
			before := strings.Join([]string{r.git("status", "--porcelain"), r.git("for-each-ref")}, "\n")
			p := open(t, r, nil)
			s, at := take(t, p, 1, tip)
			wantClean(t, at, tip)
			check.Equal(t, "work, with nothing changed", tip, keep(t, s, tip).Commit)
			test.check(t, at)
			at.write("in/x", "worked\n", "in/new", "new\n")
			w := keep(t, s, tip)
			check.Equal(t, "left out", []git.Left(nil), w.Left)
			check.Contains(t, "changes", "A\tin/new\nM\tin/x", r.git("diff", "--name-status", tip, w.Commit))
			check.Equal(t, "the text", "worked", r.git("show", w.Commit+":in/x"))
			check.OK(t, s.Show(t.Context(), w.Commit, w.Commit))
			wantClean(t, at, w.Commit)
			s, at = take(t, p, 1, tip)
			wantClean(t, at, tip)
			check.Equal(t, "work, with nothing changed, in a warm slot", tip, keep(t, s, tip).Commit)
			check.Equal(t, "the project", before, strings.Join([]string{r.git("status", "--porcelain"), r.git("for-each-ref")}, "\n"))
		})
	}
}

func (r repo) clone(args ...string) repo {
	r.t.Helper()
	to := repo{r.t, filepath.Join(filepath.Dir(r.dir), "clone")}
	r.git(append(append([]string{"clone", "-q"}, args...), "file://"+r.dir, to.dir)...)
	to.git("config", "user.name", "Ann")
	to.git("config", "user.email", "ann@localhost")
	return to
}

// TestSHA256 and a bare repository, which have other IDs and no working tree.
func TestSHA256(t *testing.T) {
	t.Parallel()
	r := newRepo(t, "--object-format=sha256")
	first := r.commit("a", "1\n", "b", "b\n")
	s, at := take(t, open(t, r, nil), 1, first)
	wantClean(t, at, first)
	at.sh("echo 2 > a; git commit -qam own")
	w := keep(t, s, first)
	said, err := s.Message(t.Context())
	check.OK(t, err)
	check.Equal(t, "the message", "own", said)
	onto := r.commit("a", "3\n")
	check.OK(t, s.Conflict(t.Context(), first, onto, w.Commit))
	check.Equal(t, "paths in conflict", []string{"a"}, s.made.Conflicts)
	check.Equal(t, "git status", "UU a", at.git("status", "--porcelain"))
}

// TestABareRepository has slots like any other.
func TestABareRepository(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	first := r.commit("a", "1\n")
	bare := r.clone("--bare")
	s, at := take(t, open(t, bare, nil), 1, first)
	wantClean(t, at, first)
	at.write("a", "2\n")
	check.That(t, keep(t, s, first).Commit != first, "nothing is kept")
}

// TestWorkWithoutAnIdentity is committed by ralph.
func TestWorkWithoutAnIdentity(t *testing.T) {
	r := newRepo(t)
	first := r.commit("a", "1\n")
	for _, key := range []string{"user.name", "user.email"} {
		r.git("config", "--unset", key)
	}
	r.git("config", "user.useConfigOnly", "true")
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, name := range []string{"EMAIL", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"} {
		t.Setenv(name, "") // so that it is set back
		check.OK(t, os.Unsetenv(name))
	}
	s, at := take(t, open(t, r, nil), 1, first)
	at.write("a", "2\n")
	check.Equal(t, "the author", "ralph <ralph@localhost>", r.git("log", "-1", "--format=%an <%ae>", keep(t, s, first).Commit))
}

// TestTheEnvironmentOfAHook does not lead ralph elsewhere: it may be run by one.
func TestTheEnvironmentOfAHook(t *testing.T) {
	r, other := newRepo(t), newRepo(t)
	first := r.commit("a", "1\n")
	other.commit("o", "o")
	was := other.all()
	t.Setenv("GIT_DIR", filepath.Join(other.dir, ".git"))
	t.Setenv("GIT_WORK_TREE", other.dir)
	t.Setenv("GIT_INDEX_FILE", filepath.Join(other.dir, ".git", "index"))
	t.Setenv("GIT_OBJECT_DIRECTORY", filepath.Join(other.dir, ".git", "objects"))
	repository, err := git.OpenRepo(t.Context(), r.dir)
	check.OK(t, err)
	beside := filepath.Dir(r.dir)
	p := Open(Options{Repo: repository, Dir: filepath.Join(beside, "slots"), State: filepath.Join(beside, "state"), Project: r.dir})
	s, err := p.Take(t.Context(), 1, "a-1", first, first)
	check.OK(t, err)
	at := repo{t, s.Top()}
	at.write("a", "2\n")
	check.That(t, keep(t, s, first).Commit != first, "nothing is kept")
	check.Equal(t, "the other repository", was, other.all())
}
