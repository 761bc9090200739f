package sandbox

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"ralph/internal/git"
	"ralph/internal/proc"
)

// Process is what a Confiner confines: an agent, or a gate, which has only Env.
type Process struct {
	Env     []string
	Argv    []string
	State   []string // folders of its own; missing ones are made
	Write   []string // more that it may write if it exists
	Unknown bool     // nobody described the agent: it may also write the folder it lies in, see ownFolder
	Upper   string   // see Profile
	Layers  Layers   // for what it writes in caches; without them, it writes there
	Proxy   string   // a socket that is its only way to the network, see Confiner.Hosts
	Online  bool     // it has the network, whatever [sandbox.network] says of gates
}

// profile is what a process of this project may do, and the variables that it needs for
// that.
func (c *Confiner) profile(mode Mode, level Level, temp string, process Process) (p Profile, variables []string) {
	p = Profile{
		Level: level, Mode: mode, Project: c.tree, Temp: temp, Git: c.unmoved(),
		State:   slices.Concat(makeable(process.State), c.write),
		Write:   slices.Clone(process.Write),
		Protect: c.protection.ReadOnly(mode),
		Hide:    append(slices.Clip(c.hide), c.tokens()...),
		Upper:   process.Upper,
		Layers:  process.Layers,
		Offline: level == Namespaces && (c.offline(mode, process) || process.Proxy != ""),
		Proxy:   process.Proxy,
	}
	if process.Proxy != "" {
		p.Write = append(p.Write, process.Proxy)
	}
	p.Read, p.Programs = c.readable(process.Env, process.Argv)
	if process.Unknown {
		home, path := proc.Getenv(process.Env, "HOME"), proc.Getenv(process.Env, "PATH")
		p.Write = append(p.Write, ownFolder(process.Argv[0], home, p.Project, path)...)
	}
	if named := slices.Concat(process.Argv, p.State, p.Write); level == Namespaces && !slices.ContainsFunc(append(named, found(named)...), c.seen.Covers) {
		p.Place, p.Ours = c.seen, c.opts.Project.State()
	}
	caches, fresh, variables := c.caches(mode, level, temp, process, p.Place.Seen != "")
	p.Fresh = fresh
	taken := append(slices.Clone(p.State), p.Write...)
	switch {
	case mode == Verify:
		p.Cache = outermost(caches, taken)
	case level == Namespaces && process.Layers.Own != "":
		p.Layered = outermost(caches, append(taken, c.tree))
	default:
		p.Write = append(p.Write, caches...)
	}
	if top := git.Top(c.tree); top != "" && top != c.tree { // the project is a mount of its own, at which git would stop
		variables = append(variables, "GIT_DISCOVERY_ACROSS_FILESYSTEM=1")
	}
	return p, variables
}

// tokens are the files with tokens of servers. A server may be started while a run is under way.
func (c *Confiner) tokens() []string {
	if c.opts.Tokens == nil {
		return nil
	}
	return found(c.opts.Tokens())
}

// hidesTokens refuses a profile with which the token of a server could be read all the same: by another name of its file, in the
// project, of which there are copies, and under Landlock in whatever may be written.
func (c *Confiner) hidesTokens(p Profile) error {
	open := []string{c.opts.Project.Root, c.tree}
	switch p.Level {
	case None:
		return nil // everything can be read, as the level says
	case Landlock:
		open = slices.Concat(open, p.State, p.Write, p.Git)
	}
	open = found(open)
	for _, token := range c.tokens() {
		if info, err := os.Stat(token); err == nil && otherNames(info) {
			return fmt.Errorf("%w: %s has another name, a hard link", ErrExposed, token)
		}
		if i := slices.IndexFunc(open, func(dir string) bool { return token == dir || within(token, dir) }); i >= 0 {
			return fmt.Errorf("%w: %s is in %s, which agents use", ErrExposed, token, open[i])
		}
	}
	return nil
}

// readable lists what a process needs to read that may be in a temporary folder, as the
// project may be: the paths that its environment names, and programs.
func (c *Confiner) readable(env, argv []string) (files, programs []string) {
	full := func(path string) string {
		if filepath.IsAbs(path) || !strings.Contains(path, "/") {
			return path
		}
		return filepath.Join(c.place.Root, path)
	}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		switch name {
		case "TMPDIR", "TMP", "TEMP", "PWD", "OLDPWD", "GIT_CEILING_DIRECTORIES": // it has its own, and git looks at the last for nothing
		case "PATH":
			programs = append(programs, filepath.SplitList(value)...)
		default:
			for _, path := range filepath.SplitList(value) {
				files = append(files, full(path))
			}
		}
	}
	files = append(files, c.objects...)
	for _, path := range []string{c.opts.Reads, c.opts.Project.Root} { // a slot lies elsewhere
		if path != "" {
			files = append(files, path)
		}
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
func (c *Confiner) unmoved() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(c.git)), func(dir string) bool {
		real, err := filepath.EvalSymlinks(dir)
		return err != nil || real != c.git[dir]
	})
}

// caches lists the build caches that exist or are needed, which are made, and variables
// that move the others into the temporary folder. Without overlays, every cache that is useless unless
// it is written is moved: a verifier's there, too, and that of a process with layers to these. Fresh are registries of daemons, for
// a process that is placed: it finds a slot at the project's path.
func (c *Confiner) caches(mode Mode, level Level, temp string, process Process, placed bool) (paths, fresh, variables []string) {
	get := func(name string) string { return proc.Getenv(process.Env, name) }
	to, move := filepath.Join(temp, "cache"), mode == Verify && level < Namespaces
	if own := cmp.Or(process.Layers.Landed, process.Layers.Own); mode == Work && level == Landlock && own != "" && os.MkdirAll(own, 0o700) == nil {
		to, move, paths = own, true, []string{own}
	}
	for _, cache := range Caches(get("HOME"), get) {
		moved := move && cache.Variable != "" && !cache.Downloads
		switch {
		case cache.Registry && placed:
			if cache.Wanted(c.place.Root) {
				_ = MakeFolder(cache.Path) // else its tool cannot make it either
			}
			dirs, _ := filepath.Glob(cache.Path) // the pattern is good
			fresh = append(fresh, slices.DeleteFunc(dirs, func(dir string) bool { return !isDir(dir) })...)
		case cache.Registry && cache.Owner == "": // only a registry
		case !moved && cache.Wanted(c.place.Root) && MakeFolder(cache.Path) == nil:
			paths = append(paths, cache.Path)
		case cache.Variable != "":
			variables = append(variables, cache.Variable+"="+filepath.Join(to, cache.Variable))
		}
	}
	return paths, fresh, variables
}

// makeable makes the folders that are missing, and leaves out those that cannot be
// made: their program could not make them either, and has to live with that.
func makeable(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(path string) bool {
		err := MakeFolder(path)
		return errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)
	})
}

// outermost leaves out what lies in another one of the list or of taken, and
// duplicates.
func outermost(paths, taken []string) []string {
	var out []string
	for _, path := range paths {
		inside := func(other string) bool { return within(path, other) }
		if !slices.Contains(out, path) && !slices.Contains(taken, path) && !slices.ContainsFunc(slices.Concat(paths, taken), inside) {
			out = append(out, path)
		}
	}
	return out
}

// ownFolder is the folder of an unknown agent's program, if it is its own: not one of
// programs, nor one that holds the project or the home. Scripts keep their logs there.
func ownFolder(program, home, root, path string) []string {
	real, err := filepath.EvalSymlinks(program)
	if err != nil {
		return nil
	}
	dir := filepath.Dir(real)
	for _, holder := range []string{home, root} {
		if at, err := filepath.EvalSymlinks(holder); err == nil && (at == dir || within(at, dir)) {
			return nil
		}
	}
	for _, folder := range filepath.SplitList(path) {
		if at, err := filepath.EvalSymlinks(folder); err == nil && at == dir {
			return nil
		}
	}
	shared := []string{"bin", ".bin", "sbin", "libexec", "/", "tmp", "etc", "lib"}
	if slices.Contains(shared, filepath.Base(dir)) || dir == filepath.Clean(os.TempDir()) {
		return nil
	}
	return []string{dir}
}
