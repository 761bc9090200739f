package git

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// withoutFilters is our environment with every filter switched off that the
// repository's own configuration has. git runs filters while it only looks, an
// agent can write that configuration, and ralph itself is not confined. What the
// user has set up for all repositories stays.
func withoutFilters(ctx context.Context, dir string) []string {
	env := exec.CommandContext(ctx, "git").Environ()
	count := 0
	for _, entry := range env {
		if n, ok := strings.CutPrefix(entry, "GIT_CONFIG_COUNT="); ok {
			count, _ = strconv.Atoi(n) // git refuses what is no number
		}
	}
	for _, scope := range []string{"--local", "--worktree"} {
		cmd := exec.CommandContext(ctx, "git", "config", scope, "--includes", "--name-only", "-z", "--get-regexp", `^filter\.`)
		cmd.Dir, cmd.WaitDelay = dir, time.Second
		out, err := cmd.Output()
		if err != nil {
			continue // there are none
		}
		for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
			value := ""
			if strings.HasSuffix(strings.ToLower(name), ".required") {
				value = "false"
			}
			env = append(env, "GIT_CONFIG_KEY_"+strconv.Itoa(count)+"="+name, "GIT_CONFIG_VALUE_"+strconv.Itoa(count)+"="+value)
			count++
		}
	}
	return append(env, "GIT_CONFIG_COUNT="+strconv.Itoa(count))
}
