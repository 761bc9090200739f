package git

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Driver is a program that merges files of some names.
type Driver struct {
	Name    string
	Title   string
	Command string // with git's placeholders: %O, %A, %B, %P
	Pattern string // of .gitattributes, in the folder of the project
	Example string // a name that the pattern matches
}

// Missing says what of the driver git does not know in a folder: "attribute", "command" or both.
func (d Driver) Missing(ctx context.Context, dir string) (parts []string, err error) {
	attribute, err := run(ctx, dir, nil, "check-attr", "merge", "--", d.Example)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(strings.TrimSpace(string(attribute)), ": merge: "+d.Name) {
		parts = append(parts, "attribute")
	}
	// Not having it is an error to git, too.
	if command, _ := run(ctx, dir, nil, "config", "--get", d.key("driver")); len(bytes.TrimSpace(command)) == 0 {
		parts = append(parts, "command")
	}
	return parts, nil
}

// Install adds what is missing: a line of .gitattributes, which is to be committed, and a setting of this clone, which git
// takes from nobody else. It says which of both it changed.
func (d Driver) Install(ctx context.Context, dir string) (parts []string, err error) {
	parts, err = d.Missing(ctx, dir)
	if err != nil {
		return nil, err
	}
	if slices.Contains(parts, "attribute") {
		if err := addLine(filepath.Join(dir, ".gitattributes"), d.Pattern+" merge="+d.Name); err != nil {
			return nil, err
		}
	}
	if slices.Contains(parts, "command") {
		for _, pair := range [][2]string{{"name", d.Title}, {"driver", d.Command}} {
			if _, err := run(ctx, dir, nil, "config", "--local", d.key(pair[0]), pair[1]); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

func (d Driver) key(name string) string { return "merge." + d.Name + "." + name }

// addLine adds a line to a file of a person, which is otherwise left as it is.
func addLine(path, line string) error {
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	if len(text) > 0 && !bytes.HasSuffix(text, []byte("\n")) {
		line = "\n" + line
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// Tracks says whether git carries a file that one of the patterns matches.
func Tracks(ctx context.Context, dir string, patterns ...string) (bool, error) {
	args := []string{"ls-files", "-z", "--"}
	for _, p := range patterns {
		args = append(args, ":(glob)"+p)
	}
	names, err := run(ctx, dir, nil, args...)
	return len(names) > 0, err
}
