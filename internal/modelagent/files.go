package modelagent

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/copyfile"
	"ralph/internal/human"
	"ralph/internal/plain"
)

const (
	defaultLines = 2000
	maxLine      = 2000 // characters of a line
	maxEntries   = 1000 // of a folder
)

type readArgs struct {
	Path   string `json:"path"`
	Offset whole  `json:"offset,omitempty" jsonschema:"the line to begin with; the first is 1"`
	Limit  whole  `json:"limit,omitempty" jsonschema:"how many lines, 2000 by default"`
}

func (b *toolbox) fileTools() []tool {
	return []tool{
		newTool(tool{
			Spec: Spec{Name: "read", Description: "Read a file of the project with numbered lines, or list a folder. Paths are relative to the project's folder or absolute."},
			kind: acp.ToolKindRead,
		}, b.aboutRead, b.read),
		newTool(tool{
			Spec: Spec{Name: "write", Description: "Write a whole file, new or not, and the folders that it needs. To change a part of a file use edit."},
			kind: acp.ToolKindEdit, asks: true, alone: true,
		}, b.aboutWrite, b.write),
		newTool(tool{
			Spec: Spec{Name: "edit", Description: "Replace a text in a file. It must occur exactly once, so give enough lines around it, unless all is true. The numbers that read puts before lines do not belong to it."},
			kind: acp.ToolKindEdit, asks: true, alone: true,
		}, b.aboutEdit, b.edit),
	}
}

func (b *toolbox) aboutRead(in readArgs) (action, error) {
	name, err := b.readable(in.Path)
	if err != nil {
		return action{}, err
	}
	title := "Read: " + name
	if from := max(in.Offset, 1); in.Limit > 0 {
		title += fmt.Sprintf(":%d-%d", from, from+in.Limit-1)
	} else if from > 1 {
		title += fmt.Sprintf(":%d", from)
	}
	return action{Title: title, Path: filepath.Join(b.dir, name)}, nil
}

func (b *toolbox) read(ctx context.Context, in readArgs) (string, error) {
	name, err := b.readable(in.Path)
	if err != nil {
		return "", err
	}
	if info, err := b.root.Lstat(name); err == nil && info.IsDir() {
		return b.entries(name)
	}
	f, info, err := copyfile.Open(b.root, name)
	if err != nil {
		return "", about(in.Path, err)
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	if isBinary(r) {
		return "", fmt.Errorf("%s is a binary file of %s, which cannot be shown", in.Path, human.Bytes(info.Size()))
	}
	text, err := numbered(ctx, r, max(int(in.Offset), 1), int(in.Limit))
	return text, about(in.Path, err)
}

// readable is locate for what is only read.
func (b *toolbox) readable(path string) (string, error) {
	name, err := b.locate(path)
	if err != nil {
		err = fmt.Errorf("%w; bash may read others, as far as the sandbox lets it", err)
	}
	return name, err
}

// entries lists a folder.
func (b *toolbox) entries(name string) (string, error) {
	list, err := fs.ReadDir(b.root.FS(), filepath.ToSlash(name))
	if err != nil {
		return "", about(name, err)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s is a folder with %s:\n", name, human.Count(len(list), "entry"))
	for _, entry := range list[:min(len(list), maxEntries)] {
		out.WriteString(entry.Name())
		if entry.IsDir() {
			out.WriteByte('/')
		}
		out.WriteByte('\n')
	}
	if len(list) > maxEntries {
		fmt.Fprintf(&out, "and %d more\n", len(list)-maxEntries)
	}
	return out.String(), nil
}

// isBinary looks at the beginning of a file, as git does.
func isBinary(r *bufio.Reader) bool {
	head, _ := r.Peek(8000) // a file may be shorter
	return bytes.IndexByte(head, 0) >= 0
}

// numbered is the text of a file from a line on, with the numbers of its lines. It ends before it is longer than a
// result may be, and says then where to read on: of a file with a hole in it nobody would know what is there.
func numbered(ctx context.Context, r *bufio.Reader, from, limit int) (string, error) {
	if limit <= 0 {
		limit = defaultLines
	}
	var out strings.Builder
	size, n := 0, 1
	for ; ; n++ {
		line, more, err := nextLine(r, maxLine)
		if err != nil {
			return "", err
		}
		if !more {
			break
		}
		if n < from {
			if n%1000 == 0 && ctx.Err() != nil {
				return "", context.Cause(ctx)
			}
			continue
		}
		line = fmt.Sprintf("%6d\t%s\n", n, line)
		if size += utf8.RuneCountInString(line); n >= from+limit || size > maxResult-1000 {
			fmt.Fprintf(&out, "(there are more lines: read on with offset %d)\n", n)
			return out.String(), nil
		}
		out.WriteString(line)
	}
	switch {
	case n == 1:
		return "(the file is empty)", nil
	case n <= from:
		return "", fmt.Errorf("there is no line %d, the file has %d", from, n-1)
	}
	return out.String(), nil
}

// nextLine reads a line, of a long one the beginning, without what ends it.
func nextLine(r *bufio.Reader, most int) (line string, more bool, err error) {
	var kept []byte
	for {
		chunk, err := r.ReadSlice('\n')
		more = more || len(chunk) > 0
		if room := utf8.UTFMax*most + 2 - len(kept); room > 0 {
			kept = append(kept, chunk[:min(len(chunk), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return "", false, err
		}
		line = strings.TrimSuffix(strings.TrimSuffix(string(kept), "\n"), "\r")
		if head := first(line, most); head != line {
			line = head + "… (the line is cut here)"
		}
		return line, more, nil
	}
}

// locate is the place of a path below the folder, with its links followed. The root holds to that whatever changes
// meanwhile.
func (b *toolbox) locate(path string) (string, error) {
	full := path
	if !filepath.IsAbs(full) {
		full = filepath.Join(b.dir, path)
	}
	name, err := filepath.Rel(b.real, resolve(full))
	switch {
	case b.root == nil:
		return "", fmt.Errorf("the project's folder %s cannot be opened", b.dir)
	case path == "" || strings.ContainsRune(path, 0):
		return "", errors.New("the path is empty, or has a NUL byte in it")
	case err != nil || !filepath.IsLocal(name):
		return "", fmt.Errorf("%s is outside of the project; only files in %s can be reached", plain.Cut(path, 500), b.dir)
	}
	return name, nil
}

// resolve follows the links in as much of a path as exists.
func resolve(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	return filepath.Join(resolve(parent), filepath.Base(path))
}

// about says of a path that the model named what went wrong with it.
func about(path string, err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", plain.Cut(path, 500), err)
	}
	return nil
}
