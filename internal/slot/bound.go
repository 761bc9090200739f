package slot

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// boundHead is how much is read of a file that leads elsewhere.
const boundHead = 64 << 10

// bound reports why a copy of a folder would be wrong: something in it leads to the project's own path, as in a .venv. Wherever it is
// copied to, it runs programs and imports files of the project's own folder, and gates would test those. Caches may name that path.
func (p *Pool) bound(name string) (why string, err error) {
	top := p.o.Repo.Dir()
	if p.sees().Seen != "" { // there it is right
		return "", nil
	}
	err = filepath.WalkDir(filepath.Join(top, filepath.FromSlash(name)), func(at string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return gone(err)
		}
		text, err := leadsTo(at, d.Type())
		for _, root := range []string{top, p.o.Project} {
			if namesPath(text, root) {
				why = fmt.Sprintf("%s names %s, so whatever uses a copy of %s/ would work with the files there", strings.TrimPrefix(at, top+string(filepath.Separator)), root, name)
				return fs.SkipAll
			}
		}
		return gone(err)
	})
	return why, err
}

// leadsTo is the text of a file that says which files are to be run or imported: where a link leads, the first line of a script, or
// what Python installs projects with. Of any other file it is empty.
func leadsTo(at string, kind fs.FileMode) ([]byte, error) {
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
	name, rest := filepath.Base(at), io.LimitReader(f, boundHead)
	if name == "pyvenv.cfg" || name == "direct_url.json" || slices.Contains([]string{".pth", ".egg-link"}, filepath.Ext(name)) {
		return io.ReadAll(rest)
	}
	var mark [2]byte
	if _, err := io.ReadFull(rest, mark[:]); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil
	} else if err != nil || string(mark[:]) != "#!" {
		return nil, err
	}
	text, err := io.ReadAll(rest)
	first, text, _ := bytes.Cut(text, []byte("\n"))
	if second, _, _ := bytes.Cut(text, []byte("\n")); bytes.HasPrefix(second, []byte("'''exec'")) { // the path is too long for the first line
		return second, err
	}
	return first, err
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
