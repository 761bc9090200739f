package git

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// Ignored returns those of the paths below dir that git ignores: what builds and
// tests leave behind. What is in a repository inside dir is for that one to say. A
// folder's path ends in a slash. Where git cannot be asked nothing is ignored.
func Ignored(ctx context.Context, dir string, paths []string) map[string]bool {
	ignored := map[string]bool{}
	for home, names := range byRepository(dir, paths) {
		for name := range ask(ctx, filepath.Join(dir, filepath.FromSlash(home)), names) {
			if home != "." {
				name = home + "/" + name
			}
			ignored[name] = true
		}
	}
	return ignored
}

// byRepository groups paths by the innermost folder with a repository that they are
// in, "." for the rest, and makes them relative to it. The folder of a repository
// itself belongs to what it is in.
func byRepository(dir string, paths []string) map[string][]string {
	groups, known := map[string][]string{}, map[string]bool{}
	for _, name := range paths {
		home := path.Dir(strings.TrimSuffix(name, "/"))
		for ; home != "."; home = path.Dir(home) {
			is, asked := known[home]
			if !asked {
				is = exists(filepath.Join(dir, filepath.FromSlash(home), ".git"))
				known[home] = is
			}
			if is {
				break
			}
		}
		if home != "." {
			name = strings.TrimPrefix(name, home+"/")
		}
		groups[home] = append(groups[home], name)
	}
	return groups
}

// ask asks the repository that dir lies in.
func ask(ctx context.Context, dir string, paths []string) map[string]bool {
	ignored := map[string]bool{}
	if repository(dir) == "" {
		return ignored
	}
	out, err := runWith(ctx, dir, strings.Join(paths, "\x00")+"\x00", "check-ignore", "-z", "--stdin")
	var exit *exec.ExitError
	if none := errors.As(err, &exit) && exit.ExitCode() == 1; err != nil && !none {
		return ignored
	}
	for path := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		ignored[string(path)] = true
	}
	return ignored
}
