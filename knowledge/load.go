package knowledge

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// maxFiles is how many files are looked at.
const maxFiles = 50_000

// cached is what a file held when it was as info says.
type cached struct {
	info  fs.FileInfo
	entry *Entry
	why   error // why it holds no entry
}

// Load returns all entries by title, and a warning for each file that holds none.
// A file is read again only when its modification time, its size or the file
// itself is another. A project without the folder has no entries.
func (s *Store) Load() ([]Entry, []Warning) {
	s.mu.Lock()
	defer s.mu.Unlock()
	root, err := s.open()
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
func (s *Store) open() (*os.Root, error) {
	project, err := os.OpenRoot(s.project)
	if err != nil {
		return nil, err
	}
	defer project.Close()
	return project.OpenRoot(Folder)
}

func (s *Store) load(root *os.Root) ([]Entry, []Warning) {
	names, warnings := list(root, Folder, isEntryName)
	fresh := make(map[string]cached, len(names))
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
		c, known := s.cache[name]
		if !known || !sameState(c.info, info) {
			c, changed = read(root, name, info), true
		}
		fresh[name] = c
		if c.why != nil {
			warnings = append(warnings, Warning{path(name), c.why.Error()})
		}
	}
	if changed || len(fresh) != len(s.cache) {
		s.sorted = s.sorted[:0]
		for _, c := range fresh {
			if c.why == nil {
				s.sorted = append(s.sorted, c.entry)
			}
		}
		slices.SortFunc(s.sorted, byTitle)
	}
	s.cache = fresh
	entries := make([]Entry, len(s.sorted))
	for i, e := range s.sorted {
		entries[i] = *e
	}
	return entries, warnings
}

// list names what is in a folder, in order.
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

// isEntryName leaves out hidden files; temporary ones are.
func isEntryName(name string) bool {
	return strings.HasSuffix(name, ".md") && !strings.HasPrefix(name, ".")
}

func sameState(a, b fs.FileInfo) bool {
	return a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode() && os.SameFile(a, b)
}

// read reads one file.
func read(root *os.Root, name string, info fs.FileInfo) cached {
	c := cached{info: info}
	if c.why = isPlain(info); c.why != nil {
		return c
	}
	if info.Size() > maxFile {
		c.why = tooLarge(info.Size())
		return c
	}
	text, err := readText(root, name, maxFile)
	if err != nil {
		c.why = err
		return c
	}
	e, err := parse(text)
	e.File = name
	c.entry, c.why = &e, err
	return c
}

func byTitle(a, b *Entry) int {
	if c := strings.Compare(a.key, b.key); c != 0 {
		return c
	}
	return strings.Compare(a.File, b.File)
}
