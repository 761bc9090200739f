package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ralph/internal/atomicfile"
	"ralph/internal/project"
)

// ErrPlanted means that the record of what agents planted in earlier runs cannot be read.
var ErrPlanted = errors.New("the record of what agents planted in earlier runs cannot be read")

// Planted is something that an agent changed although it must not, as it left it: a git
// hook, say, which the next command of a person would run. It is remembered until it
// changes again or the list is removed.
type Planted struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Sum  string `json:"sum"` // "" if it was removed
	Task string `json:"task"`
}

func (p Planted) String() string {
	return fmt.Sprintf("%s: %s by an agent at %s", p.Path, p.Kind, p.Task)
}

func (p Planted) gone() bool { return Sum(p.Path) != p.Sum }

// Planted lists what agents of earlier runs left.
func (c *Confiner) Planted() []Planted { return c.planted }

// plantedFile is where the list is kept, in a folder that ralph itself writes.
func plantedFile(p project.Project) string { return filepath.Join(p.State(), "runs", "planted.json") }

// PlantedFix says what a person can do about what agents of earlier runs left.
func PlantedFix(p project.Project) string {
	name := strings.TrimPrefix(plantedFile(p), p.Root+string(filepath.Separator))
	return "undo it, or if it is as you want it: rm " + name
}

// storedPlanted reads the list as it was written last, by whichever run.
func (c *Confiner) storedPlanted() (list []Planted, err error) {
	data, err := os.ReadFile(plantedFile(c.opts.Project))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// recallPlanted reads what earlier runs left, and forgets what is not so any more.
func (c *Confiner) recallPlanted() (err error) {
	if c.planted, err = c.storedPlanted(); err != nil {
		return fmt.Errorf("%w: %w", ErrPlanted, err)
	}
	c.planted = slices.DeleteFunc(c.planted, Planted.gone)
	return nil
}

// rememberPlanted keeps what an attempt changed although it must not. It writes the
// whole list each time, because an agent may have removed it, with what another run has
// added to it meanwhile.
func (c *Confiner) rememberPlanted(task string, x *Confinement) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	add := func(found Planted) {
		if i := slices.IndexFunc(c.planted, func(p Planted) bool { return p.Path == found.Path }); i < 0 {
			c.planted = append(c.planted, found)
		} else {
			c.planted[i].Sum = found.Sum
		}
	}
	others, _ := c.storedPlanted() // if it cannot be read, an agent wrote it
	for _, other := range slices.DeleteFunc(others, Planted.gone) {
		add(other)
	}
	changes, bad := x.changes()
	for _, change := range changes {
		add(Planted{Path: change.Path, Kind: string(change.Kind), Sum: Sum(change.Path), Task: task})
	}
	c.planted = slices.DeleteFunc(c.planted, Planted.gone)
	file := plantedFile(c.opts.Project)
	if len(c.planted) == 0 {
		if err := os.Remove(file); !errors.Is(err, fs.ErrNotExist) {
			bad = errors.Join(bad, err)
		}
		return bad
	}
	return errors.Join(bad, atomicfile.WriteJSON(file, c.planted)) // half of it would refuse the next run
}
