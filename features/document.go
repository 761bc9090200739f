package features

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"ralph/dag"
	"ralph/internal/bounded"
	"ralph/internal/copyfile"
	"ralph/internal/plansync"
)

// Kind is a document that an agent helps to write.
type Kind string

// The kinds there are, by the names of their files without .md.
const (
	Spec Kind = "spec"
	Plan Kind = "plan"
)

// File is the name of the document.
func (k Kind) File() string { return string(k) + ".md" }

// what the document is called in a sentence.
func (k Kind) what() string {
	if k == Spec {
		return "specification"
	}
	return "plan"
}

// TasksFile is the graph of a feature as it travels in git.
const TasksFile = plansync.TasksFile

// ErrNoText is a file that is no document.
var ErrNoText = fmt.Errorf("%w: no document", dag.ErrRefused)

// ReadDocument reads a regular file of text. fs.ErrNotExist means that there is none.
func ReadDocument(path string) (string, error) {
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return "", cause(err)
	}
	defer root.Close()
	name := filepath.Base(path)
	f, info, err := copyfile.Open(root, name) // an agent may have put anything in place of a document
	switch {
	case errors.Is(err, copyfile.ErrSpecial):
		return "", fmt.Errorf("%w: %s is %w", ErrNoText, name, err)
	case err != nil:
		return "", cause(err)
	}
	defer f.Close()
	if info.Size() > bounded.Text {
		return "", fmt.Errorf("%w: %s has %d MiB; at most %d are read", ErrNoText, name, info.Size()>>20, bounded.Text>>20)
	}
	return ReadText(f, name)
}

// ReadText reads a document to its end and refuses what is too large, not text, or
// empty.
func ReadText(r io.Reader, name string) (string, error) {
	data, err := bounded.Read(r, bounded.Text)
	switch text := string(data); {
	case errors.As(err, new(bounded.TooLarge)):
		return "", fmt.Errorf("%w: %s has more than %d MiB", ErrNoText, name, bounded.Text>>20)
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, err)
	case strings.ContainsRune(text, 0), !utf8.ValidString(text):
		return "", fmt.Errorf("%w: %s is not text", ErrNoText, name)
	case strings.TrimSpace(text) == "":
		return "", fmt.Errorf("%w: %s is empty", ErrNoText, name)
	default:
		return text, nil
	}
}

// cause keeps what errors.Is needs and drops the name that os repeats.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %w", filepath.Base(pe.Path), pe.Err)
	}
	return err
}

// Exists says that something stands at a path, whatever it is.
func Exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// fingerprint tells whether a file is still what it was; "" means that there is none.
func fingerprint(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil
	case err != nil:
		return "", err
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%w: %s is not a regular file", ErrNoText, path)
	}
	data, err := os.ReadFile(path)
	return sum(data), err
}

func sum(data []byte) string {
	hash := sha256.Sum256(data)
	return hex.EncodeToString(hash[:])
}
