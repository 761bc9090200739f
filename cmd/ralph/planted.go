package main

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

	"ralph/dag"
	"ralph/features"
	"ralph/internal/sandbox"
)

// planted is something that an agent changed although it must not, as it left it: a
// hook of git, say, which the next command of a person would run. It is remembered
// until it is different again or the list is removed.
type planted struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Sum  string `json:"sum"` // "" if it was removed
	Task string `json:"task"`
}

func (p planted) String() string {
	return fmt.Sprintf("%s: %s by an agent at %s", p.Path, p.Kind, p.Task)
}

// plantedFile is where they are kept, in a folder that ralph itself writes.
func (c *confiner) plantedFile() string {
	return filepath.Join(c.project.State(), "runs", "planted.json")
}

// storedPlanted reads the list as it was written last, by whichever run.
func (c *confiner) storedPlanted() (list []planted, err error) {
	data, err := os.ReadFile(c.plantedFile())
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &list)
	}
	return list, err
}

// recall reads what earlier runs left, and forgets what is not so any more.
func (c *confiner) recall() (err error) {
	if c.planted, err = c.storedPlanted(); err != nil {
		err = fmt.Errorf("%w: what agents planted in earlier runs cannot be told: %w", dag.ErrRefused, err)
		return hint(err, "look at git's hooks and configuration; then %s", c.plantedMend())
	}
	c.planted = slices.DeleteFunc(c.planted, func(p planted) bool { return sandbox.Sum(p.Path) != p.Sum })
	return nil
}

// remember keeps what an attempt changed although it must not. The whole list is
// written each time, because an agent may have removed it, with what another run has
// added to it meanwhile.
func (c *confiner) remember(task string, before []*sandbox.Fingerprint) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var bad error
	note := func(found planted) {
		if i := slices.IndexFunc(c.planted, func(p planted) bool { return p.Path == found.Path }); i < 0 {
			c.planted = append(c.planted, found)
		} else {
			c.planted[i].Sum = found.Sum
		}
	}
	others, _ := c.storedPlanted() // if it cannot be read, an agent wrote it
	for _, other := range others {
		if other.Sum == sandbox.Sum(other.Path) {
			note(other)
		}
	}
	for _, f := range before {
		changes, err := f.Changed()
		bad = errors.Join(bad, err)
		for _, change := range changes {
			path := filepath.Join(f.Dir(), filepath.FromSlash(change.Path))
			note(planted{Path: path, Kind: string(change.Kind), Sum: sandbox.Sum(path), Task: task})
		}
	}
	c.planted = slices.DeleteFunc(c.planted, func(p planted) bool { return sandbox.Sum(p.Path) != p.Sum })
	if len(c.planted) == 0 {
		if err := os.Remove(c.plantedFile()); !errors.Is(err, fs.ErrNotExist) {
			bad = errors.Join(bad, err)
		}
		return bad
	}
	data, err := json.MarshalIndent(c.planted, "", "  ")
	if err == nil {
		err = features.WriteFile(c.plantedFile(), append(data, '\n')) // whole: half of it would refuse the next run
	}
	return errors.Join(bad, err)
}

// tellPlanted warns of what agents of earlier runs left where git or ralph go by it.
func (a *app) tellPlanted(sandbox *confiner) {
	for _, p := range sandbox.planted {
		a.note("warning: %s; %s", p, sandbox.plantedMend())
	}
}

func (c *confiner) plantedMend() string {
	name := strings.TrimPrefix(c.plantedFile(), c.project.Root+string(filepath.Separator))
	return "undo it, or if it is as you want it: rm " + name
}
