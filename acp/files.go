package acp

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"ralph/internal/seen"
)

const (
	maxReadScan = 64 << 20 // bytes looked at for one read
	maxReadText = 8 << 20  // bytes answered; they become one line
	maxWrite    = 9 << 20
)

var (
	errOutside    = errors.New("outside the project")
	errProtected  = errors.New("protected by ralph")
	errHidden     = errors.New("hidden by ralph")
	errNotRegular = errors.New("not a regular file")
	errTooLarge   = errors.New("too large")
	errNotText    = errors.New("not UTF-8 text")
	errReadOnly   = errors.New("this session is read-only")
)

// files is the project as the agent may use it through us. Every access goes
// through the root, so no path, dots and symbolic links included, leads out.
type files struct {
	root      *os.Root
	place     seen.Folder
	dirs      []string      // names of the root as the agent may write them
	protected []string      // below the root
	known     []fs.FileInfo // what was at the protected paths when the session began, wherever it is moved
	names     []string      // protected wherever they are
	hidden    []string      // absolute; never read
	also      *files        // may be read where there is nothing; nil if nothing else may
	below     func(path string) (name string, folders []string)
}

func openFiles(dir string, place seen.Folder, protected, names, hidden []string) (*files, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open project: %w", err)
	}
	f := &files{root: root, place: place, dirs: []string{filepath.Clean(dir)}, names: names, hidden: hidden}
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != f.dirs[0] {
		f.dirs = append(f.dirs, real)
	}
	for _, path := range protected {
		if rel, ok := f.relative(filepath.FromSlash(path)); ok {
			f.protect(rel)
		}
	}
	return f, nil
}

// protect puts a path on the list. One that a protected name leads to needs only to be
// known again if it is moved.
func (f *files) protect(rel string) {
	for _, look := range []func(string) (fs.FileInfo, error){f.root.Lstat, f.root.Stat} {
		if info, err := look(rel); err == nil {
			f.known = append(f.known, info)
		}
	}
	if !slices.ContainsFunc(strings.Split(rel, string(filepath.Separator)), f.protectedName) {
		f.protected = append(f.protected, rel)
	}
}

// protectedName compares without case, as some file systems do.
func (f *files) protectedName(name string) bool {
	return slices.ContainsFunc(f.names, func(other string) bool { return strings.EqualFold(name, other) })
}

// relative is the path below the root, if it is there by the name that the agent has for it.
func (f *files) relative(path string) (string, bool) {
	if path == "" || strings.ContainsRune(path, 0) || len(path) > 4096 {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Clean(path)
		return path, filepath.IsLocal(path)
	}
	path = f.place.Outside(path)
	for _, dir := range f.dirs {
		if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
			return rel, true
		}
	}
	return "", false
}

// read is the text of a file from a line (1-based; 0 means the first) on, at
// most limit lines (0 means all). The error is fs.ErrNotExist if there is none.
func (f *files) read(path string, line, limit int) (string, error) {
	rel, ok := f.relative(path)
	if !ok && f.also != nil {
		return f.also.read(path, line, limit)
	}
	if !ok {
		return "", fmt.Errorf("read %s: %w", path, errOutside)
	}
	text, err := f.text(rel, line, limit)
	if f.below != nil && errors.Is(err, fs.ErrNotExist) {
		text, err = f.readBelow(rel, line, limit)
	}
	if errors.Is(err, fs.ErrNotExist) && f.also != nil {
		if also, ok := f.also.relative(f.place.Inside(filepath.Join(f.dirs[0], rel))); ok {
			return f.also.read(also, line, limit)
		}
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", rel, pathCause(err))
	}
	return text, nil
}

// readBelow reads what only the agent sees at a path.
func (f *files) readBelow(rel string, line, limit int) (text string, err error) {
	name, folders := f.below(filepath.Join(f.dirs[0], rel))
	err = fs.ErrNotExist
	for _, dir := range folders {
		var in *files
		if in, err = openFiles(dir, seen.Folder{}, nil, nil, f.hidden); err == nil {
			text, err = in.text(name, line, limit)
			in.close()
		}
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return text, err
}

// text looks at a file first, so that a device is not even opened; it opens it without
// waiting and looks again, so that a pipe put there meanwhile cannot hang.
func (f *files) text(rel string, line, limit int) (string, error) {
	if info, err := f.root.Stat(rel); err != nil || !info.Mode().IsRegular() {
		return "", cmp.Or(err, errNotRegular)
	}
	file, err := f.root.OpenFile(rel, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return "", errNotRegular
	}
	if f.hides(rel, info) {
		return "", errHidden
	}
	return readLines(file, line, limit)
}

// hides says whether the file that was opened as rel is hidden, or in a hidden folder,
// by any name. One whose place is unknown is.
func (f *files) hides(rel string, opened fs.FileInfo) bool {
	if len(f.hidden) == 0 {
		return false
	}
	real, err := filepath.EvalSymlinks(filepath.Join(f.dirs[0], rel))
	if err != nil {
		return true
	}
	if now, err := os.Stat(real); err != nil || !os.SameFile(now, opened) {
		return true // it was replaced meanwhile
	}
	return slices.ContainsFunc(f.hidden, func(path string) bool {
		at, err := filepath.EvalSymlinks(path)
		if err != nil {
			return false // there is nothing to hide
		}
		if rel, err := filepath.Rel(at, real); err == nil && filepath.IsLocal(rel) {
			return true
		}
		info, err := os.Stat(at)
		return err == nil && os.SameFile(info, opened)
	})
}

func readLines(r io.Reader, line, limit int) (string, error) {
	in := bufio.NewReader(io.LimitReader(r, maxReadScan+1))
	var out strings.Builder
	scanned, n := 0, 1
	for limit <= 0 || n < max(line, 1)+limit {
		chunk, err := in.ReadSlice('\n')
		if scanned += len(chunk); scanned > maxReadScan {
			return "", errTooLarge
		}
		if n >= line {
			if out.Len()+len(chunk) > maxReadText {
				return "", errTooLarge
			}
			out.Write(chunk)
		}
		switch {
		case err == nil:
			n++
		case errors.Is(err, io.EOF):
			limit, n = 1, max(line, 1)+1 // the end
		case !errors.Is(err, bufio.ErrBufferFull):
			return "", err
		}
	}
	if !utf8.ValidString(out.String()) {
		return "", errNotText
	}
	return out.String(), nil
}

// pathCause drops the operation and path that os repeats, and names an
// escape.
func pathCause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	if strings.Contains(err.Error(), "escapes from parent") {
		return errOutside
	}
	return err
}

func (f *files) close() {
	f.root.Close()
	if f.also != nil {
		f.also.close()
	}
}
