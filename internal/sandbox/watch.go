package sandbox

import (
	"errors"
	"path/filepath"
	"slices"

	"ralph/internal/glob"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/seq"
)

// Planted lists what agents of earlier runs left where git or ralph use it.
func (c *Confiner) Planted() []provenance.Finding { return c.planted }

// OlderFindings is where ralph kept that before, in a folder that some agents can write.
func OlderFindings(p project.Project) string { return filepath.Join(p.Runs(), "planted.json") }

// keepFound keeps what an attempt changed although it must not.
func (c *Confiner) keepFound(task string, x *Confinement) error {
	changes, bad := x.changes()
	if len(changes) == 0 {
		return bad
	}
	found := seq.Map(changes, func(change Change) provenance.Finding {
		return provenance.Finding{Path: change.Path, Kind: string(change.Kind), Sum: provenance.Sum(change.Path), Task: task}
	})
	return errors.Join(bad, c.opts.Trust.Found(OlderFindings(c.opts.Project), found...))
}

// Watch looks at what an agent must not write, before it is given a task. What an earlier
// attempt of this run at the same task tampered with still counts. Of all that is
// protected, only the project's configuration may be among what the task may change:
// no glob stands for ralph's own state, nor for what git uses.
func (c *Confiner) Watch(x *Confinement, task, attempt string, mayChange []string) (err error) {
	since := task
	config := c.place.Config()
	allowed := glob.Match(mayChange, filepath.Base(config))
	x.may = func(path string) bool { return allowed && path == config }
	if c.place != c.opts.Project {
		since = attempt // a copy gets its git folder anew for each attempt
	} else if task != "" {
		x.keep = func() error { return c.keepFound(task, x) }
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if x.before = c.first[since]; x.before != nil && task != "" {
		if c.place != c.opts.Project {
			return x.Renew() // who asked for another session has had ralph write there
		}
		return nil
	}
	if x.before, err = c.protection.Fingerprints(x.Level); err == nil {
		c.first[since] = x.before
	}
	return err
}

// Tampered lists what was changed that no agent may change. It is empty where the
// sandbox prevents that, and may be called at any time, also after Close.
func (x *Confinement) Tampered() ([]string, error) {
	var out []string
	changes, err := x.changes()
	for _, change := range changes {
		out = append(out, change.Path+": "+string(change.Kind))
	}
	slices.Sort(out)
	return slices.Compact(out), err
}

// Renew has what is in a copy of the project now count as untouched, after ralph itself checked something out there. What was
// tampered with before is what Tampered said before that.
func (x *Confinement) Renew() (bad error) {
	for _, f := range x.before {
		if f.ours {
			sums, err := f.take()
			if bad = errors.Join(bad, err); err == nil {
				f.sums = sums
			}
		}
	}
	return bad
}

// changes lists what differs from before and that the task may not change.
func (x *Confinement) changes() (all []Change, bad error) {
	for _, f := range x.before {
		changes, err := f.Changed()
		all, bad = append(all, changes...), errors.Join(bad, err)
	}
	return slices.DeleteFunc(all, func(c Change) bool { return x.may != nil && x.may(c.Path) }), bad
}
