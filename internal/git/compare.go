package git

import (
	"bytes"
	"context"
	"crypto/sha1" //nolint:gosec // the name of an object, not a secret
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
)

// Kind is what became of a file.
type Kind string

// The kinds of changes.
const (
	Added    Kind = "added"
	Modified Kind = "modified"
	Deleted  Kind = "deleted"
	Renamed  Kind = "renamed" // and perhaps modified, too
	Mode     Kind = "mode"    // the same content, executable or not any more
)

// Change is one file that differs between two trees.
type Change struct {
	Path string // with slashes; where it is, or where it was if it was deleted
	Old  string // where it was, if it was renamed
	Kind Kind
}

// Compare lists the files that differ between two trees that Take returned for
// the same dir and objects, by name.
func Compare(ctx context.Context, dir, objects, from, to string) ([]Change, error) {
	s, err := openStore(ctx, dir, objects, from, to)
	if err != nil {
		return nil, err
	}
	out, err := s.git(ctx, nil, nil, "diff-tree", "-r", "-z", "-M", "--raw", "--no-abbrev", "--no-ext-diff", from, to)
	if err != nil {
		return nil, fmt.Errorf("compare trees of %s: %w", dir, err)
	}
	var changes []Change
	for fields := split(out); len(fields) >= 2; {
		words := strings.Fields(fields[0]) // modes, IDs, letter
		if len(words) != 5 {
			return nil, fmt.Errorf("compare trees of %s: git said %q", dir, fields[0])
		}
		c := Change{Path: fields[1], Kind: Modified}
		switch letter := words[4][0]; {
		case letter == 'A':
			c.Kind = Added
		case letter == 'D':
			c.Kind = Deleted
		case letter == 'R' && len(fields) > 2:
			c = Change{Path: fields[2], Old: fields[1], Kind: Renamed}
			fields = fields[1:]
		case letter == 'M' && words[2] == words[3]:
			c.Kind = Mode
		}
		changes = append(changes, c)
		fields = fields[2:]
	}
	return changes, nil
}

// Patch returns the difference between two trees for reading: at most limit bytes of
// it, whole lines, and whether more was cut off. Binary files are only named.
func Patch(ctx context.Context, dir, objects, from, to string, limit int) (text string, cut bool, err error) {
	s, err := openStore(ctx, dir, objects, from, to)
	if err != nil {
		return "", false, err
	}
	out := &bounded{limit: limit}
	err = s.stream(ctx, nil, nil, out, "diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", from, to)
	if err != nil && !out.full {
		return "", false, fmt.Errorf("compare trees of %s: %w", dir, err)
	}
	kept := out.data.Bytes()
	if out.full {
		kept = kept[:bytes.LastIndexByte(kept, '\n')+1]
	}
	return strings.ToValidUTF8(string(kept), "?"), out.full, nil
}

// ErrTooLarge says that a file is larger than was asked for.
var ErrTooLarge = errors.New("the file is too large")

// Show returns the content of a file in a tree, of at most limit bytes. A file that
// is larger is refused with ErrTooLarge; a tree that has no such file, or something
// else by that name, is refused, too.
func Show(ctx context.Context, dir, objects, tree, path string, limit int64) ([]byte, error) {
	s, err := openStore(ctx, dir, objects, tree)
	if err != nil {
		return nil, err
	}
	found, err := s.git(ctx, nil, nil, "rev-parse", "--verify", "--quiet", tree+":"+path)
	id := strings.TrimSpace(string(found))
	if err != nil {
		return nil, fmt.Errorf("read %q of tree %.10s: there is no such file: %w", path, tree, err)
	}
	out := &bounded{limit: int(limit)}
	if err := s.stream(ctx, nil, nil, out, "cat-file", "blob", id); err != nil && !out.full {
		return nil, fmt.Errorf("read %q of tree %.10s: %w", path, tree, err)
	}
	if out.full {
		return nil, fmt.Errorf("read %q of tree %.10s: %w: more than %d bytes", path, tree, ErrTooLarge, limit)
	}
	// Objects are read from the repository, too, where an agent can put one under
	// the name of another. Git would not notice.
	if data := out.data.Bytes(); blobID(len(id), data) != id {
		return nil, fmt.Errorf("read %q of tree %.10s: object %.10s is not what its name says; run git fsck", path, tree, id)
	}
	return out.data.Bytes(), nil
}

func blobID(length int, data []byte) string {
	h := sha256.New()
	if length == 2*sha1.Size {
		h = sha1.New() //nolint:gosec // as above
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Files lists the names of the files in a tree.
func Files(ctx context.Context, dir, objects, tree string) ([]string, error) {
	s, err := openStore(ctx, dir, objects, tree)
	if err != nil {
		return nil, err
	}
	out, err := s.git(ctx, nil, nil, "ls-tree", "-r", "--full-tree", "--name-only", "-z", tree)
	if err != nil {
		return nil, fmt.Errorf("list tree %.10s: %w", tree, err)
	}
	return split(out), nil
}

// split takes apart what git prints with -z.
func split(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// bounded keeps the beginning of what is written, and then refuses, which ends
// the writer.
type bounded struct {
	data  bytes.Buffer
	limit int
	full  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	if room := b.limit - b.data.Len(); len(p) > room {
		b.data.Write(p[:max(room, 0)])
		b.full = true
		return 0, errors.New("that is enough")
	}
	return b.data.Write(p)
}
