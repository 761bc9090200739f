package features

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/taskfile"
)

// ErrNoProposal means that there is nothing to approve.
var ErrNoProposal = fmt.Errorf("%w: no tasks are proposed", dag.ErrRefused)

// propose keeps a graph that was checked, under the IDs that it will have.
func (b *builder) propose(ctx context.Context, specs []dag.Spec, findings []Finding) (*Proposal, error) {
	items, err := b.dryRun(ctx, b.wish.Mode, specs, nil)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Mode: b.wish.Mode, Findings: findings, Tasks: items, Path: b.at.path("proposal.jsonl"), Replaced: map[string]int{}}
	if p.Base, err = b.base(); err != nil {
		return nil, err
	}
	if b.wish.Mode == Replace {
		err := b.Store.View(ctx, func(g *dag.Graph) error {
			f, err := g.Feature(b.Name)
			for status, n := range f.Tasks {
				p.Replaced[string(status)] = n
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	if p.lines, err = Lines(items); err != nil {
		return nil, err
	}
	if err := atomicfile.Write(p.Path, p.lines); err != nil {
		return nil, err
	}
	return p, b.at.save(p) // last: it is what makes the proposal one
}

// Approve puts the proposed graph into the database in one transaction and writes
// the file that travels in git. It returns the IDs. If it was interrupted between
// the two, approving again writes the file.
func (d *Planner) Approve(ctx context.Context) (ids []string, err error) {
	at, err := stage(d.step("build"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	p := &Proposal{Path: at.path("proposal.jsonl")}
	begun, err := at.load(p)
	if err != nil {
		return nil, err
	}
	if !begun {
		return nil, ErrNoProposal
	}
	text, err := ReadDocument(p.Path)
	if err != nil {
		return nil, err
	}
	specs, err := parse(text)
	if err != nil {
		return nil, err
	}
	var lines []byte
	err = d.Store.Update(ctx, func(g *dag.Graph) error {
		ids, err = d.take(g, p.Mode, specs)
		if err != nil || d.Name == "" {
			return err
		}
		if err := g.SetStage(d.Name, dag.FeaturePlanned); err != nil {
			return err
		}
		var items []taskfile.Item
		if items, _, err = Items(g, d.Name); err != nil {
			return err
		}
		lines, err = Lines(items)
		return err
	})
	if err != nil {
		return nil, err
	}
	if d.Name != "" {
		if err := atomicfile.Write(d.Path(TasksFile), lines); err != nil {
			return nil, err
		}
	}
	return ids, at.clear()
}

// take imports the tasks, unless they were imported before.
func (d *Planner) take(g *dag.Graph, mode Mode, specs []dag.Spec) ([]string, error) {
	taken, ids := 0, make([]string, len(specs))
	for i, s := range specs {
		ids[i] = s.Ref
		if t, err := g.Task(s.Ref); err == nil && t.Feature == d.Name && t.Title == s.Title {
			taken++
		} else if err != nil && !errors.Is(err, dag.ErrNotFound) {
			return nil, err
		}
	}
	if taken == len(specs) {
		return ids, nil
	}
	if d.Name != "" && mode == Fresh {
		f, err := g.Feature(d.Name)
		if err != nil {
			return nil, err
		}
		if f.Total() > 0 {
			return nil, fmt.Errorf("%w, which were added since these were proposed", ErrBuilt)
		}
	}
	return d.enact(g, mode, specs)
}

// Waits says that tasks are proposed and wait for approval.
func (d *Planner) Waits() bool { return Exists(filepath.Join(d.step("build"), "state.json")) }

// Drop does first, and forgets all that is staged for the feature. It refuses while
// somebody is at work on a step: that would be taken up again and find nothing.
func (d *Planner) Drop(first func() error) (err error) {
	var held []*staging
	for _, step := range []string{string(Spec), string(Plan), "build"} {
		at, serr := stage(d.step(step))
		if serr != nil {
			err = serr
			break
		}
		held = append(held, at)
	}
	if err == nil {
		err = first()
	}
	for _, at := range held { // before they are removed, which open files can prevent
		err = errors.Join(err, at.close())
	}
	if err != nil {
		return err
	}
	return (&staging{dir: d.Staging}).clear()
}
