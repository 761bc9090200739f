package agents

import (
	"path/filepath"
	"strings"
)

// StateFolders returns the agent's state folders as absolute paths, given the
// user's home and the agent's environment. Folders that cannot be made absolute
// are left out: a sandbox must not open a relative path.
func StateFolders(p Preset, home string, getenv func(string) string) []string {
	return absolute(p.State, home, getenv)
}

// PossibleFolders returns where an agent that nobody described may keep its
// state: where the known agents do, because it is often one of them behind
// another name, and where its own name leads. It is empty for a known agent.
// They are for a sandbox to open if they are there.
func PossibleFolders(p Preset, home string, getenv func(string) string) []string {
	if !p.Unknown {
		return nil
	}
	var list []Folder
	for _, known := range byRank() {
		list = append(list, known.State...)
	}
	if name := program(p.Command[0]); name != "" && name != "." && name != ".." && name != "/" {
		list = append(append(list, Folder{Default: "~/." + name}), xdgState(name)...)
	}
	return absolute(list, home, getenv)
}

func absolute(list []Folder, home string, getenv func(string) string) []string {
	var out []string
	for _, f := range list {
		dir := f.Default
		if f.Env != "" {
			if v := getenv(f.Env); v != "" {
				dir = v
			}
		}
		if rest, ok := strings.CutPrefix(dir, "~/"); ok && home != "" {
			dir = filepath.Join(home, rest)
		}
		if dir = filepath.Join(dir, f.Sub); filepath.IsAbs(dir) {
			out = append(out, dir)
		}
	}
	return out
}
