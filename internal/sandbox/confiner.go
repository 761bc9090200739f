package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/proc"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/seen"
	"ralph/internal/seq"
)

// ErrUnconfined means that processes cannot be confined as the user wants it;
// ErrRequired, which is one, that mode "require" asks for a better sandbox; ErrExposed that they could read a server's token.
var (
	ErrUnconfined = errors.New("no sandbox")
	ErrRequired   = fmt.Errorf("%w: it is required", ErrUnconfined)
	ErrExposed    = errors.New("the token of a server cannot be hidden")
)

// Options say how the processes of a project are confined.
type Options struct {
	Mode        string // auto, require or off
	Project     project.Project
	Trust       provenance.Store // has what agents of earlier runs changed although they must not
	Write       []string         // [sandbox] write
	DenyRead    []string         // [sandbox] deny_read
	Tokens      func() []string  // files with tokens of servers, as of now: nothing is started that could read one
	Network     project.NetworkConfig
	Environ     []string
	Most        Level  // the best level that may be used
	UserConfig  string // the user's own configuration file
	Reads       string // another project that may be read
	Unprotected bool   // the project is the agent's own: nothing in it is protected
	KeepDead    bool   // leave the temporary folders of dead processes alone
}

// Confiner confines the processes of a run. It finds what it needs to know before the
// first agent starts, because an agent may write where it looks. Close it at the end.
type Confiner struct {
	Work, Verification Report // what is in force

	opts       Options
	place      project.Project // where agents work
	tree       string          // what they may write: that, or the whole copy of the repository that it is in
	seen       seen.Folder     // where they find that
	write      []string
	hide       []string
	temp       string // the folder of temporary folders
	protection *Protection
	git        map[string]string // git's folders, and where they really are
	objects    []string          // the folders that git reads objects from, for which it is not enough to see the project
	started    chan struct{}     // an agent was started, which is to be recorded

	mu      sync.Mutex
	first   map[string][]*Fingerprint // by task, in a copy by attempt: what its first session found
	planted []provenance.Finding
}

// New finds the best level at which the project's processes can be confined.
func New(opts Options) (c *Confiner, err error) {
	c = &Confiner{opts: opts, place: opts.Project, tree: opts.Project.Root, started: make(chan struct{}, 1), first: map[string][]*Fingerprint{}}
	if c.write, err = c.paths("sandbox.write", opts.Write); err != nil {
		return nil, err
	}
	if c.hide, err = c.paths("sandbox.deny_read", opts.DenyRead); err != nil {
		return nil, err
	}
	parent := tempParent(opts.Project.Root)
	if !opts.KeepDead {
		ClearTemps(parent)
	}
	// Agents and gates need one without a sandbox, too.
	if c.temp, err = MakeTemp(parent); err != nil {
		return nil, err
	}
	if err := c.open(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

func (c *Confiner) open() (err error) {
	if c.planted, err = c.opts.Trust.Findings(OlderFindings(c.opts.Project)); err != nil {
		return err
	}
	c.findProtected()
	c.objects = git.Find(c.opts.Project.Root).Objects()
	if c.opts.Mode == "off" {
		return nil
	}
	temp, err := c.NewTemp()
	if err != nil {
		return err
	}
	for _, path := range c.write {
		if err := MakeFolder(path); err != nil {
			return fmt.Errorf("%w: sandbox.write: %w", project.ErrConfig, err)
		}
	}
	process := Process{Env: c.opts.Environ}
	work, _ := c.profile(Work, c.opts.Most, temp, process)
	work.Offline = len(c.offlines())+len(c.opts.Network.Hosts) > 0 // whoever it is
	if c.Work, err = DetectFor(work); err == nil {
		verification, _ := c.profile(Verify, c.Work.Level, temp, process)
		c.Verification, err = DetectFor(verification)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnconfined, err)
	}
	if why := c.Lacking(); c.opts.Mode == "require" && why != "" {
		return fmt.Errorf("%w, and %s", ErrRequired, why)
	}
	work, _ = c.profile(Work, c.Work.Level, temp, process)
	return c.hidesTokens(work)
}

// In confines processes that work in another folder, a copy of the project, instead: all of the
// repository there is theirs, at whichever path they see it. The project itself may only be read then.
func (c *Confiner) In(dir string, at seen.Folder) (in *Confiner, err error) {
	in = &Confiner{
		seen: at, Work: c.Work, Verification: c.Verification, opts: c.opts, place: project.Project{Root: dir}, tree: cmp.Or(git.Top(dir), dir), hide: c.hide, temp: c.temp,
		objects: c.objects, started: c.started, first: map[string][]*Fingerprint{},
	}
	if in.write, err = in.paths("sandbox.write", c.opts.Write); err != nil {
		return nil, err
	}
	hide, err := in.paths("sandbox.deny_read", c.opts.DenyRead) // relative ones are in the copy, too
	if err != nil {
		return nil, err
	}
	in.hide = slices.Concat(hide, c.hide)
	in.findProtected()
	return in, nil
}

// Close removes the temporary folders that are left.
func (c *Confiner) Close() error { return RemoveAll(c.temp) }

// Lacking says why this is not what mode "require" asks for: a sandbox, and one for
// verifiers that is as good as that for agents. It is empty if nothing is missing.
func (c *Confiner) Lacking() string {
	switch {
	case c.Work.Level == None:
		return "there is none: " + strings.Join(c.Work.Reasons, "; ")
	case c.unenforced() != "":
		return c.unenforced()
	case c.Verification.Level < c.Work.Level:
		return fmt.Sprintf("verifiers would get %s where agents get %s: %s", c.Verification.Level, c.Work.Level, strings.Join(c.Verification.Reasons, "; "))
	}
	return ""
}

// Gaps lists what is left open: why the sandbox is no better, and what it does not cover. layered is as for InSlots.
func (c *Confiner) Gaps(layered bool) []string {
	var open []string
	add := func(reasons []string) {
		for _, reason := range reasons {
			open = append(open, "no "+reason)
		}
	}
	add(c.Work.Reasons)
	if c.Work.Level == Namespaces && !layered {
		open = append(open, Unlayered)
	}
	if c.Verification.Level < c.Work.Level {
		open = append(open, "verification is confined less well, by "+c.Verification.Level.String())
		add(c.Verification.Reasons)
	}
	open = append(open, human.Parts(c.unenforced())...)
	for _, path := range c.Exposed() {
		open = append(open, path+" is to be hidden, but lies in a folder that agents may write: they can read and write it")
	}
	return append(open, c.Work.Level.Gaps()...)
}

// Exposed lists what is to be hidden and is not: the rules of Landlock cannot take away what others allow.
func (c *Confiner) Exposed() []string {
	if c.Work.Level != Landlock {
		return nil
	}
	real := func(path string) string {
		if to, err := resolved(path); err == nil {
			return to
		}
		return path
	}
	writable := seq.Map(append([]string{c.tree}, c.write...), real)
	return slices.DeleteFunc(seq.Map(c.hide, real), func(path string) bool {
		return !slices.ContainsFunc(writable, func(dir string) bool { return path == dir || within(path, dir) })
	})
}

// findProtected looks for everything that no agent may write, and for git's folders.
// The user's own configuration counts if it lies in the project.
func (c *Confiner) findProtected() {
	if c.opts.Unprotected {
		c.protection = &Protection{}
		return
	}
	root := c.place.Root
	var more []string
	if rel, err := filepath.Rel(root, c.opts.UserConfig); err == nil && filepath.IsLocal(rel) {
		more = append(more, c.opts.UserConfig)
	}
	c.protection = Protect(context.Background(), c.place, more...)
	c.git = map[string]string{}
	if git.Own(root) { // no agent writes there
		return
	}
	for _, dir := range git.Find(root).Folders {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			c.git[dir] = real
		}
	}
}

// paths makes the paths of a setting absolute: "~" is the user's home, and anything
// else that is not absolute is meant from the project. In a copy of it, what that does not have is where the project has it.
func (c *Confiner) paths(key string, list []string) ([]string, error) {
	home := proc.Getenv(c.opts.Environ, "HOME")
	var out []string
	for _, path := range list {
		full := path
		if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
			if !filepath.IsAbs(home) {
				continue
			}
			full = filepath.Join(home, rest)
		} else if !filepath.IsAbs(path) {
			if full = filepath.Join(c.place.Root, path); !within(full, c.tree) {
				full = filepath.Join(c.opts.Project.Root, path)
			}
		}
		if path == "" || full == "/" {
			return nil, fmt.Errorf("%w: %s: %q would be everything", project.ErrConfig, key, path)
		}
		out = append(out, full)
	}
	return out, nil
}

// String describes what is in force, for the header of a run.
func (c *Confiner) String() string {
	return c.describe("this project", map[Level]string{
		Namespaces: "; .ralph and git's hooks are read-only", Landlock: "; they can change ralph's database",
	})
}

// InSlots describes the same for a run whose agents work in slots, with what other levels have and this one lacks. layered
// reports whether the file system of their folder carries overlays.
func (c *Confiner) InSlots(layered bool) string {
	missing := map[Level]string{Landlock: "; tests of rejected work can write caches that later gates read"}
	if !layered {
		missing[Namespaces] = "; " + Unlayered
	}
	return c.describe("their slot", missing)
}

// Unlayered names what is missing where slots are on a file system that no overlay can be laid over.
const Unlayered = "the folder of slots carries no overlay: gates write in their room, and slots begin with empty caches"

func (c *Confiner) describe(where string, besides map[Level]string) string {
	if c.opts.Mode == "off" {
		return "off: " + strings.Join(human.Parts("agents and gates run with your rights", c.unenforced()), "; ")
	}
	text := c.Work.Level.String() + ": agents write only " + where + ", their own folders and caches"
	if c.Work.Level == None {
		text = c.Work.Level.String() + ": agents and gates run with your rights"
	}
	text += besides[c.Work.Level]
	if len(c.Work.Reasons) > 0 {
		text += " (" + strings.Join(c.Work.Reasons, "; ") + ")"
	}
	if c.Verification.Level < c.Work.Level {
		text += fmt.Sprintf("; verification: %s (%s)", c.Verification.Level, strings.Join(c.Verification.Reasons, "; "))
	}
	return strings.Join(human.Parts(text, c.Network()), "; ")
}

// Temp is a folder that its processes may write and find at the same path; "" for the system's.
func (x *Confinement) Temp() string {
	if len(x.temps) == 0 {
		return ""
	}
	return x.temps[0]
}

// Client says what is never written on behalf of an agent, and what is not read.
func (c *Confiner) Client() (protected, hidden []string) {
	return c.protection.Paths(), append(slices.Clip(c.hide), c.tokens()...)
}

// Confinement is one profile in use. Close it when its processes are gone.
type Confinement struct {
	Level Level
	Spec  []byte      // proc.Spec.Confine; nil for None
	Env   []string    // additional variables of the process
	Place seen.Folder // where the process finds its folder

	temps  []string
	before []*Fingerprint
	may    func(path string) bool // what the task may change of that; nil is nothing
	keep   func() error           // remembers what was tampered with
}

// ForWork confines an agent and its terminals, or the user's own commands: they build
// and test in the project and with its caches.
func (c *Confiner) ForWork(p Process) (*Confinement, error) {
	return c.prepare(Work, c.Work.Level, p)
}

// Layers reports whether what processes write in a folder can be kept in another, see Profile.Upper.
func (c *Confiner) Layers(dir, upper string) bool {
	if c.Work.Level != Namespaces || c.Verification.Level != Namespaces {
		return false
	}
	temp, err := c.NewTemp()
	if err != nil {
		return false
	}
	defer func() { _ = RemoveAll(temp) }() // what is left goes with the sandbox
	report, err := DetectFor(Profile{Level: Namespaces, Mode: Work, Project: dir, Temp: temp, Upper: upper})
	return err == nil && report.Level == Namespaces
}

// Sees reports whether processes that work in a folder can find it in the place of the repository, see Profile.Place. They cannot if the
// repository contains what they need by its own path, or if a service that they talk to would open files at that path, as those of
// containers do.
func (c *Confiner) Sees(at seen.Folder) bool {
	self, err := os.Executable()
	if err != nil || c.Work.Level != Namespaces || c.Verification.Level != Namespaces || slices.ContainsFunc(c.write, leadsOut) {
		return false
	}
	if slices.ContainsFunc(found([]string{proc.Getenv(c.opts.Environ, "HOME"), self, at.Real, c.temp}), at.Covers) {
		return false
	}
	temp, err := c.NewTemp()
	if err != nil {
		return false
	}
	defer func() { _ = RemoveAll(temp) }() // what is left goes with the sandbox
	report, err := DetectFor(Profile{Level: Namespaces, Mode: Work, Project: at.Real, Temp: temp, Place: at, Ours: c.opts.Project.State()})
	return err == nil && report.Level == Namespaces
}

// leadsOut reports whether a path is a socket, or a folder of sockets.
func leadsOut(path string) bool {
	info, err := os.Stat(path)
	entries, _ := os.ReadDir(path) // a file has none
	return err == nil && info.Mode()&os.ModeSocket != 0 || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Type()&os.ModeSocket != 0 })
}

// ForVerification confines an agent that only looks. The run itself notices what
// changes in the project meanwhile: nothing is ever put back.
func (c *Confiner) ForVerification(p Process) (*Confinement, error) {
	return c.prepare(Verify, c.Verification.Level, p)
}

// Outline is all that a process of an agent would be confined to now. It is equal as long
// as that is the same.
func (c *Confiner) Outline(p Process, verifies bool) string {
	mode, level := Work, c.Work.Level
	if verifies {
		mode, level = Verify, c.Verification.Level
	}
	profile, variables := c.profile(mode, level, c.temp, p)
	return fmt.Sprintf("%#v %q", profile, variables)
}

func (c *Confiner) prepare(mode Mode, level Level, process Process) (*Confinement, error) {
	x := &Confinement{Level: level}
	if level == None {
		return x, nil
	}
	temps := 1
	if mode == Verify && level == Namespaces {
		temps = 2
	}
	for range temps {
		temp, err := c.NewTemp()
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		x.temps = append(x.temps, temp)
	}
	var p Profile
	p, x.Env = c.profile(mode, level, x.temps[0], process)
	x.Place = p.Place
	if temps == 2 {
		p.Scratch = x.temps[1]
	}
	err := c.hidesTokens(p)
	if err == nil {
		x.Spec, err = p.Encode()
	}
	if err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Close removes the temporary folders. Doing so again does nothing.
func (x *Confinement) Close() error {
	var errs []error
	if x.keep != nil {
		errs = append(errs, x.keep())
	}
	for _, dir := range x.temps {
		errs = append(errs, RemoveAll(dir))
	}
	x.temps, x.keep = nil, nil
	return errors.Join(errs...)
}
