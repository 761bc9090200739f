package modelagent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"ralph/internal/atomicfile"
	"ralph/internal/copyfile"
	"ralph/internal/human"
)

const (
	maxEdited = 10 << 20  // bytes of a file that can be changed
	maxDiff   = 256 << 10 // bytes of one that is shown before and after
)

type writeArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

type editArgs struct {
	Path string `json:"path"`
	Old  string `json:"old" jsonschema:"the text to replace, exactly as it is in the file"`
	New  string `json:"new"`
	All  flag   `json:"all,omitempty" jsonschema:"replace it wherever it occurs"`
}

func (b *toolbox) aboutWrite(in writeArgs) (action, error) {
	return b.aboutChange("Write", in.Path, func(string, bool) (string, string, error) { return in.Content, "", nil })
}

func (b *toolbox) write(_ context.Context, in writeArgs) (string, error) {
	return b.change(in.Path, func(old string, exists bool) (string, string, error) {
		did := fmt.Sprintf("%s is new and has %s", in.Path, human.Count(lines(in.Content), "line"))
		if exists {
			did = fmt.Sprintf("%s was replaced: it had %s and has %d now", in.Path, human.Count(lines(old), "line"), lines(in.Content))
		}
		return in.Content, did, nil
	})
}

func (b *toolbox) aboutEdit(in editArgs) (action, error) {
	return b.aboutChange("Edit", in.Path, in.apply)
}

func (b *toolbox) edit(_ context.Context, in editArgs) (string, error) {
	return b.change(in.Path, in.apply)
}

// changing makes of the text of a file what it is to become, and says what it did.
type changing func(old string, exists bool) (text, did string, err error)

// change is one that can be made.
type change struct {
	name, old, text, did string
	exists               bool
}

func (b *toolbox) prepare(path string, fn changing) (c change, err error) {
	if c.name, err = b.locate(path); err != nil {
		return c, err
	}
	f, info, err := copyfile.Open(b.root, c.name)
	if err == nil {
		defer f.Close()
		if info.Size() > maxEdited {
			return c, fmt.Errorf("%s has %s, which is too much to change it like this; use bash", path, human.Bytes(info.Size()))
		}
		data, failed := io.ReadAll(f)
		c.old, c.exists, err = string(data), true, failed
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, about(path, err)
	}
	c.text, c.did, err = fn(c.old, c.exists)
	return c, err
}

// aboutChange describes a change, and fails if it cannot be made.
func (b *toolbox) aboutChange(verb, path string, fn changing) (action, error) {
	c, err := b.prepare(path, fn)
	if err != nil {
		return action{}, err
	}
	a := action{Title: verb + ": " + c.name, Path: filepath.Join(b.dir, c.name)}
	if len(c.old) <= maxDiff && len(c.text) <= maxDiff && utf8.ValidString(c.old) && utf8.ValidString(c.text) {
		if a.New = &c.text; c.exists {
			a.Old = &c.old
		}
	}
	return a, nil
}

func (b *toolbox) change(path string, fn changing) (string, error) {
	c, err := b.prepare(path, fn)
	if err != nil {
		return "", err
	}
	if err = b.root.MkdirAll(filepath.Dir(c.name), 0o755); err == nil {
		err = atomicfile.In(b.root, c.name, []byte(c.text))
	}
	return c.did, about(path, err)
}

// apply replaces the old text by the new one. A model writes lines as they are ended almost everywhere; in a file that ends
// them in the other way they are.
func (in editArgs) apply(text string, exists bool) (changed, did string, err error) {
	crlf := strings.Contains(text, "\r\n") && strings.Count(text, "\r\n") == strings.Count(text, "\n")
	if crlf {
		text, in.Old, in.New = withoutCR(text), withoutCR(in.Old), withoutCR(in.New)
	}
	switch {
	case !exists:
		return "", "", fmt.Errorf("%s does not exist; use write to make it", in.Path)
	case in.Old == "":
		return "", "", errors.New("old is empty; use write to write a whole file")
	case in.Old == in.New:
		return "", "", errors.New("old and new are the same")
	}
	found := strings.Count(text, in.Old)
	switch {
	case found == 0:
		return "", "", in.missing(text)
	case found > 1 && !bool(in.All):
		return "", "", fmt.Errorf("old occurs %d times in %s, %s; give more of the lines around it, or set all", found, in.Path, in.places(text))
	}
	did = fmt.Sprintf("%s was changed %s: %s became %d", in.Path, in.places(text), human.Count(lines(in.Old), "line"), lines(in.New))
	if changed = strings.ReplaceAll(text, in.Old, in.New); crlf {
		changed = strings.ReplaceAll(changed, "\n", "\r\n")
	}
	return changed, did, nil
}

// missing says why the old text does not occur.
func (in editArgs) missing(text string) error {
	words := strings.Join(strings.Fields(in.Old), " ")
	if words == "" || !strings.Contains(strings.Join(strings.Fields(text), " "), words) {
		return fmt.Errorf("old does not occur in %s; read the file again", in.Path)
	}
	begin, _, _ := strings.Cut(strings.TrimSpace(in.Old), "\n")
	begin, at := strings.Join(strings.Fields(begin), " "), ""
	for i, line := range strings.Split(text, "\n") {
		if strings.Contains(strings.Join(strings.Fields(line), " "), begin) {
			at = fmt.Sprintf(", perhaps at line %d", i+1)
			break
		}
	}
	return fmt.Errorf("old occurs in %s only with other white space%s; read the file again, and copy tabs, blanks and line breaks exactly", in.Path, at)
}

// places lists the lines at which the old text occurs.
func (in editArgs) places(text string) string {
	const most = 10
	var at []string
	line := 1
	for {
		before, after, found := strings.Cut(text, in.Old)
		if !found {
			break
		}
		line += strings.Count(before, "\n")
		at = append(at, fmt.Sprint(line))
		line += strings.Count(in.Old, "\n")
		text = after
	}
	word := "at line "
	if len(at) > 1 {
		word = "at lines "
	}
	return word + human.List(at, most)
}

func withoutCR(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

func lines(text string) int {
	return strings.Count(text, "\n") + min(1, len(text)-strings.LastIndexByte(text, '\n')-1)
}
