//go:build !linux && !darwin && !windows

package disk

import "errors"

// Free is how many bytes this user may still write on the file system that dir is on.
func Free(string) (int64, error) { return 0, errors.New("not supported on this system") }
