package slot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// boundHead is how much of each file is read. What ties an environment to its place is at the beginning of a file: the first
// line of a script, a setting, or the line that leads to an installed project.
const boundHead = 4 << 10

// refuseBound refuses to copy a folder in which a file names the project's own path, such as a .venv: wherever it is copied to, it
// runs programs and imports files of the project's own folder, and gates would test those.
func (s *Slot) refuseBound(names []string) error {
	top := s.p.o.Repo.Dir()
	for _, name := range names {
		if !strings.HasSuffix(name, "/") { // a file, which a person wrote
			continue
		}
		err := filepath.WalkDir(filepath.Join(top, filepath.FromSlash(name)), func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			text, err := head(at, d.Type())
			for _, root := range []string{top, s.p.o.Project} {
				if namesPath(text, root) {
					return fmt.Errorf("%s names %s, so whatever uses a copy of %s would work with the files there: leave it out of [parallel] copy and %s, and make it in each slot with [parallel] setup",
						strings.TrimPrefix(at, top+string(filepath.Separator)), root, name, includeFile)
				}
			}
			return err
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the project may not have it any more
			return err
		}
	}
	return nil
}

// head is the beginning of a text file, or where a link leads. Of any other file it is empty.
func head(at string, kind fs.FileMode) ([]byte, error) {
	switch {
	case kind&fs.ModeSymlink != 0:
		to, err := os.Readlink(at)
		return []byte(to), err
	case !kind.IsRegular():
		return nil, nil
	}
	f, err := os.Open(at)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, boundHead))
	if bytes.IndexByte(text, 0) >= 0 {
		text = nil
	}
	return text, err
}

// namesPath reports whether a text has a path in it, by itself or before a slash, and not as a part of another name.
func namesPath(text []byte, path string) bool {
	for {
		i := bytes.Index(text, []byte(path))
		if i < 0 {
			return false
		}
		rest := text[i+len(path):]
		if (i == 0 || !inName(text[i-1])) && (len(rest) == 0 || !inName(rest[0])) {
			return true
		}
		text = rest
	}
}

func inName(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("_-.", c) >= 0
}
