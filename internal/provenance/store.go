// Package provenance answers one question about whatever ralph executes, obeys or says to agents: did a person (or ralph itself) write this, or
// may an agent have done so? What the answers rest on lies in a folder of the user's own for each project, where no agent in a sandbox can read or
// write. docs/security.md, "Who wrote it", lists what counts, who can write it and which function here answers. Where nothing confines
// an agent, it can do all that its user can, and write here, too.
package provenance

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"ralph/internal/atomicfile"
	"ralph/internal/copyfile"
	"ralph/internal/filelock"
)

// Store is the folder of a project.
type Store struct{ Dir string }

// ErrStore means that nothing can be kept.
var ErrStore = errors.New("what no agent may change cannot be stored")

// File is the path of a file in the folder; "" if there is no folder.
func (s Store) File(name string) string {
	if !filepath.IsAbs(s.Dir) {
		return ""
	}
	return filepath.Join(s.Dir, name)
}

// Missing is why there is no folder; nil if there is one, or can be. Without one nothing is sealed, and a missing seal proves nothing.
func (s Store) Missing() error {
	if s.File("") == "" {
		return fmt.Errorf("%w: neither HOME nor XDG_STATE_HOME is set", ErrStore)
	}
	return nil
}

// Seal notes that ralph itself, or a person by ralph, said this about a subject. It is called before what is sealed is stored: what cannot
// be sealed is not said. What was sealed before about the same subject counts no more.
func (s Store) Seal(subject string, said ...string) error {
	err := s.Missing()
	if err == nil {
		err = Append(s.File("seals"), "", "\n"+sum(subject)+" "+sum(said...)+"\n") // whatever the last one left
	}
	if err != nil && !errors.Is(err, ErrStore) {
		err = fmt.Errorf("%w: %w", ErrStore, err)
	}
	return err
}

// Sealed reports whether exactly this was the last to be sealed about a subject.
func (s Store) Sealed(subject string, said ...string) bool {
	path := s.File("seals")
	if path == "" {
		return false
	}
	data, _ := os.ReadFile(path) // without the file nothing is sealed
	seals, is := string(data), sum(said...)
	if i := strings.LastIndex(seals, "\n"+sum(subject)+" "); i >= 0 {
		last, _, whole := strings.Cut(seals[i+1:], "\n")
		return whole && last == sum(subject)+" "+is
	}
	return strings.Contains(seals, "\n"+is+"\n") // of a ralph that noted no subjects
}

func sum(parts ...string) string {
	is := sha256.Sum256(fmt.Appendf(nil, "%q", parts)) // quoted: what is of one part cannot pass for another's
	return hex.EncodeToString(is[:])
}

// load reads a record in the folder. Without one it is empty.
func load[T any](s Store, name string) (r T, err error) {
	path := s.File(name)
	if path == "" {
		return r, nil
	}
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &r)
	}
	return r, err
}

// update changes a record in the folder, which no other process does meanwhile. One that cannot be read begins anew.
func update[T any](s Store, name string, change func(*T)) error {
	err := s.Missing()
	if err == nil {
		err = os.MkdirAll(s.Dir, 0o700)
	}
	if err != nil {
		return err
	}
	lock, err := os.OpenFile(s.File("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = filelock.Close(lock) }()
	if err := filelock.Take(lock); err != nil {
		return err
	}
	r, err := load[T](s, name)
	if err != nil {
		r = *new(T)
	}
	change(&r)
	return atomicfile.WriteJSON(s.File(name), r)
}

// Append writes at the end of a file, in one piece: what a person wrote stays as it is, and what two processes write at once is all there. A
// new file begins with the preface.
func Append(path, preface, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND|syscall.O_NONBLOCK, 0o600) // no pipe holds us up
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s: %w", path, copyfile.ErrSpecial)
	}
	if err == nil {
		if info.Size() == 0 {
			text = preface + text
		}
		_, err = f.WriteString(text)
	}
	return errors.Join(err, f.Sync(), f.Close())
}
