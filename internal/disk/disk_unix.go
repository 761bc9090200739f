//go:build linux || darwin

package disk

import "syscall"

// Of is the space of the file system that dir is on.
func Of(dir string) (Space, error) {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil {
		return Space{}, err
	}
	// What is reserved for root counts neither as free nor as ours to take.
	free, block := int64(s.Bavail), int64(s.Bsize) //nolint:unconvert // they are narrower on other systems
	return Space{Total: (int64(s.Blocks) - int64(s.Bfree) + free) * block, Free: free * block}, nil
}
