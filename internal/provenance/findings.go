package provenance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

// Finding is something that an agent changed although it must not, as it left it: a git hook, say, which the next command of a person
// would run. It is remembered until it changes again or a person confirms it.
type Finding struct {
	Path string `json:"path"`
	Kind string `json:"kind"`
	Sum  string `json:"sum"` // "" if it was removed
	Task string `json:"task"`
}

func (f Finding) String() string {
	return fmt.Sprintf("%s: %s by an agent at %s", f.Path, f.Kind, f.Task)
}

// FindingFix says what a person can do about it.
const FindingFix = "undo it, or if it is as you want it: ralph config trust"

// ErrFindings means that the record of what agents planted cannot be read.
var ErrFindings = errors.New("the record of what agents planted in earlier runs cannot be read")

const findingsFile = "findings.json"

// Findings lists what agents of earlier runs left and is still so. Older is the file of a ralph that kept the list where some agents can
// write: it counts until there is a record here.
func (s Store) Findings(older string) (list []Finding, err error) {
	if _, err = os.Stat(s.File(findingsFile)); err == nil {
		list, err = load[[]Finding](s, findingsFile)
	} else if data, rerr := os.ReadFile(older); rerr == nil {
		err = json.Unmarshal(data, &list)
	} else if err = nil; !errors.Is(rerr, fs.ErrNotExist) && !errors.Is(rerr, syscall.ENOTDIR) {
		err = rerr
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFindings, err)
	}
	return slices.DeleteFunc(list, func(f Finding) bool { return Sum(f.Path) != f.Sum }), nil
}

// Found adds what an agent changed although it must not. It makes the record, also if nothing was found: the older one counts no more.
func (s Store) Found(older string, found ...Finding) error {
	return update(s, findingsFile, func(list *[]Finding) {
		all, _ := s.Findings(older) // what cannot be read was written since the run began
		for _, f := range found {
			all = slices.DeleteFunc(all, func(old Finding) bool { return old.Path == f.Path })
		}
		*list = append(append([]Finding{}, all...), found...)
	})
}

// Confirm makes everything as it is now what counts: a person has looked at it.
func (h *History) Confirm() error {
	return errors.Join(h.begin(true), update(h.store, findingsFile, func(list *[]Finding) { *list = []Finding{} }))
}

// Sum shows whether what is at a path is what it was: type, mode and content, for a
// folder not what is in it. It is empty where nothing can be read.
func Sum(path string) string {
	sum, _ := SumOf(path)
	return sum
}

// SumOf is Sum, and why there is none. It is never fooled into waiting: only regular files are read.
func SumOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	fmt.Fprintln(h, info.Mode())
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return "", err
		}
		_, _ = io.WriteString(h, target)
	case info.Mode().IsRegular():
		file, err := os.Open(path)
		if err != nil {
			return "", err
		}
		defer file.Close()
		if _, err := io.Copy(h, file); err != nil {
			return "", err
		}
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
