package sandbox

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"ralph/internal/proc"
)

// ErrNoTemp is a temporary folder that cannot be used: the user's environment is wrong.
var ErrNoTemp = errors.New("the temporary folder cannot be used")

// MakeTemp makes a folder whose name says which process it belongs to.
func MakeTemp(parent string) (string, error) {
	self, err := proc.Self()
	if err != nil {
		return "", err
	}
	// The name is short, because that of a socket in it is limited.
	return MkdirTemp(parent, fmt.Sprintf("ralph-%s-%d-%d-", origin(self), self.Pid, self.Start))
}

// MkdirTemp is os.MkdirTemp whose error is ErrNoTemp.
func MkdirTemp(parent, pattern string) (string, error) {
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNoTemp, err)
	}
	return dir, nil
}

// NewTemp makes a folder that goes with the Confiner, also if this process is killed.
func (c *Confiner) NewTemp() (string, error) { return os.MkdirTemp(c.temp, "") }

// tempParent is where temporary folders of processes in a project are.
func tempParent(root string) string {
	parent := os.TempDir()
	if rel, err := filepath.Rel(root, parent); err == nil && filepath.IsLocal(rel) && isDir(parent) && isDir("/tmp") {
		return "/tmp" // what is in the project is one of its files
	}
	return parent
}

// deadTemps lists the folders of processes that were killed before they could remove
// them. Others are left to the system, which empties that place anyway.
func deadTemps(parent string) []string {
	self, err := proc.Self()
	if err != nil {
		return nil
	}
	var dead []string
	found, _ := filepath.Glob(filepath.Join(parent, "ralph-"+origin(self)+"-*-*-*"))
	for _, dir := range found {
		then := self
		_, err := fmt.Sscanf(filepath.Base(dir), "ralph-"+origin(self)+"-%d-%d-", &then.Pid, &then.Start)
		if err == nil && proc.Liveness(then) == proc.Dead {
			dead = append(dead, dir)
		}
	}
	return dead
}

// UselessTemps lists the temporary folders of a project's dead processes that nobody
// needs: recovery reads the ones that say which processes are to be killed.
func UselessTemps(root string) []string { return uselessIn(tempParent(root)) }

func uselessIn(parent string) []string {
	return slices.DeleteFunc(deadTemps(parent), func(dir string) bool {
		r, err := readRecord(dir)
		if err != nil {
			return false
		}
		n, err := proc.Marked(r.Owner, r)
		return err == nil && n > 0
	})
}

// ClearTemps removes what dead processes left in a folder of temporary folders.
func ClearTemps(parent string) {
	for _, dir := range uselessIn(parent) {
		_ = RemoveAll(dir)
	}
}

// origin names the boot and the pid namespace that a pid belongs to.
func origin(id proc.Identity) string {
	h := fnv.New32a()
	fmt.Fprint(h, id.BootID, id.PIDNS)
	return fmt.Sprintf("%08x", h.Sum32())
}

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
