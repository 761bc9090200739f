package knowledge

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"ralph/internal/seq"
)

const maxFiles = 50_000

// cached is what a file held when it was as info says.
type cached struct {
	name  string
	info  fs.FileInfo
	entry Entry
	why   error // why it holds no entry
}

// Load returns all entries by title, and a warning for each file that holds none.
// A file is read again only when its modification time, its size or the file
// itself is another. A project without the folder has no entries.
func (s *Store) Load() ([]Entry, []Warning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	root, err := s.open(false)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Warning{{Folder, reason(err).Error()}}
	}
	defer root.Close()
	return s.load(root)
}

// open opens the folder by way of the project's root, so that a link out of the
// project is refused.
func (s *Store) open(create bool) (*os.Root, error) {
	project, err := os.OpenRoot(s.project)
	if err != nil {
		return nil, err
	}
	defer project.Close()
	if create {
		if err := project.MkdirAll(Folder, 0o700); err != nil {
			return nil, fmt.Errorf("%s: %w", Folder, reason(err))
		}
	}
	return project.OpenRoot(Folder)
}

func (s *Store) load(root *os.Root) ([]Entry, []Warning) {
	// Hidden files are left out; temporary ones are hidden.
	names, warnings := list(root, Folder, func(name string) bool { return strings.HasSuffix(name, ".md") && name[0] != '.' })
	files := make([]*cached, 0, len(names))
	changed := false
	for _, name := range names {
		info, err := root.Lstat(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed meanwhile
		}
		if err != nil {
			warnings = append(warnings, Warning{path(name), reason(err).Error()})
			continue
		}
		c := s.cache[name]
		if c == nil || !sameState(c.info, info) {
			c, changed = read(root, name, info), true
		}
		files = append(files, c)
		if c.why != nil {
			warnings = append(warnings, Warning{path(name), c.why.Error()})
		}
	}
	if changed || len(files) != len(s.cache) {
		s.keep(files)
	}
	return seq.Map(s.sorted, func(e *Entry) Entry { return *e }), warnings
}

// keep makes files what the store remembers.
func (s *Store) keep(files []*cached) {
	s.cache = make(map[string]*cached, len(files))
	s.sorted = nil
	for _, c := range files {
		s.cache[c.name] = c
		if c.why == nil {
			s.sorted = append(s.sorted, &c.entry)
		}
	}
	slices.SortFunc(s.sorted, byTitle)
}

func list(root *os.Root, folder string, wanted func(string) bool) ([]string, []Warning) {
	dir, err := root.Open(".")
	if err != nil {
		return nil, []Warning{{folder, reason(err).Error()}}
	}
	defer dir.Close()
	all, err := dir.Readdirnames(-1)
	var warnings []Warning
	if err != nil {
		warnings = append(warnings, Warning{folder, reason(err).Error()})
	}
	names := slices.DeleteFunc(all, func(name string) bool { return !wanted(name) })
	slices.Sort(names)
	if len(names) > maxFiles {
		names = names[:maxFiles]
		warnings = append(warnings, Warning{folder, "more than 50,000 files; the rest is not read"})
	}
	return names, warnings
}

func sameState(a, b fs.FileInfo) bool {
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode() && os.SameFile(a, b)
}

func read(root *os.Root, name string, info fs.FileInfo) *cached {
	c := &cached{name: name, info: info}
	if info.Size() > maxFile {
		c.why = fmt.Errorf("%d bytes, more than the %d that are read", info.Size(), maxFile)
		return c
	}
	text, err := readText(root, name, maxFile)
	if err == nil {
		c.entry, err = parse(text)
	}
	c.entry.File, c.why = name, err
	return c
}

func byTitle(a, b *Entry) int {
	return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.File, b.File))
}
