package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/seen"
)

// Profile says what a confined process may do. Paths are absolute; those that
// do not exist are left out unless it says otherwise.
type Profile struct {
	Level Level // as Detect found it
	Mode  Mode

	Project string   // must exist
	Temp    string   // the process's temporary folder, TMPDIR inside; must exist
	Git     []string // git folders, in or outside the project, that Work may write, as found before any agent worked
	State   []string // the agent's own folders and files, really written; missing folders are made
	Write   []string // more folders, files, sockets or devices that are really written
	// Cache lists what looks writable: it is used, and what is written there is thrown
	// away at the end. Under Landlock it is read-only.
	Cache []string
	// Layered lists what looks writable, too: what Work writes there is in Layers, for the next process. Only under Namespaces.
	Layered []string
	Layers  Layers
	// Fresh lists folders that are found empty: what is written there goes with the process. Only under Namespaces.
	Fresh []string
	// Read lists what stays readable in a temporary folder that also holds the project:
	// under Namespaces such a folder is empty except for what the Profile names.
	Read []string
	// Programs are like Read, with the folder around each of them: what a program needs
	// lies there. A folder that holds the project is left out.
	Programs []string
	Protect  []string // is read-only inside all of these, see Protection
	Hide     []string // cannot be read
	Offline  bool     // it has a network of its own with nothing on it; only under Namespaces
	Proxy    string   // a socket to a proxy, the only way out of such a network; it is one of Write
	Scratch  string   // an empty folder on a disk for what is thrown away, "" for memory; the caller removes it

	// Upper is a folder that has what Work writes in the project, instead of that, for one process after the other: the project
	// looks written and stays the same. Only under Namespaces.
	Upper string

	// Place says where the process finds the project, which is its Real, instead of where it is. Of what it covers, Ours stays where it
	// is, to read, under what the project has in its place. Only under Namespaces.
	Place seen.Folder
	Ours  string
}

// Layers are folders with what processes wrote in caches, which stay the same themselves.
type Layers struct {
	Own    string `json:"own,omitempty"`    // what processes of one place wrote: theirs alone
	Landed string `json:"landed,omitempty"` // below that: what is trusted, which they only read; "" for nothing

	Brought []Brought `json:"brought,omitempty"`
}

// Brought is a folder in the project that has what others hold, which stay the same. Only under Namespaces.
type Brought struct {
	Path string   `json:"path"` // is left out if it is missing, or leads out of the project
	From []string `json:"from"` // the first on top
	Own  string   `json:"own"`  // over these: what processes wrote at Path, for the next; must exist. "" if they only read
	Kept bool     `json:"kept"` // what is written now is, too; set by the Profile
}

// Mode is what the process is for.
type Mode string

// The modes.
const (
	Work   Mode = "work"   // writes the project
	Verify Mode = "verify" // the project stays the same: it looks writable under Namespaces, and is read-only under Landlock
)

// Encode returns the Profile as proc.Spec.Confine wants it. It is nil for None.
// It makes the missing State folders.
func (p Profile) Encode() ([]byte, error) {
	if p.Level == None {
		return nil, nil
	}
	layout, err := p.layout()
	if err != nil {
		return nil, fmt.Errorf("confine to %s: %w", p.Project, err)
	}
	return layout.encode()
}

// layout is a Profile with its paths resolved, in the terms of what is done.
type layout struct {
	Level     Level       `json:"level"`
	Empty     []string    `json:"empty,omitempty"`
	Read      []string    `json:"read,omitempty"`
	Write     []string    `json:"write,omitempty"`
	Overlay   []string    `json:"overlay,omitempty"`
	Layered   []string    `json:"layered,omitempty"`
	Layers    Layers      `json:"layers,omitzero"`
	Fresh     []string    `json:"fresh,omitempty"`
	ReadOnly  []string    `json:"read_only,omitempty"`
	Hide      []string    `json:"hide,omitempty"`
	Temp      string      `json:"temp,omitempty"`
	Project   string      `json:"project,omitempty"`
	Upper     string      `json:"upper,omitempty"`
	Place     seen.Folder `json:"place,omitzero"`
	Named     seen.Folder `json:"named,omitzero"` // the same as others name it, maybe by links
	Ours      string      `json:"ours,omitempty"`
	Scratch   string      `json:"scratch,omitempty"`
	Offline   bool        `json:"offline,omitempty"`
	Proxy     string      `json:"proxy,omitempty"`
	ProbeOnly bool        `json:"probe_only,omitempty"`
}

func (p Profile) layout() (layout, error) {
	if p.Mode != Work && p.Mode != Verify {
		return layout{}, fmt.Errorf("%q is no mode", p.Mode)
	}
	var l layout
	var bad error
	resolve := func(paths []string) (out []string) {
		for _, path := range paths {
			real, err := resolved(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
			case err != nil:
				bad = errors.Join(bad, err)
			default:
				out = append(out, real)
			}
		}
		return out
	}
	must := func(path string) string {
		real, err := resolved(path)
		bad = errors.Join(bad, err)
		return real
	}
	project := must(p.Project)
	l.Level, l.Temp, l.Offline = p.Level, must(p.Temp), p.Offline && p.Level == Namespaces
	if l.Offline {
		l.Proxy = p.Proxy
	}
	for _, path := range p.State {
		bad = errors.Join(bad, MakeFolder(path))
	}
	l.Write = append(resolve(slices.Concat(p.State, p.Write)), l.Temp)
	l.Overlay, l.ReadOnly, l.Hide, l.Scratch = resolve(p.Cache), resolve(p.Protect), outermost(resolve(p.Hide), nil), p.Scratch
	l.Empty, l.Read = emptied(project, found(p.Read), found(p.Programs))
	git := resolve(p.Git)
	// What is seen as part of a git folder must be written there, and not into a layer over it.
	l.Read = slices.DeleteFunc(l.Read, func(path string) bool {
		return slices.ContainsFunc(git, func(dir string) bool { return within(path, dir) })
	})
	switch {
	case p.Mode == Work && p.Upper != "" && p.Level == Namespaces:
		l.Project, l.Upper, l.Overlay = project, must(p.Upper), append(l.Overlay, project)
		l.Write = slices.DeleteFunc(append(l.Write, git...), func(path string) bool { return within(path, project) })
	case p.Mode == Work:
		// A mount of its own cannot be renamed away, so neither the project nor
		// its git folder can be replaced by one with other hooks.
		l.Write = append(l.Write, append(git, project)...)
	case p.Level == Namespaces:
		l.Overlay = append(l.Overlay, append(git, project)...)
	}
	if p.Level == Landlock {
		l.Overlay = nil
		return l, bad
	}
	l.Fresh = resolve(p.Fresh)
	if layered := resolve(p.Layered); len(layered) > 0 {
		l.Layered, l.Layers = layered, p.Layers
		bad = errors.Join(bad, os.MkdirAll(p.Layers.Own, 0o700))
	}
	if p.Place.Seen != "" && p.Level == Namespaces {
		l.Place = seen.Folder{Real: project, Seen: must(p.Place.Seen), View: must(p.Place.View)}
		l.Named = seen.Folder{Real: p.Place.Real, Seen: l.Place.Seen}
		if ours := resolve([]string{p.Ours}); p.Ours != "" && len(ours) == 1 && l.Place.Covers(ours[0]) {
			l.Ours = ours[0]
		}
		l.Read = slices.DeleteFunc(l.Read, l.Place.Covers)
		l.ReadOnly = slices.DeleteFunc(l.ReadOnly, func(path string) bool { return l.Ours != "" && l.Place.Inside(path) == l.Ours })
	}
	l.Layers.Brought = nil
	for _, b := range p.Layers.Brought {
		if at := resolve([]string{b.Path}); len(at) == 1 && within(at[0], project) {
			b.Path, b.Kept = at[0], p.Mode == Work
			l.Layers.Brought = append(l.Layers.Brought, b)
		}
	}
	return l, bad
}

func found(paths []string) (out []string) {
	for _, path := range paths {
		if real, err := resolved(path); err == nil {
			out = append(out, real)
		}
	}
	return out
}

func resolved(path string) (string, error) {
	if !filepath.IsAbs(path) {
		return "", fmt.Errorf("path %q is not absolute", path)
	}
	return filepath.EvalSymlinks(path)
}

// MakeFolder makes a missing folder, so that it can be opened up; one whose name
// has an extension is a file, which only its program can make sense of.
func MakeFolder(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if filepath.Ext(strings.TrimPrefix(filepath.Base(path), ".")) != "" {
		return nil
	}
	return os.MkdirAll(path, 0o700)
}

// emptied lists the temporary folders that the project is in, and what is read in
// them all the same. One that is named itself, because it is somebody's home, stays
// as it is.
func emptied(project string, read, programs []string) (folders, inside []string) {
	for _, dir := range []string{"/tmp", "/var/tmp"} {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !within(project, real) {
			continue
		}
		var found []string
		named := false
		for _, path := range read {
			named = named || path == real
			if within(path, real) && !within(path, project) && path != project {
				found = append(found, path)
			}
		}
		for _, path := range programs {
			if within(path, real) && !within(path, project) && !within(project, path) && path != project {
				found = append(found, around(path, real, project))
			}
		}
		if !named {
			folders, inside = append(folders, real), append(inside, found...)
		}
	}
	return folders, inside
}

// around is the widest folder around path that lies in dir and does not hold the project.
func around(path, dir, project string) string {
	for up := filepath.Dir(path); up != dir && !within(project, up) && up != project; up = filepath.Dir(path) {
		path = up
	}
	return path
}

// within says whether path is in dir.
func within(path, dir string) bool { return strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/") }
