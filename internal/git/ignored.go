package git

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
)

// Ignored returns those of the paths below dir that git ignores: what builds and
// tests leave behind. A folder's path ends in a slash. Where git cannot be asked
// nothing is ignored.
func Ignored(ctx context.Context, dir string, paths []string) map[string]bool {
	ignored := map[string]bool{}
	if len(paths) == 0 || repository(dir) == "" {
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
