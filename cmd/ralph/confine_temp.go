package main

import (
	"errors"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"

	"ralph/internal/proc"
	"ralph/internal/sandbox"
)

// openTemp makes the folder in which the temporary folders of this process are.
func (c *confiner) openTemp() (err error) {
	c.temp, err = makeTemp(tempParent(c.project.Root))
	return err
}

// makeTemp makes a folder whose name tells which process it belongs to.
func makeTemp(parent string) (string, error) {
	self, err := proc.Self()
	if err != nil {
		return "", err
	}
	// A short name: a socket in it must not exceed what a socket's name may have.
	return tempIn(parent, fmt.Sprintf("ralph-%s-%d-%d-", origin(self), self.Pid, self.Start))
}

// errNoTemp is a temporary folder that cannot be used: the user's environment is wrong.
var errNoTemp = errors.New("the temporary folder cannot be used")

// tempIn makes a folder in the temporary folder.
func tempIn(parent, pattern string) (string, error) {
	dir, err := os.MkdirTemp(parent, pattern)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errNoTemp, err)
	}
	return dir, nil
}

// newTemp makes one of them.
func (c *confiner) newTemp() (string, error) { return os.MkdirTemp(c.temp, "") }

// Close removes what is left of them.
func (c *confiner) Close() error {
	if c.temp == "" {
		return nil
	}
	return sandbox.RemoveAll(c.temp)
}

// tempParent is where temporary folders of processes in a project are.
func tempParent(root string) string {
	parent := os.TempDir()
	if rel, err := filepath.Rel(root, parent); err == nil && filepath.IsLocal(rel) && isFolder(parent) && isFolder("/tmp") {
		return "/tmp" // what is in the project is one of its files
	}
	return parent
}

// deadTemps lists the folders of processes that were killed before they could remove
// them. What cannot be judged is left to the system, which empties that place anyway.
func deadTemps(parent string) []string {
	self, err := proc.Self()
	if err != nil {
		return nil
	}
	var dead []string
	found, _ := filepath.Glob(filepath.Join(parent, "ralph-"+origin(self)+"-*-*-*"))
	for _, dir := range found {
		then := self
		if _, err := fmt.Sscanf(filepath.Base(dir), "ralph-"+origin(self)+"-%d-%d-", &then.Pid, &then.Start); err == nil && proc.Liveness(then) == proc.Dead {
			dead = append(dead, dir)
		}
	}
	return dead
}

// uselessTemps lists those of them that nobody needs: recovery goes by the ones that
// tell which processes are to be ended.
func uselessTemps(parent string) []string {
	return slices.DeleteFunc(deadTemps(parent), func(dir string) bool {
		r, err := readRecord(dir)
		if err != nil {
			return false
		}
		n, err := proc.Marked(r.Owner, r)
		return err == nil && n > 0
	})
}

// sweepTemps removes them.
func sweepTemps(parent string) {
	for _, dir := range uselessTemps(parent) {
		_ = sandbox.RemoveAll(dir)
	}
}

// origin names the boot and the pid namespace that a pid belongs to.
func origin(id proc.Identity) string {
	h := fnv.New32a()
	fmt.Fprint(h, id.BootID, id.PIDNS)
	return fmt.Sprintf("%08x", h.Sum32())
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
