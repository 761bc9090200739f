package suite

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"ralph/internal/git"
	"ralph/internal/lazyregexp"
)

// Edit makes one file of a tree what it was before the work, or partly so.
type Edit struct {
	Path    string
	From    string // the base's file of that path is put there, with its mode: Path itself, or where it was before it moved
	Content []byte // else this, in the mode that the file has, if it is not nil; else what is at Path is removed
}

// Plan is how the files that check the work are made as they were before it.
type Plan struct {
	Changed []git.Change // those that the work changed, removed, or added as settings or scripts
	Edits   []Edit       // to the tree of the work, removals first; includes the removal of new ones
}

// Plan lists what to put back. Nothing is Changed if the old files need not be run. The error is for files that cannot
// be read.
func (s *Suite) Plan(changes []git.Change, after Read) (Plan, error) {
	b := builder{Suite: s, after: after, added: map[string]bool{}, seen: map[string]bool{}, put: map[string]bool{}, moves: moves(changes, s.Kind)}
	b.beside = map[string]struct{ tests, sources []byte }{}
	b.renamed = sync.OnceValue(func() []renaming { return b.renamings(changes) })
	for _, c := range changes {
		b.added[c.Path] = b.added[c.Path] || c.Kind == git.Added || c.Kind == git.Renamed
		b.locked = b.locked || lockNames.has(path.Base(c.Path))
	}
	for _, c := range changes {
		if b.first(c) && !s.may(c) && !s.Orphaned(c, changes, after) && b.edit(c) {
			b.Changed = append(b.Changed, c)
		}
	}
	if len(b.Changed) == 0 || b.err != nil {
		return Plan{}, b.err
	}
	b.clear()
	slices.SortFunc(b.Edits, func(x, y Edit) int {
		return cmp.Or(cmp.Compare(x.rank(), y.rank()), strings.Compare(x.Path, y.Path))
	})
	return b.Plan, nil
}

// may reports whether the task allows a change.
func (s *Suite) may(c git.Change) bool {
	return s.base.May != nil && !slices.ContainsFunc(c.Paths(), func(file string) bool { return !s.base.May(file) })
}

func (e Edit) rank() int {
	if e.From == "" && e.Content == nil {
		return 0
	}
	return 1
}

// builder makes a plan.
type builder struct {
	*Suite
	Plan
	after Read
	added map[string]bool
	seen  map[string]bool
	put   map[string]bool   // paths at which something of the base is put
	moves map[string]string // folders that moved with their tests
	err   error

	locked  bool // other versions of libraries are used
	renamed func() []renaming
	beside  map[string]struct{ tests, sources []byte } // what a folder has of code
}

// Kind is that of the suite. Among changes, code of others that was changed here may be what tests use, and so may data that
// only tests name. Code of others that is new is work.
func (b *builder) Kind(file string) Kind {
	kind := b.Suite.Kind(file)
	folders := strings.Split(path.Dir(file), "/")
	switch inElsewhere := slices.ContainsFunc(folders, elsewhere.has); {
	case kind != "":
	case inElsewhere && (b.locked || b.added[file] || slices.ContainsFunc(folders, isCache)):
	case inElsewhere, b.named(file):
		return Fixture
	}
	return kind
}

// named reports whether tests name a file that lies next to them, and sources there do not.
func (b *builder) named(file string) bool {
	ext, dir, name := path.Ext(file), path.Dir(file), []byte(path.Base(file))
	switch {
	case ext == "", ext == ".md", codeExts.has(ext), b.added[file], mixed(string(name)) != nil:
		return false
	}
	code, known := b.beside[dir]
	if !known && len(b.beside) < maxFolders {
		files, err := b.base.Beside(dir)
		b.err = errors.Join(b.err, err)
		for _, other := range files {
			if codeExts.has(path.Ext(other)) {
				text, _ := b.base.Read(other) // what cannot be read names nothing
				to := &code.sources
				if IsTest(other) {
					to = &code.tests
				}
				*to = append(*to, text...)
			}
		}
		b.beside[dir] = code
	}
	return bytes.Contains(code.tests, name) && !bytes.Contains(code.sources, name)
}

// maxFolders is how many folders with data are searched: people do not change that many by hand.
const maxFolders = 20

// first reports whether nothing is planned yet for the files of a change: the changes of a candidate, and those that were
// made in its folder since, may name a file twice.
func (b *builder) first(c git.Change) bool {
	seen := false
	for _, file := range c.Paths() {
		seen = seen || b.seen[file]
		b.seen[file] = true
	}
	return !seen
}

// edit plans what is done about one change, and reports whether the old files must be run because of it.
func (b *builder) edit(c git.Change) (matters bool) {
	switch c.Kind {
	case git.Added:
		return b.remove(c.Path)
	case git.Deleted:
		return b.restore(c.Path)
	case git.Modified, git.Mode:
		if merge := b.merging(c.Path); merge != nil {
			return c.Kind == git.Modified && b.merge(c.Path, c.Path, merge)
		}
		return b.restore(c.Path)
	case git.Renamed:
		return b.rename(c)
	}
	return false
}

// merging returns how a file is merged that is partly work, or nil.
func (b *builder) merging(file string) merge {
	kind := b.Kind(file)
	switch {
	case kind == Protected:
		return nil
	case kind == "" && path.Ext(file) == ".rs":
		return mergeRust
	}
	return mixed(path.Base(file))
}

// remove takes away what is new. New tests alone do not matter, unless they could keep others from running.
func (b *builder) remove(file string) (matters bool) {
	if merge := b.merging(file); merge != nil {
		switch dir := path.Dir(file); {
		case path.Ext(file) == ".rs":
			return false
		case path.Base(file) == "go.mod" && dir != "." && b.had(dir): // it takes the folder out of ./...
		default:
			return b.merge("", file, merge)
		}
	}
	kind := b.Kind(file)
	switch {
	case kind == "" && b.shadows(file), kind == Settings, kind == Script, kind == Protected:
		matters = true
	case kind == "":
		return false
	default:
		text, err := b.after(file)
		matters = err == nil && loud.Get().Match(text)
	}
	b.Edits = append(b.Edits, Edit{Path: file})
	return matters
}

// loud is what ends a test program, or keeps other tests from running.
var loud = lazyregexp.New(`\bTestMain\(|\b_?[Ee]xit!?\b|\babort\(|\.only\b|\bonly:|\bf(?:it|describe|context)\(|load_tests|\bpytest_\w+|collect_ignore|` +
	`\bmonkeypatch|\bautouse|\bfilter_run|\bfocus|func init\(|sys\.modules|\bkill\(|beforeAll|globalSetup|jest\.mock|prototype|\bassert\.\w+\s*=[^=]|expect\.extend|\bglobal(?:This)?\.`)

// shadows reports whether a new file is found before a program or a module that runs tests.
func (b *builder) shadows(file string) bool {
	onPath := slices.Contains([]string{"bin", ".bin", "shims"}, path.Base(path.Dir(file)))
	return onPath && b.runs.words[path.Base(file)] || shadow.Get().MatchString(file) && !b.had(path.Dir(file)+"/__init__.py")
}

// had reports whether the base has a file or a folder.
func (b *builder) had(file string) bool {
	_, err := b.base.Read(path.Clean(file))
	return !errors.Is(err, fs.ErrNotExist)
}

// restore puts back what was changed or removed. What is partly work, and is gone, was not wanted.
func (b *builder) restore(file string) (matters bool) {
	if kind := b.Kind(file); kind == "" || kind != Protected && mixed(path.Base(file)) != nil {
		return false
	}
	return b.putBack(file, file)
}

// putBack puts a file of the base somewhere, in the names that the work has now. That it is the work's own then says that
// nothing else was changed in it.
func (b *builder) putBack(file, from string) (matters bool) {
	edit := Edit{Path: file, From: from}
	if was, err := b.base.Read(from); err == nil && b.Kind(from) != Protected && len(b.renamed()) > 0 {
		now, _ := b.after(file)
		switch text := b.inNewNames(was, now); {
		case bytes.Equal(text, was):
		case bytes.Equal(text, now):
			return false
		default:
			edit = Edit{Path: file, Content: text}
		}
	}
	b.put[file] = true
	b.Edits = append(b.Edits, edit)
	return true
}

// merge puts back a part of a file, or all of it if it cannot be read.
func (b *builder) merge(from, file string, merge merge) (matters bool) {
	var base, text []byte
	var err error
	if from != "" {
		base, err = b.base.Read(from)
	}
	work, failed := b.after(file)
	if err = errors.Join(err, failed); err == nil {
		if path.Ext(file) == ".rs" {
			base = b.inNewNames(base, work)
		}
		text, err = merge(base, work)
	} else if !errors.Is(err, git.ErrTooLarge) {
		b.err = errors.Join(b.err, err)
		return false
	}
	switch {
	case err != nil && from == "":
		b.Edits = append(b.Edits, Edit{Path: file})
	case err != nil || bytes.Equal(text, base) && from != "":
		return b.putBack(file, from)
	case bytes.Equal(text, work):
		return false
	default:
		b.put[file] = true
		b.Edits = append(b.Edits, Edit{Path: file, Content: text})
	}
	return true
}

// rename is a removal and an addition, unless the file moved with the folder that it is about.
func (b *builder) rename(c git.Change) (matters bool) {
	was, is := b.Kind(c.Old), b.Kind(c.Path)
	if was == "" && is == "" {
		if merge := b.merging(c.Path); merge != nil {
			return b.merge(c.Old, c.Path, merge)
		}
		return false
	}
	if movable := was == is && !slices.Contains([]Kind{"", Script, Protected}, was); movable && b.moved(path.Dir(c.Old), path.Dir(c.Path)) {
		if merge := b.merging(c.Path); merge != nil {
			return b.merge(c.Old, c.Path, merge)
		}
		old, err := b.base.Read(c.Old)
		now, err2 := b.after(c.Path)
		if err == nil && err2 == nil && bytes.Equal(old, now) {
			return false
		}
		return b.putBack(c.Path, c.Old)
	}
	restored := b.restore(c.Old)
	return b.remove(c.Path) || restored
}

// moves lists folders of which the work moved files to another.
func moves(changes []git.Change, kind func(string) Kind) map[string]string {
	list := map[string]string{}
	for _, c := range changes {
		if c.Kind != git.Renamed || path.Dir(c.Old) == path.Dir(c.Path) {
			continue
		}
		if kind(c.Old) == "" && kind(c.Path) == "" {
			list[path.Dir(c.Old)] = path.Dir(c.Path)
		}
	}
	return list
}

// moved reports whether a folder moved with what is tested: below the same folder, or as a folder of the same name did.
func (b *builder) moved(from, to string) bool {
	for up, rest := from, ""; ; up, rest = path.Dir(up), path.Join(path.Base(up), rest) {
		if now, moved := b.moves[up]; moved && path.Join(now, rest) == to {
			return true
		}
		if up == "." || up == "/" || path.Dir(up) == up {
			break
		}
	}
	for was, now := range b.moves {
		if path.Dir(from) == path.Dir(to) && path.Base(was) == path.Base(from) && path.Base(now) == path.Base(to) {
			return true
		}
	}
	return false
}

// clear removes new files from where files of the base are put: in their folder's place, or below them.
func (b *builder) clear() {
	edited := map[string]bool{}
	for _, e := range b.Edits {
		edited[e.Path] = true
	}
	for file := range b.put {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if b.added[dir] && !edited[dir] {
				edited[dir] = true
				b.Edits = append(b.Edits, Edit{Path: dir})
			}
		}
	}
	for file := range b.added {
		for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
			if b.put[dir] && !edited[file] {
				edited[file] = true
				b.Edits = append(b.Edits, Edit{Path: file})
			}
		}
	}
}
