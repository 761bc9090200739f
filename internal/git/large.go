package git

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// LargeFile is the size above which a file is not copied into a tree: a data set or a
// disk image would fill the disk, and reading it again would hold up every attempt.
const LargeFile = 50 << 20

type large struct {
	name string
	info fs.FileInfo
}

func (s *store) split(names []string) (small []string, list []large) {
	for i, name := range names {
		info, err := os.Lstat(filepath.Join(s.dir, filepath.FromSlash(name)))
		if err != nil || !info.Mode().IsRegular() || info.Size() <= LargeFile {
			if list != nil {
				small = append(small, name)
			}
			continue
		}
		if list == nil {
			small = append(small, names[:i]...)
		}
		list = append(list, large{name, info})
	}
	if list == nil {
		return names, nil
	}
	return small, list
}

// describe puts a text with size and time in the place of each large file.
func (s *store) describe(ctx context.Context, w *walk, env []string, list []large) error {
	if len(list) == 0 {
		return nil
	}
	var paths, entries strings.Builder
	for i, l := range list {
		at := filepath.Join(w.temp, fmt.Sprintf("large%d", i))
		text := fmt.Sprintf("%d bytes, modified at %d\n", l.info.Size(), l.info.ModTime().UnixNano())
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			return err
		}
		fmt.Fprintln(&paths, at)
		w.large = append(w.large, path.Join(s.inside, l.name))
	}
	out, err := s.git(ctx, env, strings.NewReader(paths.String()), "hash-object", "-w", "--no-filters", "--stdin-paths")
	if err != nil {
		return err
	}
	ids := strings.Fields(string(out))
	if len(ids) != len(list) {
		return fmt.Errorf("describe large files: git named %d of %d", len(ids), len(list))
	}
	for i, l := range list {
		mode := "100644"
		if l.info.Mode()&0o111 != 0 {
			mode = "100755"
		}
		fmt.Fprintf(&entries, "%s %s\t%s%s\x00", mode, ids[i], s.prefix(), l.name)
	}
	_, err = s.git(ctx, env, strings.NewReader(entries.String()), "update-index", "-z", "--index-info")
	return err
}
