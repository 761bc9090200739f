package agents

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrNotInstalled means that neither an agent's program nor npx is on PATH.
var ErrNotInstalled = errors.New("not installed")

// LookPath finds a program, as exec.LookPath does.
type LookPath func(program string) (string, error)

// All returns every built-in agent, sorted by name.
func All() []Preset {
	all := builtin()
	slices.SortFunc(all, func(a, b Preset) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Lookup returns the built-in agent of that name.
func Lookup(name string) (Preset, bool) {
	for _, p := range those(func(p Preset) bool { return p.Name == name }) {
		return p, true
	}
	return Preset{}, false
}

// Installed returns the agents whose program is on PATH, the one to prefer first. Of
// agents that share a program only the first is named: they cannot be distinguished.
func Installed(look LookPath) []Preset {
	var found []Preset
	seen := map[string]bool{}
	for _, p := range programs() {
		if IsInstalled(p, look) && !seen[p.Command[0]] {
			found = append(found, p)
			seen[p.Command[0]] = true
		}
	}
	return found
}

// IsInstalled reports whether an agent's own program is on PATH.
func IsInstalled(p Preset, look LookPath) bool {
	if len(p.Command) == 0 {
		return false
	}
	_, err := look(p.Command[0])
	return err == nil
}

// Argv returns the argument vector that starts the agent: its program, ralph
// itself at the path self for the built-in one, or npx with its package. The
// error is ErrNotInstalled with how to install it.
func Argv(p Preset, self string, look LookPath) ([]string, error) {
	if len(p.Self) > 0 {
		return append([]string{self}, p.Self...), nil
	}
	if len(p.Command) == 0 {
		return nil, fmt.Errorf("agent %s has no command", p.Name)
	}
	program, err := look(p.Command[0])
	if err == nil {
		return append([]string{program}, p.Command[1:]...), nil
	}
	if p.Package == "" {
		return nil, fmt.Errorf("agent %s: %s: %w", p.Name, p.Command[0], ErrNotInstalled)
	}
	npx, err := look("npx")
	if err != nil {
		return nil, fmt.Errorf("agent %s: %s: %w; install it with npm install -g %s", p.Name, p.Command[0], ErrNotInstalled, p.Package)
	}
	// A package may hold several programs, and the program's own flags must not
	// be read by npx: hence both --package and the two dashes.
	return append([]string{npx, "--yes", "--package=" + p.Package, "--"}, p.Command...), nil
}
