package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Stash puts the uncommitted changes of these files, untracked ones too, into git's
// stash, and nothing else.
func Stash(ctx context.Context, dir, message string, files []string) error {
	if len(files) == 0 {
		return errors.New("no files to stash")
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "git", "-c", "core.fsmonitor=false", "-c", "core.hooksPath="+os.DevNull,
		"stash", "push", "--include-untracked", "--message", message, "--pathspec-from-file=-", "--pathspec-file-nul")
	cmd.Dir, cmd.Env = dir, append(withoutFilters(ctx, dir), "GIT_LITERAL_PATHSPECS=1")
	cmd.Stdin = strings.NewReader(strings.Join(files, "\x00"))
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		why, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
		return fmt.Errorf("git stash: %w: %s", err, why)
	}
	return nil
}

// Stashed is an entry of git's stash.
type Stashed struct{ Name, Message string }

// Stashes lists the entries whose messages begin so, the newest first.
func Stashes(ctx context.Context, dir, prefix string) []Stashed {
	if repository(dir) == "" {
		return nil
	}
	out, err := run(ctx, dir, "stash", "list", "-z", "--format=%gd %gs")
	if err != nil {
		return nil
	}
	var list []Stashed
	for entry := range strings.SplitSeq(string(out), "\x00") {
		name, message, _ := strings.Cut(entry, " ")
		_, message, _ = strings.Cut(message, ": ") // "On main"
		if strings.HasPrefix(message, prefix) {
			list = append(list, Stashed{Name: name, Message: message})
		}
	}
	return list
}
