package knowledge

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"ralph/internal/plain"
	"ralph/internal/testing/failpoint"
)

// Result says what became of an entry that was written.
type Result struct {
	Entry          // as it is stored
	Updated   bool // an entry that said the same was there: it has the new body
	Unchanged bool // and every byte of it was the same
	Cut       bool // the body was too long
}

// Write stores an entry. If one with the same title is there, or one with more
// than half of the tags whose title is within this one's or the other way round,
// that one is updated: the new body, kind and source win, the tags are merged, the
// title, the file and the time it was created stay. Otherwise a file is added, and
// no other is ever touched. Files are replaced whole or not at all.
func (s *Store) Write(e Entry) (Result, error) {
	e.tidy()
	if e.Title == "" {
		return Result{}, fmt.Errorf("write knowledge: %w", ErrInvalid)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	root, err := s.open(true)
	if err != nil {
		return Result{}, fmt.Errorf("write knowledge %q: %w", e.Title, err)
	}
	defer root.Close()
	entries, _ := s.load(root)
	r := Result{Entry: e, Cut: strings.HasSuffix(e.Body, cutNotice(e.Words))}
	if old, ok := duplicate(entries, e); ok {
		r.Updated = true
		r.Entry = merge(old, e)
	}
	if err = store(root, &r); err != nil {
		return Result{}, fmt.Errorf("write knowledge %q: %w", e.Title, err)
	}
	return r, nil
}

func merge(old, e Entry) Entry {
	e.Title, e.File = old.Title, old.File
	e.Tags = append(slices.Clone(old.Tags), e.Tags...)
	if !old.CreatedAt.IsZero() {
		e.CreatedAt = old.CreatedAt
	}
	if e.Feature == "" {
		e.Feature = old.Feature
	}
	e.Tags = tidyTags(e.Tags)
	e.prepare()
	return e
}

// store brings the bytes to the disk: into a temporary file first, which then
// takes the place of the old one or, for a new entry, a name that is free.
func store(root *os.Root, r *Result) error {
	data := r.format()
	if r.Updated {
		if old, err := readText(root, r.File, maxFile); err == nil && old == string(data) {
			r.Unchanged = true
			return nil
		}
	}
	temp := tempPrefix + rand.Text()
	if err := writeTemp(root, temp, data); err != nil {
		return err
	}
	defer root.Remove(temp) //nolint:errcheck // it is gone if all went well
	if r.Updated {
		return root.Rename(temp, r.File)
	}
	for _, name := range freeNames(r.Title) {
		// Unlike a rename, a link never replaces what another process put there.
		err := root.Link(temp, name)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil { // a file system without hard links
			if _, there := root.Lstat(name); there == nil {
				continue
			}
			err = root.Rename(temp, name)
		}
		r.File = name
		return err
	}
	return errors.New("every name for its file is taken")
}

func freeNames(title string) []string {
	base := slug(title)
	names := []string{base + ".md", base + "-" + hash(title) + ".md"}
	for i := 2; i < 10; i++ {
		names = append(names, fmt.Sprintf("%s-%s-%d.md", base, hash(title), i))
	}
	return names
}

const tempPrefix = ".tmp-"

func writeTemp(root *os.Root, name string, data []byte) error {
	f, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if failpoint.On && len(data) > 1 { // half of it, for whoever dies here
		_, _ = f.Write(data[:len(data)/2])
		failpoint.Hit("in-knowledge")
		_, _ = f.Seek(0, 0)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync())
	info, statErr := f.Stat()
	if err = errors.Join(err, statErr, f.Close()); err != nil {
		return errors.Join(err, root.Remove(name))
	}
	sweep(root, info.ModTime())
	return nil
}

// sweep removes temporary files of writers that died an hour ago or more.
func sweep(root *os.Root, now time.Time) {
	names, _ := list(root, Folder, func(name string) bool { return strings.HasPrefix(name, tempPrefix) })
	for _, name := range names {
		if info, err := root.Lstat(name); err == nil && now.Sub(info.ModTime()) > time.Hour {
			_ = root.Remove(name)
		}
	}
}

const maxSlug = 60 // bytes

// slug makes the name of a file, without .md, of any title: a to z, 0 to 9 and
// single dashes between them, at most maxSlug bytes. A title of which too much is
// lost is named by its hash.
func slug(title string) string {
	name := strings.Join(strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
		return !plain.IsAlnum(r)
	}), "-")
	name = strings.Trim(name[:min(len(name), maxSlug)], "-")
	lost := 0
	for _, r := range title {
		if r > 0x7f {
			lost++
		}
	}
	if name == "" || lost > len(name) || isReserved(name) {
		return "k-" + hash(title)
	}
	return name
}

// hash tells titles apart whose slugs are the same.
func hash(title string) string {
	sum := sha256.Sum256([]byte(title))
	return hex.EncodeToString(sum[:4])
}

// isReserved says whether Windows takes the name for a device.
func isReserved(name string) bool {
	return slices.Contains([]string{"con", "prn", "aux", "nul"}, name) ||
		len(name) == 4 && (strings.HasPrefix(name, "com") || strings.HasPrefix(name, "lpt"))
}

// duplicate finds the entry that says what e says: by its title, else the first
// by title that is similar.
func duplicate(entries []Entry, e Entry) (Entry, bool) {
	at := slices.IndexFunc(entries, func(old Entry) bool { return old.key == e.key })
	if at < 0 {
		at = slices.IndexFunc(entries, func(old Entry) bool { return similar(old, e) })
	}
	if at < 0 {
		return Entry{}, false
	}
	return entries[at], true
}

// similar says whether two entries share more than half of the tags of the one
// that has more, and the words of one title stand within the other's.
func similar(a, b Entry) bool {
	shared := 0
	for _, tag := range a.tags {
		if slices.Contains(b.tags, tag) {
			shared++
		}
	}
	one, other := " "+key(a.Title)+" ", " "+key(b.Title)+" "
	return 2*shared > max(len(a.tags), len(b.tags)) && (strings.Contains(one, other) || strings.Contains(other, one))
}
