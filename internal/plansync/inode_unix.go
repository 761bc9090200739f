//go:build unix

package plansync

import (
	"os"
	"syscall"
)

// inode tells a file from another that was put in its place.
func inode(info os.FileInfo) int64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(st.Ino) //nolint:gosec // it is only compared
	}
	return 0
}
