package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
)

// RemoveAll removes a folder that a confined process wrote, folders without
// write permission included (a Go module cache has them).
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}
