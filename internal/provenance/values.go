package provenance

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

// Values keeps what people gave to agents as credentials: one file for each request, in a folder of the project that is hidden from every
// agent. It never prints a value, and nothing else stores one.
type Values struct{ Store }

// Put keeps the value that answers a request. It returns an error that does not contain it.
func (v Values) Put(request, value string) error {
	value = strings.TrimRight(value, "\r\n")
	switch {
	case v.Missing() != nil:
		return v.Missing()
	case len(value) < minValue:
		return fmt.Errorf("a credential has at least %d bytes: a shorter one could not be hidden in logs", minValue)
	case len(value) > maxValue:
		return fmt.Errorf("a credential has at most %d KiB", maxValue>>10)
	case strings.ContainsAny(value, "\x00"):
		return errors.New("a credential cannot contain a zero byte")
	}
	return atomicfile.Write(v.path(request), []byte(value))
}

// Get is the value that answers a request.
func (v Values) Get(request string) (string, error) {
	data, err := os.ReadFile(v.path(request))
	return string(data), err
}

// Sweep removes the values that nobody needs any more.
func (v Values) Sweep(needed func(request string) bool) error {
	entries, err := os.ReadDir(v.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !needed(e.Name()) {
			err = errors.Join(err, os.Remove(filepath.Join(v.Dir, e.Name())))
		}
	}
	return err
}

func (v Values) path(request string) string { return v.File(filepath.Base(request)) }
