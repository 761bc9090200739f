package hooks

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// files are what a hook executes of the project, as it was when the run began: an agent that
// changes it would change what runs outside its sandbox.
type files map[string][sha256.Size]byte

// filesOf looks at the files that a command line executes. Of one that is no shell nothing is
// known, and nothing runs.
func filesOf(dir, line string) files {
	found := files{}
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return found
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		for _, name := range executed(call.Args) {
			if !filepath.IsAbs(name) {
				name = filepath.Join(dir, name)
			}
			within, err := filepath.Rel(dir, name)
			if err == nil && filepath.IsLocal(within) {
				if sum, err := digest(name); err == nil {
					found[name] = sum
				}
			}
		}
		return true
	})
	return found
}

// interpreters run the file that is their first argument.
func interpreters() []string {
	return []string{"sh", "bash", "dash", "zsh", "ksh", ".", "source", "exec", "env", "python", "python3", "node", "deno", "bun", "ruby", "perl"}
}

// executed are the words of a simple command that name what it executes.
func executed(words []*syntax.Word) (names []string) {
	for i, word := range words {
		name := word.Lit()
		switch {
		case i == 0, !strings.HasPrefix(name, "-") && !strings.Contains(name, "="):
			names = append(names, name)
		default: // an option or a variable
			continue
		}
		if !slices.Contains(interpreters(), filepath.Base(name)) {
			break
		}
	}
	return names
}

func digest(path string) (sum [sha256.Size]byte, err error) {
	data, err := os.ReadFile(path)
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
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(h.Run), "")
	if err != nil {
		return []string{err.Error()}
	}
	syntax.Walk(parsed, func(node syntax.Node) bool {
		call, ok := node.(*syntax.CallExpr)
		if !ok {
			return true
		}
		for i, name := range executed(call.Args) {
			if !strings.Contains(name, "/") { // a program of the system, or nothing that can be told
				continue
			}
			path := name
			if !filepath.IsAbs(path) {
				path = filepath.Join(dir, path)
			}
			info, err := os.Stat(path)
			switch {
			case err != nil:
				problems = append(problems, name+" does not exist")
			case i == 0 && info.Mode().Perm()&0o111 == 0:
				problems = append(problems, name+" is not executable: chmod +x "+name)
			}
		}
		return true
	})
	return problems
}
