package main

import (
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"

	"ralph/internal/proc"
	"ralph/internal/sandbox"
)

// openTemp makes the folder in which the temporary folders of this process are, after
// removing those of processes that were killed before they could.
func (c *confiner) openTemp() error {
	parent := os.TempDir()
	if rel, err := filepath.Rel(c.project.Root, parent); err == nil && filepath.IsLocal(rel) && isFolder("/tmp") {
		parent = "/tmp" // what is in the project is one of its files
	}
	sweepTemps(parent)
	self, err := proc.Self()
	if err != nil {
		return err
	}
	// A short name: a socket in it must not exceed what a socket's name may have.
	c.temp, err = os.MkdirTemp(parent, fmt.Sprintf("ralph-%s-%d-%d-", origin(self), self.Pid, self.Start))
	return err
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

// sweepTemps removes the folders of dead processes. What cannot be judged, or
// removed, is left to the system, which empties that place anyway.
func sweepTemps(parent string) {
	self, err := proc.Self()
	if err != nil {
		return
	}
	found, _ := filepath.Glob(filepath.Join(parent, "ralph-"+origin(self)+"-*-*-*"))
	for _, dir := range found {
		then := self
		if _, err := fmt.Sscanf(filepath.Base(dir), "ralph-"+origin(self)+"-%d-%d-", &then.Pid, &then.Start); err == nil && proc.Liveness(then) == proc.Dead {
			_ = sandbox.RemoveAll(dir)
		}
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
