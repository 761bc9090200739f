//go:build !linux

package sandbox

import "io/fs"

// otherNames is of interest only where there is a sandbox.
func otherNames(fs.FileInfo) bool { return false }
