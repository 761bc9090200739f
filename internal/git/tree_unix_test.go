//go:build unix

package git

import (
	"syscall"
	"testing"
)

// makeUnreadable puts something there that git cannot take, also for root.
func makeUnreadable(t *testing.T, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}
