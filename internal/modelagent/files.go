package modelagent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	acp "github.com/coder/acp-go-sdk"

	"ralph/internal/atomicfile"
	"ralph/internal/bounded"
	"ralph/internal/copyfile"
	"ralph/internal/human"
	"ralph/internal/plain"
)

const (
	maxLine = 2000 // bytes of a line that are shown
)

type readArgs struct {
	Path   string `json:"path"`
	Offset int    `json:"offset,omitempty" jsonschema:"the line to begin with; the first is 1"`
	Limit  int    `json:"limit,omitempty" jsonschema:"how many lines; by default as many as a result can hold"`
}

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old" jsonschema:"the text to replace, exactly as it is in the file"`
	New  string `json:"new"`
	All  bool   `json:"all,omitempty" jsonschema:"replace it wherever it occurs"`
}

func (b *toolbox) fileTools() []tool {
	return []tool{
		newTool(tool{
			Spec: Spec{Name: "read", Description: "Read a file of the project with numbered lines. Paths are relative to the project's folder or absolute."},
			kind: acp.ToolKindRead,
		}, b.read),
		newTool(tool{
			Spec: Spec{Name: "write", Description: "Write a whole file, new or not, and the folders that it needs. To change a part of a file use edit."},
			kind: acp.ToolKindEdit, asks: true, alone: true,
		}, b.write),
		newTool(tool{
			Spec: Spec{Name: "edit", Description: "Replace a text in a file. It must occur exactly once, so give enough lines around it, unless all is true. The numbers that read puts before lines do not belong to it."},
			kind: acp.ToolKindEdit, asks: true, alone: true,
		}, b.edit),
	}
}

func (b *toolbox) read(in readArgs) (action, doing, error) {
	name, err := b.locate(in.Path)
	return action{Title: "Read: " + name, Path: filepath.Join(b.dir, name)}, func(context.Context) (string, error) {
		text, err := b.load(name)
		switch {
		case err != nil:
			return "", naming(in.Path, err)
		case isBinary(text):
			return "", fmt.Errorf("%s is a binary file of %s, which cannot be shown", in.Path, human.Bytes(int64(len(text))))
		}
		text, err = numbered(text, max(in.Offset, 1), in.Limit)
		return text, naming(in.Path, err)
	}, err
}

// numbered is the text of a file from a line on, with the numbers of its lines. It ends before it is longer than a
// result may be, and says then where to read on: of a file with a hole in it nobody would know what is there.
func numbered(text string, from, limit int) (string, error) {
	var out strings.Builder
	n := 0
	for line := range strings.Lines(text) {
		if n++; n < from {
			continue
		}
		line = strings.TrimRight(line, "\r\n")
		if len(line) > maxLine {
			line = plain.Head(line, maxLine) + "… (the line is cut here)"
		}
		if limit > 0 && n-from >= limit || out.Len()+len(line) > maxResult-1000 {
			fmt.Fprintf(&out, "(there are more lines: read on with offset %d)\n", n)
			break
		}
		fmt.Fprintf(&out, "%6d\t%s\n", n, line)
	}
	switch {
	case n == 0:
		return "(the file is empty)", nil
	case n < from:
		return "", fmt.Errorf("there is no line %d, the file has %d", from, n)
	}
	return out.String(), nil
}

func (b *toolbox) write(in writeArgs) (action, doing, error) {
	return b.change("Write", in.Path, func(*string) (text, did string, err error) {
		return in.Content, fmt.Sprintf("%s was written and has %s", in.Path, human.Bytes(int64(len(in.Content)))), nil
	})
}

func (b *toolbox) edit(in editArgs) (action, doing, error) {
	return b.change("Edit", in.Path, func(old *string) (text, did string, err error) {
		if old == nil {
			return "", "", fmt.Errorf("%s does not exist; use write to make it", in.Path)
		}
		return in.apply(*old)
	})
}

// change plans to make of a file what become returns for its text, which is nil if there is none, and to say what was
// done.
func (b *toolbox) change(verb, path string, become func(old *string) (text, did string, err error)) (action, doing, error) {
	name, err := b.locate(path)
	if err != nil {
		return action{}, nil, err
	}
	var old *string
	if text, err := b.load(name); err == nil {
		old = &text
	} else if !errors.Is(err, fs.ErrNotExist) {
		return action{}, nil, naming(path, err)
	}
	text, did, err := become(old)
	return action{Title: verb + ": " + name, Path: filepath.Join(b.dir, name), Old: old, New: &text}, func(context.Context) (string, error) {
		err := b.root.MkdirAll(filepath.Dir(name), 0o755)
		if err == nil {
			err = atomicfile.In(b.root, name, []byte(text))
		}
		if err != nil {
			return "", unchanged(path, err)
		}
		return did, nil
	}, err
}

// apply replaces the old text by the new one.
func (in editArgs) apply(text string) (changed, did string, err error) {
	if n := strings.Count(text, "\r\n"); n > 0 && n == strings.Count(text, "\n") {
		in.Old, in.New = withCR(in.Old), withCR(in.New) // read does not show how lines end
	}
	found := strings.Count(text, in.Old)
	switch {
	case in.Old == "":
		return "", "", errors.New("old is empty; use write to write a whole file")
	case in.Old == in.New:
		return "", "", errors.New("old and new are the same")
	case found == 0 && strings.Contains(plain.OneLine(text), plain.OneLine(in.Old)):
		return "", "", fmt.Errorf("old occurs in %s only with other white space; read the file again, and copy tabs, blanks and line breaks exactly", in.Path)
	case found == 0:
		return "", "", fmt.Errorf("old does not occur in %s; read the file again", in.Path)
	}
	before, _, _ := strings.Cut(text, in.Old)
	line := 1 + strings.Count(before, "\n")
	if found > 1 && !in.All {
		return "", "", fmt.Errorf("old occurs %d times in %s, first at line %d; give more of the lines around it, or set all", found, in.Path, line)
	}
	did = fmt.Sprintf("%s was changed in %s, first at line %d", in.Path, human.Count(found, "place"), line)
	return strings.ReplaceAll(text, in.Old, in.New), did, nil
}

// withCR is a text whose lines end as on Windows.
func withCR(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
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
	case err != nil || !filepath.IsLocal(name):
		return "", fmt.Errorf("%s is outside of the project; only files in %s can be reached", plain.Excerpt(path), b.dir)
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

// naming says of a path, as the model named it, what went wrong with it.
func naming(path string, err error) error {
	if failed := (*fs.PathError)(nil); errors.As(err, &failed) {
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("%s: %w", plain.Excerpt(path), err)
	}
	return nil
}

// unchanged says why a file could not be changed. In the sandbox some can only be read.
func unchanged(path string, err error) error {
	if linked := (*os.LinkError)(nil); errors.As(err, &linked) {
		err = linked.Err
	}
	if err = naming(path, err); errors.Is(err, syscall.EROFS) || errors.Is(err, syscall.EBUSY) || errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("%s is protected; it cannot be changed (%w)", plain.Excerpt(path), errors.Unwrap(err))
	}
	return err
}

// load reads a whole file.
func (b *toolbox) load(name string) (string, error) {
	f, _, err := copyfile.Open(b.root, name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := bounded.Read(f, maxText)
	if errors.As(err, new(bounded.TooLarge)) {
		err = fmt.Errorf("%w; use bash", err)
	}
	return string(data), err
}

func isBinary(text string) bool { return strings.Contains(text, "\x00") }
