package git

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxFolders is how many folders are searched for repositories.
const maxFolders = 50_000

// Search looks for repositories inside dir, submodules and worktrees among them, and
// names their folders with slashes. It does not look into what git ignores, as builds
// and package managers leave repositories there and remove them, nor into the folders
// named in skip.
//
// It looks where repositories are likely first, at what is nearest, and gives up after
// 100 of them and 50,000 folders. What they contain runs nothing.
func Search(ctx context.Context, dir string, skip ...string) []string {
	type folder struct {
		name    string          // below dir
		ignored map[string]bool // by the repository that it is in
	}
	var found []string
	queue := []folder{{"", ignoredFolders(ctx, dir, "")}}
	for seen := 0; seen < len(queue) && seen < maxFolders; seen++ {
		at := queue[seen]
		entries, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(at.name)))
		if err != nil {
			continue // git cannot look into it, either
		}
		for _, entry := range entries {
			inside := folder{path.Join(at.name, entry.Name()), at.ignored}
			if !entry.IsDir() || entry.Name() == ".git" || at.ignored[inside.name] || slices.Contains(skip, inside.name) {
				continue
			}
			if full := filepath.Join(dir, filepath.FromSlash(inside.name)); isRepository(full) {
				if len(found) == maxRepositories {
					return found
				}
				found = append(found, inside.name)
				inside.ignored = ignoredFolders(ctx, dir, inside.name)
			}
			queue = append(queue, inside)
		}
	}
	return found
}

// ignoredFolders are those that the repository at name below dir ignores as a whole,
// as they are called from dir. Where git cannot be asked there are none.
func ignoredFolders(ctx context.Context, dir, name string) map[string]bool {
	at := filepath.Join(dir, filepath.FromSlash(name))
	if repository(at) == "" {
		return nil
	}
	out, err := run(ctx, at, "ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
	if err != nil {
		return nil
	}
	folders := map[string]bool{}
	for entry := range strings.SplitSeq(string(out), "\x00") {
		if folder, is := strings.CutSuffix(entry, "/"); is {
			folders[path.Join(name, folder)] = true
		}
	}
	return folders
}

// UncommittedInside lists what is uncommitted in these repositories inside dir, as it is
// called from dir.
func UncommittedInside(ctx context.Context, dir string, repositories []string) []string {
	var files []string
	for _, name := range repositories {
		for _, file := range Look(ctx, filepath.Join(dir, filepath.FromSlash(name))).Uncommitted {
			files = append(files, name+"/"+file)
		}
	}
	return files
}
