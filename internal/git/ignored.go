package git

import (
	"context"
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
