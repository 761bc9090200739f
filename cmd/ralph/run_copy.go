package main

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"

	"ralph/internal/git"
	"ralph/internal/redact"
	"ralph/internal/sandbox"
	"ralph/internal/slot"
	"ralph/verify"
)

// copies makes throwaway copies of the project's own folder for gates: overlays, or, where there are none, a slot that
// goes with the run.
type copies struct {
	app     *app
	session *session
	sandbox *sandbox.Confiner
	runner  verify.Gates
	lacks   string // which variables the runner withholds
	redact  *redact.Redactor

	using sync.Mutex // the slot
	pool  *slot.Pool // nil until it is needed
}

// make is attempt.Copy.
func (c *copies) make(ctx context.Context, base, work string, edits []git.Edit) (gates verify.Gates, end func() error, err error) {
	root, objects, tree := c.session.project.Root, c.session.project.Objects(), work
	gates, end = c.runner, func() error { return nil }
	if len(edits) > 0 {
		if tree, err = git.Edited(ctx, root, objects, base, work, edits); err != nil {
			return gates, end, err
		}
	}
	if c.sandbox.Verification.Level != sandbox.Namespaces {
		return c.inSlot(ctx, tree, edits)
	}
	x, err := c.sandbox.ForCopy(sandbox.Process{Env: gates.Env}, func(folder string) ([]string, error) {
		gone, err := git.Extract(ctx, root, objects, work, tree, folder)
		return gone, errors.Join(err, git.Later(folder, edits))
	})
	if err != nil {
		return gates, end, err
	}
	gates.Dir, gates.Confine, gates.Env = root, x.Spec, slices.Concat(gates.Env, x.Env)
	return gates, func() error { _ = x.Close(); return nil }, nil // what is left goes with the sandbox
}

// inSlot shows a tree of the project in a slot that nobody else uses.
func (c *copies) inSlot(ctx context.Context, tree string, edits []git.Edit) (gates verify.Gates, end func() error, err error) {
	c.using.Lock()
	gates, end = c.runner, func() error { c.using.Unlock(); return nil }
	if c.pool == nil {
		pool, err := c.open(ctx)
		if err != nil {
			return gates, end, err
		}
		c.pool = pool
	}
	at, err := c.pool.Try(ctx, git.Head(ctx, c.session.project.Root), tree)
	if err == nil {
		err = git.Later(at.Dir(), edits)
	}
	if err != nil {
		return gates, end, err
	}
	gates, _, err = c.runIn(at, false) // its folders go with the run
	return gates, end, err
}

// open prepares slots in a temporary folder. The repository itself gets nothing: what is added to it is in that folder, too.
func (c *copies) open(ctx context.Context) (*slot.Pool, error) {
	repo, err := openRepo(ctx, c.session.project.Root)
	if err != nil {
		return nil, err
	}
	o, err := slotOptions(c.app, c.session, repo)
	if err != nil {
		return nil, err
	}
	temp, err := c.sandbox.NewTemp()
	if err != nil {
		return nil, err
	}
	o.Dir, o.State = filepath.Join(temp, "slots"), filepath.Join(temp, "state")
	setUpSlots(c.session, &o, c.lacks, c.redact, func(at *slot.Slot) (verify.Gates, func() error, error) { return c.runIn(at, true) })
	o.Repo, err = repo.Aside(filepath.Join(temp, "objects"), filepath.Join(c.session.project.Objects(), "objects"))
	return slot.Open(o), err
}

// runIn runs gates in the slot, or, always with the network, what makes it ready.
func (c *copies) runIn(at *slot.Slot, online bool) (gates verify.Gates, end func() error, err error) {
	in, err := c.sandbox.In(at.Dir(), at.Place())
	if err != nil {
		return c.runner, nil, err
	}
	x, err := in.ForWork(sandbox.Process{Env: c.runner.Env, Online: online})
	if err != nil {
		return c.runner, nil, err
	}
	gates = c.runner
	gates.Dir, gates.Confine, gates.Env = at.Dir(), x.Spec, slices.Concat(gates.Env, x.Env, at.Env())
	return gates, x.Close, nil
}
