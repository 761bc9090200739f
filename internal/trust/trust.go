// Package trust keeps what only a person or ralph may say where no agent in a sandbox can read or write: in a folder of the
// user's own for each project. A project and its database can be written by some agents. What is found there counts if
// it is sealed here, or lies here itself. Where nothing confines an agent, it can do all that its user can, and this too.
package trust

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Folder is that of a project.
type Folder struct{ Dir string }

// ErrFolder means that nothing can be kept.
var ErrFolder = errors.New("what no agent may change cannot be stored")

// File is the path of a file in the folder; "" if there is no folder.
func (f Folder) File(name string) string {
	if !filepath.IsAbs(f.Dir) {
		return ""
	}
	return filepath.Join(f.Dir, name)
}

// Missing is why there is no folder; nil if there is one, or can be. Without one nothing is sealed, and that says nothing.
func (f Folder) Missing() error {
	if f.File("") == "" {
		return fmt.Errorf("%w: neither HOME nor XDG_STATE_HOME is set", ErrFolder)
	}
	return nil
}

// Seal notes that ralph itself, or a person by ralph, said this. It is called before what is sealed is stored: what cannot
// be sealed is not said.
func (f Folder) Seal(parts ...string) error {
	if err := f.Missing(); err != nil {
		return err
	}
	path, err := f.File("seals"), os.MkdirAll(f.Dir, 0o700)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	_, err = file.WriteString("\n" + sum(parts) + "\n") // whatever the last one left
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("%w: %w", ErrFolder, err)
	}
	return nil
}

// Sealed reports whether exactly this was sealed.
func (f Folder) Sealed(parts ...string) bool {
	path := f.File("seals")
	if path == "" {
		return false
	}
	data, _ := os.ReadFile(path) // without the file nothing is sealed
	return strings.Contains(string(data), "\n"+sum(parts)+"\n")
}

func sum(parts []string) string {
	is := sha256.Sum256(fmt.Appendf(nil, "%q", parts)) // quoted: what is of one part cannot pass for another's
	return hex.EncodeToString(is[:])
}
