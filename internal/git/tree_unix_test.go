//go:build unix

package git

import (
	"syscall"
	"testing"

	"ralph/internal/testing/check"
)

// makeUnreadable puts something there that git cannot take, also for root.
func makeUnreadable(t *testing.T, path string) {
	t.Helper()
	check.OK(t, syscall.Mkfifo(path, 0o600))
}
