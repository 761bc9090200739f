package git

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

func TestTextsThatACommitHas(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a", "mode = development # .*\nhttps://localhost:8080/x\n")
	repo, err := OpenRepo(t.Context(), r.dir)
	check.OK(t, err)
	for _, c := range []struct{ texts, want []string }{
		{[]string{"production", "one\ntwo"}, nil},
		{[]string{"development", "elopment", "production", "localhost", "https://localhost:8080", "# .*", "--all"}, []string{"development", "elopment", "localhost", "https://localhost:8080", "# .*"}},
		{nil, nil},
	} {
		got, err := repo.Has(t.Context(), "HEAD", c.texts)
		check.OK(t, err)
		check.Equal(t, "found", c.want, got)
	}
	got, err := repo.Has(t.Context(), "refs/heads/none", []string{"development"})
	check.That(t, err != nil && len(got) == 0, "of no commit: %v, %v", got, err)
}

// TestObjectsAreStoredWhileFoldersAreSwept, as git gc does it: it removes the folders of objects that are empty.
func TestObjectsAreStoredWhileFoldersAreSwept(t *testing.T) {
	t.Parallel()
	r := newRepo(t)
	r.commit("a", "a")
	repo, err := OpenRepo(t.Context(), r.dir)
	check.OK(t, err)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				_ = os.Remove(filepath.Join(repo.Common(), "objects", fmt.Sprintf("%02x", i%256))) // fails if there is something in it
			}
		}
	}()
	defer func() { close(stop); <-stopped }()
	for i := range 60 {
		text := fmt.Sprint(i)
		id, err := repo.Git(t.Context(), Call{In: strings.NewReader(text)}, "hash-object", "-w", "--stdin")
		check.OK(t, err)
		kept, err := repo.Git(t.Context(), Call{}, "cat-file", "blob", strings.TrimSpace(id))
		check.OK(t, err)
		check.Equal(t, "kept", text, kept)
	}
}

// TestTheProbeOfARepositoryCreatesNothing: what a kill would leave of it in refs is a broken ref to git.
func TestTheProbeOfARepositoryCreatesNothing(t *testing.T) {
	t.Parallel()
	repo, err := OpenRepo(t.Context(), newRepo(t).dir)
	check.OK(t, err)
	old := time.Unix(1_000_000_000, 0)
	folders := []string{filepath.Join(repo.Common(), "objects"), filepath.Join(repo.Common(), "refs")}
	for _, dir := range folders {
		check.OK(t, os.Chtimes(dir, old, old))
	}
	check.OK(t, repo.Writable())
	for _, dir := range folders {
		info, err := os.Stat(dir)
		check.OK(t, err)
		check.That(t, info.ModTime().Equal(old), "%s was written", dir)
	}
}
