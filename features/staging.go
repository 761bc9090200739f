package features

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/filelock"
)

// staging is the folder of one step.
type staging struct {
	dir  string
	lock *os.File
}

// stage opens the folder of a step for one process at a time.
func stage(dir string) (*staging, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(dir+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if !filelock.Try(lock) {
		of := strings.TrimPrefix(filepath.Base(filepath.Dir(dir)), ".") // .tasks has those of no feature
		return nil, errors.Join(fmt.Errorf("%w: another ralph is working on it: %s of %s", dag.ErrRefused, filepath.Base(dir), of), lock.Close())
	}
	return &staging{dir: dir, lock: lock}, nil
}

// Busy says that somebody is at work on the step whose folder that is.
func Busy(dir string) bool {
	lock, err := os.OpenFile(dir+".lock", os.O_RDWR, 0)
	if err != nil {
		return false
	}
	if !filelock.Try(lock) {
		_ = lock.Close()
		return true
	}
	_ = filelock.Close(lock)
	return false
}

// close lets others in. What is staged stays; a folder without anything in it goes.
func (s *staging) close() error {
	_ = os.Remove(s.dir)
	return filelock.Close(s.lock)
}

// Discard forgets what was staged in the folder of one step. It refuses while somebody
// is at work on it.
func Discard(dir string) error {
	s, err := stage(dir)
	if err != nil {
		return err
	}
	return errors.Join(s.clear(), s.lock.Close())
}

// clear removes all that was staged.
func (s *staging) clear() error { return os.RemoveAll(s.dir) }

func (s *staging) path(name string) string { return filepath.Join(s.dir, name) }

// work is the folder that the agent sees.
func (s *staging) work() string { return s.path("work") }

// logs is where the sessions leave their transcripts.
func (s *staging) logs() (string, error) { return s.path("logs"), os.MkdirAll(s.path("logs"), 0o700) }

// begun reports whether the step has a state.
func (s *staging) begun() bool { return Exists(s.path("state.json")) }

// load reads the state of a step; false means that there is none.
func (s *staging) load(into any) (bool, error) {
	data, err := os.ReadFile(s.path("state.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return false, fmt.Errorf("%w: %s cannot be read: %w", dag.ErrRefused, s.path("state.json"), err)
	}
	return true, nil
}

func (s *staging) save(state any) error { return atomicfile.WriteJSON(s.path("state.json"), state) }

// fill replaces the agent's folder by one with these files.
func (s *staging) fill(files map[string]string) error {
	if err := os.RemoveAll(s.work()); err != nil {
		return err
	}
	if err := os.MkdirAll(s.work(), 0o700); err != nil {
		return err
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(s.work(), name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// read reads back what the agent made of a file.
func (s *staging) read(name string) (string, error) {
	return ReadDocument(filepath.Join(s.work(), name))
}

// strays lists what the agent wrote beside what it was asked for: files that were
// not there, and copies that it changed. Names that begin with a dot are left out:
// agents keep their own things there, and ours is the scratch project.
func (s *staging) strays(given map[string]string, wanted ...string) []string {
	var list []string
	entries, _ := os.ReadDir(s.work())
	for _, e := range entries {
		name := e.Name()
		if strings.HasPrefix(name, ".") || slices.Contains(wanted, name) {
			continue
		}
		if before, was := given[name]; was {
			if now, err := s.read(name); err == nil && now == before {
				continue
			}
		}
		list = append(list, name)
	}
	return list
}
