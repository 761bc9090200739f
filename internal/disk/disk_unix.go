//go:build linux || darwin

package disk

import "syscall"

// Free is how many bytes this user may still write on the file system that dir is on.
func Free(dir string) (int64, error) {
	var s syscall.Statfs_t
	err := syscall.Statfs(dir, &s)
	return int64(s.Bavail) * int64(s.Bsize), err //nolint:unconvert // they are narrower on other systems
}
