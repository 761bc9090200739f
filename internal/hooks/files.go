package hooks

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"ralph/internal/copyfile"
	"ralph/internal/proc"
)

// files are what a hook executes of the project, as it was when the run began: an agent that
// changes it would change what runs outside its sandbox.
type files map[string][sha256.Size]byte

// filesOf looks at the files that a command line executes. Of one that is no shell nothing is
// known, and nothing runs.
func filesOf(dir, line string) files {
	found := files{}
	list, _ := executables(line)
	for _, e := range list {
		path := e.path(dir)
		within, err := filepath.Rel(dir, path)
		if err == nil && filepath.IsLocal(within) {
			if sum, err := digest(path); err == nil {
				found[path] = sum
			}
		}
	}
	return found
}

// executable is a word of a command line that names what is executed.
type executable struct {
	name string
	read bool // by an interpreter: it need not be executable
}

func (e executable) path(dir string) string {
	if filepath.IsAbs(e.name) {
		return e.name
	}
	return filepath.Join(dir, e.name)
}

func executables(line string) (list []executable, err error) {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, err
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok {
			list = append(list, executed(call.Args)...)
		}
		return true
	})
	return list, nil
}

// interpreters run the file that is their first argument.
func interpreters() []string {
	return []string{"sh", "bash", "dash", "zsh", "ksh", ".", "source", "exec", "env", "python", "python3", "node", "deno", "bun", "ruby", "perl"}
}

// executed are the words of a simple command that name what it executes, and those of the commands that a shell is given by -c.
func executed(words []*syntax.Word) (list []executable) {
	option := "" // the one before
	for i, word := range words {
		name, err := proc.Literal(word)
		switch {
		case err != nil || name == "": // only the shell knows what it is, or nothing can be
			return list
		case strings.HasSuffix(option, "c"): // sh -ec 'commands'
			inner, _ := executables(name) // what is none has no files
			return append(list, inner...)
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
		list = append(list, executable{name, i > 0})
		if !slices.Contains(interpreters(), filepath.Base(name)) {
			return list
		}
	}
	return list
}

// maxScript is far more than a script has; programs of a project may be larger, and are not looked at then.
const maxScript = 64 << 20

func digest(path string) (sum [sha256.Size]byte, err error) {
	data, err := copyfile.Read(path, maxScript)
	return sha256.Sum256(data), err
}

// unchanged refuses to run what is not what it was.
func (f files) unchanged(dir string) error {
	for path, was := range f {
		if now, err := digest(path); err != nil || now != was {
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
		info, err := os.Stat(e.path(dir))
		switch {
		case err != nil:
			problems = append(problems, e.name+" does not exist")
		case !e.read && info.Mode().Perm()&0o111 == 0:
			problems = append(problems, e.name+" is not executable: chmod +x "+e.name)
		}
	}
	return problems
}
