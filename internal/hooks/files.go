package hooks

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"ralph/internal/bounded"
	"ralph/internal/copyfile"
	"ralph/internal/proc"
	"ralph/internal/seq"
)

// files are what a hook executes of the project, as it was when the run began: an agent that
// changes it, or makes it, would change what runs outside its sandbox.
type files map[string]string

// filesOf looks at the files that a command line executes. Of one that is no shell nothing is
// known, and nothing runs.
func filesOf(dir, line string) files {
	found := files{}
	list, _ := executables(line)
	for _, e := range list {
		for _, path := range e.paths(dir) {
			name, err := filepath.Rel(dir, path)
			if err == nil && filepath.IsLocal(name) {
				found[path] = state(path)
			}
		}
	}
	return found
}

// state is different for files that differ, and says so where there is none. What is larger than any script is not looked at.
func state(path string) string {
	data, err := copyfile.Read(path, bounded.Data)
	if err != nil {
		return err.Error()
	}
	sum := sha256.Sum256(data)
	return string(sum[:])
}

// executable is a word of a command line that names what is executed.
type executable struct {
	name string
	read bool     // by an interpreter: it need not be executable
	dirs []string // where it may be if its name is relative
}

// paths are the files that it may be; a program of the system is none.
func (e executable) paths(dir string) []string {
	switch {
	case filepath.IsAbs(e.name):
		return []string{filepath.Clean(e.name)}
	case !e.read && !strings.Contains(e.name, "/"):
		return nil
	}
	return seq.Map(e.dirs, func(in string) string { return within(within(dir, in), e.name) })
}

// within is a path as it is called in a folder.
func within(dir, path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(dir, path)
}

func executables(line string) ([]executable, error) {
	c := commands{dirs: []string{"."}}
	err := c.add(line)
	return c.list, err
}

// commands collects what a command line executes.
type commands struct {
	list []executable
	dirs []string // in which a command may be executed, the latest last: whether a cd is reached, and succeeds, is not known
}

func (c *commands) add(line string) error {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return err
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			c.call(call.Args)
		}
		return true
	})
	return nil
}

// enter follows a cd, if it is known where to.
func (c *commands) enter(word *syntax.Word) {
	to, err := proc.Literal(word)
	if err != nil || strings.HasPrefix(to, "-") {
		return
	}
	for _, in := range c.dirs {
		if dir := within(in, to); !slices.Contains(c.dirs, dir) {
			c.dirs = append(c.dirs, dir)
		}
	}
}

// interpreters run the file that is their first argument.
func interpreters() []string {
	return []string{"sh", "bash", "dash", "zsh", "ksh", ".", "source", "python", "python3", "node", "deno", "bun", "ruby", "perl"}
}

// call adds the words of a simple command that name what it executes, and those of the commands that a shell is given by -c.
func (c *commands) call(words []*syntax.Word) {
	option := ""  // the one before
	read := false // by the word before
	for i, word := range words {
		name, err := proc.Literal(word)
		switch {
		case err != nil || name == "": // only the shell knows what it is, or nothing can be
			return
		case name == "cd" && i == 0 && len(words) == 2:
			c.enter(words[1])
			return
		case strings.HasSuffix(option, "c"): // sh -ec 'commands'
			_ = c.add(name) // what is none has no files
			return
		case i > 0 && (strings.HasPrefix(name, "-") || strings.Contains(name, "=")): // an option or a variable
			if option = ""; !strings.HasPrefix(name, "--") && strings.HasPrefix(name, "-") {
				option = name
			}
			continue
		case strings.HasSuffix(option, "o"): // sh -euo pipefail
			option = ""
			continue
		}
		option = ""
		c.list = append(c.list, executable{name, read, slices.Clone(c.dirs)})
		base := filepath.Base(name)
		read = slices.Contains(interpreters(), base)
		if !read && base != "exec" && base != "env" {
			return
		}
	}
}

// unchanged refuses to run what is not what it was.
func (f files) unchanged(dir string) error {
	for path, was := range f {
		if state(path) != was {
			name, _ := filepath.Rel(dir, path)
			return fmt.Errorf("it is not run, because %s has changed since the run began; if you did that, start the run again", name)
		}
	}
	return nil
}

// Broken says which files a hook executes that are not there or cannot be executed.
func (h Hook) Broken(dir string) (problems []string) {
	list, err := executables(h.Run)
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range list {
		if !strings.Contains(e.name, "/") { // a program of the system, or nothing that can be told
			continue
		}
		var info os.FileInfo
		for _, path := range slices.Backward(e.paths(dir)) {
			if info, err = os.Stat(path); err == nil {
				break
			}
		}
		switch {
		case err != nil:
			problems = append(problems, e.name+" does not exist")
		case !e.read && info.Mode().Perm()&0o111 == 0:
			problems = append(problems, e.name+" is not executable: chmod +x "+e.name)
		}
	}
	return problems
}
