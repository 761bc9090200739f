package git

import (
	"context"
	"slices"
	"strings"
)

// Ignored lists those of some paths that git's rules keep out of every commit. A file that it carries is
// none of them. What cannot be found out is not listed.
func Ignored(ctx context.Context, dir string, paths ...string) []string {
	if len(paths) == 0 {
		return nil
	}
	out, _ := run(ctx, dir, strings.NewReader(strings.Join(paths, "\x00")), "check-ignore", "-z", "--stdin") // to list none is an error to git
	return Split(out)
}

// Listed lists the files in dir that git carries or would carry: all but those that its rules ignore. Some may be gone, and
// a repository inside is listed by its folder.
func Listed(ctx context.Context, dir string) ([]string, error) {
	out, err := run(ctx, dir, nil, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	names := Split(out)
	slices.Sort(names) // what is unmerged is there several times
	return slices.Compact(names), err
}
