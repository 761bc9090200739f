package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ralph/internal/agents"
	"ralph/internal/sandbox"
)

// profile is what a process of this project may do. The zero agent means none:
// a gate.
func (c *confiner) profile(mode sandbox.Mode, level sandbox.Level, temp string, env []string, ag agent) sandbox.Profile {
	get := lookUp(env)
	home := get("HOME")
	p := sandbox.Profile{
		Level: level, Mode: mode, Project: c.project.Root, Temp: temp, Git: c.unmoved(),
		State:   slices.Concat(makeable(agents.StateFolders(ag.preset, home, get)), c.write),
		Protect: c.protection.ReadOnly(mode),
		Hide:    c.hide,
	}
	p.Read, p.Programs = c.readable(env, ag.argv)
	if ag.preset.Unknown {
		p.Write = append(agents.PossibleFolders(ag.preset, home, get), ownFolder(ag.argv[0], home, c.project.Root, get("PATH"))...)
	}
	caches, _ := c.caches(mode, level, temp, env)
	if mode == sandbox.Verify {
		p.Cache = outermost(caches, append(slices.Clone(p.State), p.Write...))
	} else {
		p.Write = append(p.Write, caches...)
	}
	return p
}

// readable lists what a process needs to read that may be in a temporary folder, as the
// project may be: the paths that its environment names, and programs.
func (c *confiner) readable(env, argv []string) (files, programs []string) {
	full := func(path string) string {
		if filepath.IsAbs(path) || !strings.Contains(path, "/") {
			return path
		}
		return filepath.Join(c.project.Root, path)
	}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "TMPDIR", "TMP", "TEMP", "PWD", "OLDPWD": // it has its own
		case "PATH":
			programs = append(programs, filepath.SplitList(value)...)
		default:
			for _, path := range filepath.SplitList(value) {
				files = append(files, full(path))
			}
		}
	}
	if c.reads != "" {
		files = append(files, c.reads)
	}
	for _, word := range argv {
		programs = append(programs, full(word))
	}
	if self, err := os.Executable(); err == nil { // the built-in agent, and commands inside
		programs = append(programs, self)
	}
	return files, programs
}

// unmoved lists git's folders that are where they were found. An agent that worked
// before may have put a link to anywhere in the place of one.
func (c *confiner) unmoved() []string {
	return slices.DeleteFunc(slices.Clone(c.git), func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		return err != nil || real != c.real[dir]
	})
}

// opened lists, below the project, what an agent keeps there for itself and what
// [sandbox] write opens: whoever verifies may write that, too.
func (c *confiner) opened(env []string, ag agent) []string {
	var out []string
	for _, path := range slices.Concat(c.write, agents.StateFolders(ag.preset, lookUp(env)("HOME"), lookUp(env))) {
		if rel, err := filepath.Rel(c.project.Root, path); err == nil && filepath.IsLocal(rel) && rel != "." {
			out = append(out, filepath.ToSlash(rel))
		}
	}
	return out
}

// caches lists the build caches that are there or are needed, which are made, and
// the variables that lead tools away from the others, into the temporary folder:
// a read-only home without them would stop the tools, and a home is not littered
// for what may never be used. Where a verifier's writes cannot be thrown away, it is
// led away from every cache that is of no use unless it is written.
func (c *confiner) caches(mode sandbox.Mode, level sandbox.Level, temp string, env []string) (paths, variables []string) {
	get := lookUp(env)
	readOnly := mode == sandbox.Verify && level < sandbox.Namespaces
	for _, cache := range sandbox.Caches(get("HOME"), get) {
		switch {
		case readOnly && cache.Variable != "" && !cache.Downloads:
			variables = append(variables, cache.Variable+"="+filepath.Join(temp, "cache", cache.Variable))
		case cache.Wanted(c.project.Root) && sandbox.MakeFolder(cache.Path) == nil:
			paths = append(paths, cache.Path)
		case cache.Variable != "":
			variables = append(variables, cache.Variable+"="+filepath.Join(temp, "cache", cache.Variable))
		}
	}
	return paths, variables
}

// makeable makes the folders that are missing, and leaves out those that cannot be
// made: their program could not make them either, and has to live with that.
func makeable(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		err := sandbox.MakeFolder(path)
		return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	})
}

// outermost leaves out what lies in another one of the list or of taken, and what
// is there twice.
func outermost(paths, taken []string) []string {
	within := func(path, other string) bool {
		return path != other && strings.HasPrefix(path, strings.TrimSuffix(other, "/")+"/")
	}
	var out []string
	for _, path := range paths {
		inside := func(other string) bool { return within(path, other) }
		if !slices.Contains(out, path) && !slices.ContainsFunc(paths, inside) && !slices.ContainsFunc(taken, inside) && !slices.Contains(taken, path) {
			out = append(out, path)
		}
	}
	return out
}

// ownFolder is where an agent that nobody described and that is started by its
// path lies, if that is a folder of its own: not one of programs, nor one that
// holds the project or somebody's home. Such an agent is often a script that
// keeps its home and its log beside itself.
func ownFolder(program, home, root, path string) []string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil
	}
	dir := filepath.Dir(real)
	for _, inside := range []string{home, root} {
		if at, err := filepath.EvalSymlinks(inside); err == nil && (at == dir || strings.HasPrefix(at, strings.TrimSuffix(dir, "/")+"/")) {
			return nil
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if at, err := filepath.EvalSymlinks(folder); err == nil && at == dir {
			return nil
		}
	}
	switch filepath.Base(dir) {
	case "bin", ".bin", "sbin", "libexec", "/", "tmp", "etc", "lib":
		return nil
	}
	if dir == filepath.Clean(os.TempDir()) {
		return nil
	}
	return []string{dir}
}
