// Package credential keeps values that people gave to agents: one file for each request, out of the project and hidden from every
// agent. It never prints a value, and nothing else stores one.
package credential

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ralph/internal/atomicfile"
)

// The limits of a value. What is shorter cannot be hidden in what agents print.
const (
	minValue = 6
	maxValue = 64 << 10
)

// Store is the folder of a project's credentials.
type Store struct{ Dir string }

// Put keeps the value that answers a request. It returns an error that does not contain it.
func (s Store) Put(request, value string) error {
	value = strings.TrimRight(value, "\r\n")
	switch {
	case !filepath.IsAbs(s.Dir):
		return errors.New("there is no folder for it that no agent can read: set HOME or XDG_STATE_HOME")
	case len(value) < minValue:
		return fmt.Errorf("a credential has at least %d bytes: a shorter one could not be hidden in logs", minValue)
	case len(value) > maxValue:
		return fmt.Errorf("a credential has at most %d KiB", maxValue>>10)
	case strings.ContainsAny(value, "\x00"):
		return errors.New("a credential cannot contain a zero byte")
	}
	return atomicfile.Write(s.path(request), []byte(value))
}

// Get is the value that answers a request.
func (s Store) Get(request string) (string, error) {
	data, err := os.ReadFile(s.path(request))
	return string(data), err
}

// Sweep removes the values that nobody needs any more.
func (s Store) Sweep(needed func(request string) bool) error {
	entries, err := os.ReadDir(s.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !needed(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(s.Dir, e.Name())))
		}
	}
	return err
}

func (s Store) path(request string) string { return filepath.Join(s.Dir, filepath.Base(request)) }
