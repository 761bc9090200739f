package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/plain"
	"ralph/internal/proc"
)

// Driver is a program that merges files of some names.
type Driver struct {
	Name    string
	Title   string
	Program string // its path; it is called by its name where PATH has it
	Args    string // with git's placeholders: %O, %A, %B, %P
	Pattern string // of .gitattributes, in the folder of the project
	Example string // a name that the pattern matches
}

// Missing says what of the driver git does not know in a folder: "attribute", "command" or both.
func (d Driver) Missing(ctx context.Context, dir string) (parts []string, err error) {
	if Own(dir) { // which people neither merge nor clone
		return nil, ErrUnknown
	}
	names, _, err := Tracked(ctx, dir, d.Pattern)
	if err != nil {
		return nil, err
	}
	attributes, err := run(ctx, dir, nil, append([]string{"check-attr", "merge", "--", d.Example}, names...)...)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(attributes)) {
		if !strings.HasSuffix(strings.TrimSpace(line), ": merge: "+d.Name) {
			parts = append(parts, "attribute")
			break
		}
	}
	// Not having it is an error to git, too.
	if command, _ := run(ctx, dir, nil, "config", "--get", d.key("driver")); !d.startable(string(command)) {
		parts = append(parts, "command")
	}
	return parts, nil
}

// startable reports whether the program of a command can be found. A name without a path must be that of d.Program: whether
// another program of that name merges anything is unknown.
func (d Driver) startable(command string) bool {
	program, _, takesFiles := strings.Cut(command, " %")
	words, err := proc.Split(strings.ReplaceAll(program, "%%", "%"))
	if err != nil || !takesFiles {
		return false
	}
	path, err := exec.LookPath(words[0])
	return err == nil && (words[0] == path || sameFile(path, d.Program))
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	second, err2 := os.Stat(b)
	return err == nil && err2 == nil && os.SameFile(first, second)
}

// command is what git gives to a shell. If the program cannot start, the shell prints what helps.
func (d Driver) command() string {
	program := strings.ReplaceAll(plain.ShellQuote(d.Program), "%", "%%")
	if path, err := exec.LookPath(d.Name); err == nil && sameFile(path, d.Program) {
		program = d.Name
	}
	failure := plain.ShellQuote(d.Name + ": the merge driver of plan files cannot start: ")
	return fmt.Sprintf(`%s %s || { s=$?; case $s in 126|127) echo %s%s'; install %s on your PATH, then type: %[5]s init --git' >&2;; esac; exit $s; }`, program, d.Args, failure, program, d.Name)
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
		for _, pair := range [][2]string{{"name", d.Title}, {"driver", d.command()}} {
			if _, err := run(ctx, dir, nil, "config", "--local", d.key(pair[0]), pair[1]); err != nil {
				return nil, err
			}
		}
	}
	return parts, nil
}

func (d Driver) key(name string) string { return "merge." + d.Name + "." + name }

// MergeText merges files as git merges text: the result goes to ours, with markers around what both sides changed.
func MergeText(ctx context.Context, base, ours, theirs string) error {
	err := command(ctx, "", "merge-file", "-q", "-L", "ours", "-L", "base", "-L", "theirs", ours, base, theirs).Run()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() < 128 {
		return nil // the number of conflicts
	}
	return err
}

// addLine adds a line to a file of a person, which is otherwise left as it is.
func addLine(path, line string) error {
	if info, err := os.Lstat(path); err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path) // git does not follow a link there, either
	}
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

// Tracked lists the files that git carries and one of the patterns matches, and those of them of which a merge left several versions.
func Tracked(ctx context.Context, dir string, patterns ...string) (names, unmerged []string, err error) {
	args := []string{"ls-files", "-z", "--stage", "--"}
	for _, p := range patterns {
		args = append(args, ":(glob)"+p)
	}
	out, err := run(ctx, dir, nil, args...)
	for entry := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		about, name, ok := strings.Cut(entry, "\t")
		if !ok || slices.Contains(names, name) {
			continue
		}
		if names = append(names, name); !strings.HasSuffix(about, " 0") {
			unmerged = append(unmerged, name)
		}
	}
	return names, unmerged, err
}
