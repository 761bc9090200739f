// Package knowledge owns what the project has learned and keeps in files: the
// entries of .ralph/knowledge and the skills beside them. It finds, matches,
// links, writes and lints them. It never believes a file: whatever is broken,
// huge, no plain file or outside the project is a warning that names it, and what
// is read is data for prompt to quote.
package knowledge

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"ralph/internal/copyfile"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/internal/words"
)

// Folder is where entries are, below the project's root.
const Folder = ".ralph/knowledge"

// ErrNotFound says that no entry is called that.
var ErrNotFound = errors.New("no such knowledge entry")

// ErrInvalid says that an entry can never be written, however often it is tried.
var ErrInvalid = errors.New("no usable title")

// Kind is what an entry is.
type Kind string

// The kinds. A file that names none, or another, holds a lesson.
const (
	Lesson  Kind = "lesson"
	Failure Kind = "failure" // of an attempt that failed: it may be wrong
)

// Entry is one thing that later agents should know.
type Entry struct {
	Title     string
	Tags      []string
	Feature   string
	CreatedAt time.Time
	Task, Run string // where it was learned
	Kind      Kind
	Body      string // at most MaxWords words; the file may hold more

	File  string // its name in the folder
	Words int    // of the whole body

	key   string   // of the title, as titleKey
	tags  []string // keys of the tags
	links []string // keys of the titles it links to
}

// MaxWords is how many words of a body are kept.
const MaxWords = 500

// Warning names a file that could not be used and says why.
type Warning struct {
	File string // relative to the project's root
	Why  string
}

func (w Warning) String() string { return w.File + ": " + w.Why }

// Store is the entries of one project. It remembers what it read, so that a file
// that did not change is not read again. It is safe for concurrent use.
type Store struct {
	project string

	mu     sync.Mutex
	cache  map[string]*cached // by the file's name
	sorted []*Entry           // of the cache, by title
}

// Open returns the store of the project whose root is given. Nothing is read or
// made yet.
func Open(project string) *Store {
	return &Store{project: project, cache: map[string]*cached{}}
}

// prepare computes what matching compares.
func (e *Entry) prepare() {
	e.key = titleKey(e.Title)
	e.tags = seq.Map(e.Tags, key)
	if e.Kind != Failure {
		e.Kind = Lesson
	}
}

// path is where an entry is for people, relative to the project's root.
func path(file string) string { return filepath.ToSlash(filepath.Join(Folder, file)) }

// titleKey is how titles are compared: case and blanks do not count.
func titleKey(title string) string { return strings.ToLower(plain.OneLine(title)) }

// key is how tags are compared: words in lower case with one blank between. Tags
// without any word compare by what they are.
func key(tag string) string {
	if k := strings.Join(words.Names(tag), " "); k != "" {
		return k
	}
	return titleKey(tag)
}

const maxFile = 64 << 10

// readText reads a small text file below root. It neither follows a link nor waits
// for a pipe.
func readText(root *os.Root, name string, limit int64) (string, error) {
	f, info, err := copyfile.Open(root, name)
	if err != nil {
		return "", reason(err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit))
	if err != nil {
		return "", reason(err)
	}
	if info.Size() > limit {
		data = plain.Whole(data)
	}
	if !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0 {
		return "", errors.New("not a text file")
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	return strings.ReplaceAll(text, "\r\n", "\n"), nil
}

// reason drops the path from an error, because whoever prints it names the file.
func reason(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	if strings.Contains(err.Error(), "escapes from parent") { // the library has no name for it
		return errors.New("a link there leads out of the project and is not followed")
	}
	return err
}
