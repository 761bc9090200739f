package git

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha1" //nolint:gosec // the name of an object, not a secret
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"
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
	Path  string // with slashes; where it is, or where it was if it was deleted
	Old   string // where it was, if it was renamed
	Kind  Kind
	Patch string // what the whole patch says of it
	Cut   bool   // there is more of its patch

	Added, Removed int  // lines, also where the patch is cut; of a binary file none
	Binary         bool // if lines were counted
}

// Lines is how many lines were added and removed.
func (c Change) Lines() int { return c.Added + c.Removed }

// Difference is what differs between two trees: the files by name, and as much of a patch for
// reading as was asked for, in whole lines. Binary files are only named in it.
type Difference struct {
	Changes []Change
	Patch   string
	Cut     bool   // there is more of the patch
	Left    []Left // files that are not part of it, where files were looked at
}

// Compare says what differs between two trees, with at most so many bytes of a patch. One that cannot be made says why.
func (t Trees) Compare(ctx context.Context, from, to string, patch int) (Difference, error) {
	d, err := difference(ctx, "trees of "+t.Dir, patch, func(out io.Writer, options ...string) error {
		return t.git(ctx, nil, out, []string{from, to}, append(options, from, to)...)
	})
	for i := range d.Changes {
		c := &d.Changes[i]
		c.Path, c.Old = t.Seen(c.Path), t.Seen(c.Old)
	}
	return d, err
}

// Compare says what differs between two commits or trees of the repository, with at most so many bytes of a patch.
func (r *Repo) Compare(ctx context.Context, from, to string, patch int) (Difference, error) {
	ctx, cancel := context.WithTimeout(ctx, repoTimeout)
	defer cancel()
	return difference(ctx, r.dir, patch, func(out io.Writer, options ...string) error {
		cmd := r.command(ctx, Call{}, append(options, from, to))
		cmd.Stdout = out
		return call(ctx, cmd, options[0], nil)
	})
}

// Patches says what differs between two trees, with at most so many bytes of the patch of each file. So no file hides another. What is cut
// is marked with the file; all of them together have no Patch.
func (t Trees) Patches(ctx context.Context, from, to string, each int) (Difference, error) {
	d, err := difference(ctx, "trees of "+t.Dir, -each, func(out io.Writer, options ...string) error {
		return t.git(ctx, nil, out, []string{from, to}, append(options, from, to)...)
	})
	for i := range d.Changes {
		c := &d.Changes[i]
		c.Path, c.Old = t.Seen(c.Path), t.Seen(c.Old)
	}
	return d, err
}

// difference reads what git prints of two trees. It is asked for no more than was wanted. A negative limit is one for each file.
func difference(ctx context.Context, of string, patch int, git func(out io.Writer, options ...string) error) (d Difference, err error) {
	options := []string{"diff-tree", "-r", "-z", "-M", "--raw", "--no-abbrev", "--no-color", "--no-ext-diff", "--no-textconv"}
	if patch != 0 {
		options = append(options, "--numstat", "-p")
	}
	read, write := io.Pipe()
	defer func() { _ = read.Close() }() // which ends git if there is more
	go func() { _ = write.CloseWithError(git(write, options...)) }()
	said := bufio.NewReader(read)
	var failed error
	next := func() string {
		field, err := said.ReadString(0)
		if !errors.Is(err, io.EOF) {
			failed = cmp.Or(failed, err)
		}
		return strings.TrimSuffix(field, "\x00")
	}
	at := map[string]int{}
	for first := next(); first != "" && failed == nil; first = next() { // an empty one is between lists and patch
		if added, removed, path, is := Numstat(first); is {
			if path == "" { // it was renamed
				next()
				path = next()
			}
			if i, known := at[path]; known {
				d.Changes[i].Added, d.Changes[i].Removed = d.Changes[i].Added+added, d.Changes[i].Removed+removed
				d.Changes[i].Binary = strings.HasPrefix(first, "-\t")
			}
			continue
		}
		words := strings.Fields(first) // modes, IDs, letter
		if len(words) != 5 {
			return d, fmt.Errorf("compare %s: git said %q", of, first)
		}
		c := Change{Path: next(), Kind: Modified}
		switch letter := words[4][0]; {
		case letter == 'A':
			c.Kind = Added
		case letter == 'D':
			c.Kind = Deleted
		case letter == 'R':
			c.Path, c.Old, c.Kind = next(), c.Path, Renamed
		case letter == 'M' && words[2] == words[3]:
			c.Kind = Mode
		}
		at[c.Path] = len(d.Changes)
		d.Changes = append(d.Changes, c)
	}
	if patch < 0 && failed == nil {
		d.readEach(said, -patch)
		if failed = context.Cause(ctx); failed == nil {
			return d, nil
		}
	}
	text, err := io.ReadAll(io.LimitReader(said, int64(patch)+1))
	if err != nil && failed == nil {
		failed = context.Cause(ctx)
	}
	if failed != nil {
		return Difference{}, fmt.Errorf("compare %s: %w", of, failed)
	}
	if d.Cut = len(text) > patch; d.Cut {
		text = text[:bytes.LastIndexByte(text[:patch], '\n')+1]
	} else if err != nil {
		text = fmt.Appendf(nil, "(%v)", err)
	}
	d.Patch = strings.ToValidUTF8(string(text), "?")
	d.split()
	return d, nil
}

// Numstat reads how many lines of a file a change adds and removes, as --numstat -z prints it. Of one that was renamed the path
// is empty, and the next two fields are the old and the new one.
func Numstat(field string) (added, removed int, path string, is bool) {
	columns := strings.SplitN(field, "\t", 3)
	if len(columns) < 3 || strings.HasPrefix(field, ":") {
		return 0, 0, "", false
	}
	added, _ = strconv.Atoi(columns[0]) // "-" for a binary file
	removed, _ = strconv.Atoi(columns[1])
	return added, removed, columns[2], true
}

// split gives each change its part of the patch. They are in the same order; a file that became a link, or the other way
// round, has two parts that begin alike.
func (d *Difference) split() {
	n, last := -1, ""
	for part := range strings.SplitSeq("\n"+d.Patch, "\ndiff --git ") {
		header, _, ended := strings.Cut(part, "\n")
		if header == "" { // before the first
			continue
		}
		if header != last {
			n, last = n+1, header
		}
		if ended && n < len(d.Changes) {
			d.Changes[n].Patch += "diff --git " + strings.TrimSuffix(part, "\n") + "\n"
		}
	}
}

// What is kept of all patches together, and of each beyond that.
const (
	manyPatches = 32 << 20
	fewBytes    = 4 << 10
)

// readEach reads the patch of each file, in the order of the changes as split does. A line may be as long as a file. Patches that cannot be
// made say why.
func (d *Difference) readEach(said *bufio.Reader, each int) {
	n, last, all := -1, "", 0
	var kept []byte
	end := func() {
		if n >= 0 && n < len(d.Changes) {
			d.Changes[n].Patch = strings.ToValidUTF8(string(kept), "?")
		}
	}
	for begins := true; ; {
		piece, err := said.ReadSlice('\n')
		if header := string(piece); begins && strings.HasPrefix(header, "diff --git ") && header != last {
			end()
			if n, last, kept = n+1, header, nil; all > manyPatches {
				each = min(each, fewBytes)
			}
		}
		begins = bytes.HasSuffix(piece, []byte("\n"))
		fits := piece[:min(len(piece), max(each-len(kept), 0))]
		kept, all = append(kept, fits...), all+len(fits)
		if len(fits) < len(piece) && n >= 0 && n < len(d.Changes) {
			d.Changes[n].Cut, d.Cut = true, true
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			end()
			for i := max(n, 0); i < len(d.Changes) && !errors.Is(err, io.EOF); i++ {
				d.Changes[i].Patch, d.Changes[i].Cut, d.Cut = fmt.Sprintf("%s(%v)\n", d.Changes[i].Patch, err), true, true
			}
			return
		}
	}
}

// Sizes are how many bytes files of a tree have; of what it does not have, nothing.
func (t Trees) Sizes(ctx context.Context, tree string, seen []string) (map[string]int64, error) {
	var asked, said bytes.Buffer
	for _, file := range seen {
		fmt.Fprintf(&asked, "%s:%s\x00", tree, t.Name(file))
	}
	if len(seen) == 0 {
		return nil, nil
	}
	if err := t.git(ctx, &asked, &said, []string{tree}, "cat-file", "--batch-check=%(objectsize)", "-z"); err != nil {
		return nil, err
	}
	sizes := map[string]int64{}
	for _, file := range seen {
		line, err := said.ReadString('\n')
		for range strings.Count(t.Name(file), "\n") { // git repeats the name of what is missing
			if _, bad := strconv.Atoi(strings.TrimSpace(line)); bad != nil && err == nil {
				_, err = said.ReadString('\n')
			}
		}
		if size, bad := strconv.ParseInt(strings.TrimSpace(line), 10, 64); bad == nil && err == nil {
			sizes[file] = size
		}
	}
	return sizes, nil
}

// ErrTooLarge says that a file is larger than was asked for.
var ErrTooLarge = errors.New("the file is too large")

// Contents reads files of two trees, at most limit bytes of each: a larger one is refused with ErrTooLarge, as is what is no file,
// and a path that the tree does not have with fs.ErrNotExist. All are read by one git process, which the first asks for and end ends.
func (t Trees) Contents(ctx context.Context, from, to string, limit int) (before, after func(seen string) ([]byte, error), end func()) {
	b := &batch{}
	of := func(tree string) func(string) ([]byte, error) {
		return func(seen string) (data []byte, err error) {
			name := t.Name(seen)
			switch {
			case name == "." || !fs.ValidPath(name): // git would take it for one of the folder that it runs in
				err = fs.ErrNotExist
			case b.asked == nil:
				b.start(ctx, t, tree)
			}
			if err == nil {
				data, err = b.read(tree+":"+name, limit)
			}
			if err != nil {
				return nil, fmt.Errorf("read %q: %w", name, err)
			}
			return data, nil
		}
	}
	return of(from), of(to), b.end
}

// batch is a git process that reads objects.
type batch struct {
	asked *io.PipeWriter // nil if it does not run
	said  *bufio.Reader
}

func (b *batch) start(ctx context.Context, t Trees, tree string) {
	in, asked := io.Pipe()
	said, out := io.Pipe()
	b.asked, b.said = asked, bufio.NewReader(said)
	go func() {
		// Of an object whose size is forged git writes less than it said, and waits.
		ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
		defer cancel()
		err := t.git(ctx, in, out, []string{tree}, "cat-file", "--batch", "-z")
		_ = in.Close()
		_ = out.CloseWithError(err)
	}()
}

func (b *batch) end() {
	if b.asked != nil {
		_ = b.asked.Close()
		_, _ = io.Copy(io.Discard, b.said) // until it has ended
		b.asked = nil
	}
}

func (b *batch) read(name string, limit int) ([]byte, error) {
	fmt.Fprintf(b.asked, "%s\x00", name) // what went wrong is read below
	line, err := b.said.ReadString('\n')
	words := strings.Fields(line)
	missing := len(words) != 3 || !isID(words[0])
	for range strings.Count(name, "\n") { // git repeats the name of what is missing
		if missing && err == nil {
			_, err = b.said.ReadString('\n')
		}
	}
	if err != nil {
		b.end() // one damaged object ends it, and must not hide the others
		return nil, err
	}
	if missing {
		return nil, fs.ErrNotExist
	}
	size, err := strconv.Atoi(words[2])
	if err == nil && (words[1] != "blob" || size > limit) {
		_, err = b.said.Discard(size + 1)
		err = cmp.Or(err, fmt.Errorf("%w: %s of %d bytes, more than %d", ErrTooLarge, words[1], size, limit))
	}
	if err != nil {
		return nil, err
	}
	data := make([]byte, size+1) // and the end of a line
	if _, err := io.ReadFull(b.said, data); err != nil {
		b.end()
		return nil, err
	}
	// Objects are read from the repository, too, where an agent can put one under
	// the name of another. Git would not notice.
	if data = data[:size]; blobID(len(words[0]), data) != words[0] {
		return nil, fmt.Errorf("object %.10s is not what its name says; run git fsck", words[0])
	}
	return data, nil
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

// Split takes apart what git prints with -z.
func Split[T string | []byte](out T) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}
