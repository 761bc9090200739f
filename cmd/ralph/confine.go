package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ralph/internal/git"
	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// errUnconfined is a sandbox that is required and cannot be had.
var errUnconfined = errors.New("no sandbox")

// confiner knows how the processes of a run are confined. What it knows is found
// before the first agent starts, because an agent may write where it was found.
type confiner struct {
	mode    string // auto, require or off
	project project.Project
	home    string
	write   []string // [sandbox] write
	hide    []string // [sandbox] deny_read
	temp    string   // the folder of temporary folders
	reads   string   // another project that is read

	protection *sandbox.Protection
	git        []string          // git's folders
	real       map[string]string // where they really are

	work, verification sandbox.Report // in force

	mu    sync.Mutex
	first map[string][]*sandbox.Fingerprint // of what the first attempt at a task found

	planted []planted      // what agents changed although they must not, and is still so
	config  *configChanges // nil where no run watches it
	started chan struct{}  // an agent was started, which is to be recorded
}

// confiner finds the best level at which this project's processes can be confined.
func (a *app) confiner(mode string, s *session) (*confiner, error) {
	c := &confiner{mode: mode, project: s.project, home: a.getenv("HOME"), started: make(chan struct{}, 1)}
	var err error
	if c.write, err = c.paths("sandbox.write", s.config.Sandbox.Write); err != nil {
		return nil, err
	}
	if c.hide, err = c.paths("sandbox.deny_read", s.config.Sandbox.DenyRead); err != nil {
		return nil, err
	}
	if !a.looks {
		sweepTemps(tempParent(s.project.Root))
	}
	if err := c.openTemp(); err != nil { // without a sandbox, too: agents and gates need one there
		return nil, err
	}
	a.atEnd = append(a.atEnd, c.Close)
	if err := c.recall(); err != nil {
		return nil, err
	}
	c.findProtected(a.userConfig())
	if mode == "off" {
		return c, nil
	}
	temp, err := c.newTemp()
	if err != nil {
		return nil, err
	}
	for _, path := range c.write {
		if err := sandbox.MakeFolder(path); err != nil {
			return nil, fmt.Errorf("%w: sandbox.write: %w", project.ErrConfig, err)
		}
	}
	if c.work, err = sandbox.DetectFor(c.profile(sandbox.Work, a.confinable, temp, a.environ(), agent{})); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnconfined, err)
	}
	if c.verification, err = sandbox.DetectFor(c.profile(sandbox.Verify, c.work.Level, temp, a.environ(), agent{})); err != nil {
		return nil, fmt.Errorf("%w: %w", errUnconfined, err)
	}
	if why := c.lacking(); mode == "require" && why != "" {
		err := fmt.Errorf("%w: it is required, and %s", errUnconfined, why)
		return nil, hint(err, "see what is missing with ralph doctor, or run without: --sandbox auto")
	}
	return c, nil
}

// lacking says why this is not what "require" asks for: a sandbox, and the same for
// whoever verifies as for whoever works. It is empty if nothing is missing.
func (c *confiner) lacking() string {
	switch {
	case c.work.Level == sandbox.None:
		return "there is none: " + strings.Join(c.work.Reasons, "; ")
	case c.verification.Level < c.work.Level:
		return fmt.Sprintf("verifiers would get %s where agents get %s: %s", c.verification.Level, c.work.Level, strings.Join(c.verification.Reasons, "; "))
	}
	return ""
}

// findProtected looks for all that no agent may write, and for git's folders. The
// user's own configuration counts if it lies in the project.
func (c *confiner) findProtected(userConfig string) {
	var more []string
	if rel, err := filepath.Rel(c.project.Root, userConfig); err == nil && filepath.IsLocal(rel) {
		more = append(more, userConfig)
	}
	c.protection = sandbox.Protect(context.Background(), c.project, more...)
	c.git, c.real = git.Find(c.project.Root).Folders, map[string]string{}
	for _, dir := range c.git {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			c.real[dir] = real
		}
	}
}

// unprotect is for a project that is an agent's own: nothing in it is protected.
func (c *confiner) unprotect() { c.protection, c.git = &sandbox.Protection{}, nil }

// paths makes the paths of a setting absolute: "~" is the user's home, and
// anything else that is not absolute is below the project.
func (c *confiner) paths(key string, list []string) ([]string, error) {
	var out []string
	for _, path := range list {
		full := path
		if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == '/') {
			if !filepath.IsAbs(c.home) {
				continue // nobody's home
			}
			full = filepath.Join(c.home, rest)
		} else if !filepath.IsAbs(path) {
			full = filepath.Join(c.project.Root, path)
		}
		if path == "" || full == "/" {
			return nil, fmt.Errorf("%w: %s: %q would be everything", project.ErrConfig, key, path)
		}
		out = append(out, full)
	}
	return out, nil
}

// String is what the header of a run tells.
func (c *confiner) String() string {
	if c.mode == "off" {
		return "off: agents and gates run with your rights"
	}
	text := c.work.Level.String()
	switch c.work.Level {
	case sandbox.None:
		text += ": agents and gates run with your rights"
	case sandbox.Landlock:
		text += ": they write only this project, their own folders and caches"
	case sandbox.Namespaces:
		text += ": they write only this project, their own folders and caches; .ralph and git's hooks are read-only"
	}
	if len(c.work.Reasons) > 0 {
		text += " (" + strings.Join(c.work.Reasons, "; ") + ")"
	}
	if c.verification.Level < c.work.Level {
		text += fmt.Sprintf("; verification: %s (%s)", c.verification.Level, strings.Join(c.verification.Reasons, "; "))
	}
	return text
}

// confined is one profile in use. Close it when its processes are gone.
type confined struct {
	Level sandbox.Level
	Spec  []byte   // proc.Spec.Confine; nil for None
	Env   []string // what the process is given besides

	root   string
	temps  []string
	before []*sandbox.Fingerprint
	keep   func() error // what was found is remembered
	config func() error // ends watching the configuration
}

// forTask confines an agent at work on a task, its terminals too. env is what it is
// given. What an earlier attempt of this run at the same task tampered with is still told.
func (c *confiner) forTask(env []string, ag agent, task string) (*confined, error) {
	x, err := c.prepare(sandbox.Work, c.work.Level, env, ag)
	if err != nil {
		return x, err
	}
	if task != "" {
		x.keep = func() error { return c.remember(task, x.before) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.before = c.first[task]; x.before != nil && task != "" {
		return x, nil
	}
	if x.before, err = c.protection.Fingerprints(x.Level); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	if c.first == nil {
		c.first = map[string][]*sandbox.Fingerprint{}
	}
	c.first[task] = x.before
	return x, nil
}

// forGates confines the user's own commands: they build and test, in the project
// and with its caches, as an agent does.
func (c *confiner) forGates(env []string) (*confined, error) {
	return c.prepare(sandbox.Work, c.work.Level, env, agent{})
}

// forVerification confines an agent that only looks. What changes in the project
// meanwhile, the run itself notices: nothing is ever put back.
func (c *confiner) forVerification(env []string, ag agent) (*confined, error) {
	return c.prepare(sandbox.Verify, c.verification.Level, env, ag)
}

func (c *confiner) prepare(mode sandbox.Mode, level sandbox.Level, env []string, ag agent) (*confined, error) {
	x := &confined{Level: level, root: c.project.Root}
	if level == sandbox.None {
		return x, nil
	}
	temp, err := c.newTemp()
	if err != nil {
		return nil, err
	}
	x.temps = append(x.temps, temp)
	p := c.profile(mode, level, temp, env, ag)
	_, x.Env = c.caches(mode, level, temp, env)
	if mode == sandbox.Verify && level == sandbox.Namespaces {
		if p.Scratch, err = c.newTemp(); err != nil {
			return nil, errors.Join(err, x.Close())
		}
		x.temps = append(x.temps, p.Scratch)
	}
	if x.Spec, err = sandbox.Confinement(p); err != nil {
		return nil, errors.Join(err, x.Close())
	}
	return x, nil
}

// Tampered lists what was changed that no agent may change. It is empty where
// that is prevented, and may be asked at any time, also after Close.
func (x *confined) Tampered() ([]string, error) {
	var out []string
	var bad error
	for _, f := range x.before {
		changes, err := f.Changed()
		bad = errors.Join(bad, err)
		for _, change := range changes {
			out = append(out, filepath.Join(f.Dir(), change.Path)+": "+string(change.Kind))
		}
	}
	slices.Sort(out)
	return slices.Compact(out), bad
}

// Close removes what was needed only meanwhile. Doing so again does nothing.
func (x *confined) Close() error {
	var errs []error
	for _, end := range []func() error{x.keep, x.config} {
		if end != nil {
			errs = append(errs, end())
		}
	}
	for _, dir := range x.temps {
		errs = append(errs, sandbox.RemoveAll(dir))
	}
	x.temps, x.keep = nil, nil
	return errors.Join(errs...)
}
