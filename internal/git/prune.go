package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Prune removes from the folder objects what belongs to none of the trees in keep and
// was not written since. What Take remembers there goes with it, so that the next tree
// reads every file again. A dry run removes nothing, and lists the files that it would.
// Where there is no such folder nothing is done.
func Prune(ctx context.Context, dir, objects string, keep []string, since time.Time, dry bool) ([]string, error) {
	if _, err := os.Stat(objects); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	s, err := openStore(ctx, dir, objects)
	if err != nil {
		return nil, err
	}
	args := []string{"prune", fmt.Sprintf("--expire=@%d", since.Unix())}
	if dry {
		args = append(args, "--dry-run")
	} else {
		// First what is remembered: who takes a tree from now on writes what it needs again,
		// and git keeps what was written since.
		_, err = s.forget()
	}
	list := ""
	if err == nil {
		list, err = s.prune(ctx, keep, args)
	}
	if err != nil {
		return nil, fmt.Errorf("prune trees of %s: %w", dir, err)
	}
	var files []string
	for line := range strings.Lines(list) {
		if id, _, ok := strings.Cut(line, " "); ok && len(id) > 2 {
			files = append(files, filepath.Join(s.path, "objects", id[:2], id[2:]))
		}
	}
	return files, nil
}

// prune has git remove what belongs to none of the trees.
func (s *store) prune(ctx context.Context, keep, args []string) (string, error) {
	ids, err := s.there(ctx, keep)
	if err != nil {
		return "", err
	}
	var refs strings.Builder
	refs.WriteString("# pack-refs with: sorted\n")
	for _, id := range ids {
		fmt.Fprintf(&refs, "%s refs/keep/%s\n", id, id)
	}
	// What is committed is not ours, and need not be looked through.
	if err := put(filepath.Join(s.path, "HEAD"), []byte(noHead)); err != nil {
		return "", err
	}
	// Names are what git goes by, and there may be more than a command line holds. If
	// we die here they keep too much, until the next time.
	names := filepath.Join(s.path, "packed-refs")
	if err := os.WriteFile(names, []byte(refs.String()), 0o600); err != nil {
		return "", err
	}
	list, err := s.git(ctx, nil, nil, args...)
	return list, errors.Join(err, os.Remove(names))
}

// Missing lists those of the trees that are not in the folder objects any more.
func Missing(ctx context.Context, dir, objects string, trees []string) ([]string, error) {
	s, err := openStore(ctx, dir, objects, trees...)
	if err != nil {
		return nil, err
	}
	there, err := s.there(ctx, trees)
	if err != nil {
		return nil, fmt.Errorf("look for trees of %s: %w", dir, err)
	}
	return slices.DeleteFunc(slices.Clone(trees), func(id string) bool { return slices.Contains(there, id) }), nil
}

// there are those of the trees that exist: somebody may have emptied the folder.
func (s *store) there(ctx context.Context, trees []string) (ids []string, err error) {
	list, err := s.git(ctx, nil, strings.NewReader(strings.Join(trees, "\n")+"\n"), "cat-file", "--batch-check=%(objectname) %(objecttype)")
	for line := range strings.Lines(list) {
		if id, ok := strings.CutSuffix(strings.TrimSpace(line), " tree"); ok {
			ids = append(ids, id)
		}
	}
	return ids, err
}
