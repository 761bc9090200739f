package git

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ralph/internal/testing/check"
)

// TestParseIndexSaysWhatGitSays: whatever git writes is read as git reads it, or is left to git.
func TestParseIndexSaysWhatGitSays(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		made := repo{t, t.TempDir()}
		made.git("init", "-q", "-b", "main", "--object-format="+format)
		first := made.commit("a", "d/e/f", "d/e/g", "d/é", "long/"+strings.Repeat("x", 200), "long/"+strings.Repeat("x", 199)+"y")
		made.git("update-index", "--add", "--cacheinfo", "160000,"+first+",d/sub")
		made.git("update-index", "--skip-worktree", "a") // which needs more flags
		file := filepath.Join(made.dir, ".git", "index")
		for _, step := range []string{"--index-version=2", "--index-version=3", "--index-version=4", "--untracked-cache", "--fsmonitor-valid"} {
			made.git("update-index", step)
			data, err := os.ReadFile(file)
			check.OK(t, err)
			list, err := ParseIndex(data, first)
			check.OK(t, err)
			var names, links []string
			for _, f := range list {
				if names = append(names, f.Name); f.Link {
					links = append(links, f.Name)
				}
				check.That(t, !f.Staged, "%s: %s is in conflict", step, f.Name)
			}
			check.Equal(t, step, made.git("ls-files", "-z"), strings.Join(names, "\x00")+"\x00")
			check.Equal(t, step+": links", []string{"d/sub"}, links)
			for n := range data {
				part, err := ParseIndex(data[:n], first)
				check.That(t, err != nil || slices.Equal(list, part), "%s: the first %d of %d bytes are another index", step, n, len(data))
			}
		}
		made.git("update-index", "--split-index")
		data, err := os.ReadFile(file)
		check.OK(t, err)
		_, err = ParseIndex(data, first)
		check.That(t, err != nil, "a part of an index is taken for all of it")
	}
}
