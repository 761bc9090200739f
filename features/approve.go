package features

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/human"
	"ralph/internal/plansync"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
)

// ErrNoProposal means that there is nothing to approve.
var ErrNoProposal = fmt.Errorf("%w: no tasks are proposed", dag.ErrRefused)

// Proposal is a graph that waits for approval. It is complete: its tasks have the IDs that
// they will keep.
type Proposal struct {
	Mode     Mode            `json:"mode"`
	Base     string          `json:"base"` // the documents it was made from
	Findings []Finding       `json:"findings"`
	Replaced map[string]int  `json:"replaced"` // tasks that would be deleted, by status
	Tasks    []taskfile.Item `json:"-"`
	Path     string          `json:"-"` // of the lines
}

// save keeps a graph that was checked, under the IDs that it will have.
func (b *builder) save(ctx context.Context, specs []dag.Spec, findings []Finding) (*Proposal, error) {
	items, err := b.dryRun(ctx, b.wish.Mode, specs, nil)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Mode: b.wish.Mode, Findings: findings, Tasks: items, Path: b.at.proposal(), Replaced: map[string]int{}}
	if p.Base, err = b.base(); err != nil {
		return nil, err
	}
	if b.wish.Mode == Replace {
		err := b.Store.View(ctx, func(g *dag.Graph) error {
			f, err := g.Plan.Feature(b.Name)
			for status, n := range f.Tasks {
				p.Replaced[string(status)] = n
			}
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	lines, err := Lines(items)
	if err != nil {
		return nil, err
	}
	if err := atomicfile.Write(p.Path, lines); err != nil {
		return nil, err
	}
	return p, b.at.save(p) // last: it is what makes the proposal one
}

// waiting returns the proposal that waits for approval; nil if there is none or another is
// wished for. One that was made from documents that have changed since is deleted.
func (p *Planner) waiting(ctx context.Context, wish Wish) (_ *Proposal, err error) {
	if p.Name == "" || wish.Mode != Fresh || wish.Template.Name != "" {
		return nil, nil
	}
	at, err := stage(p.step(BuildStep))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	proposal, specs, err := at.proposed()
	if err != nil || proposal == nil {
		return nil, err
	}
	ids := seq.Set(specs, func(s dag.Spec) string { return s.Ref })
	if proposal.Tasks, err = p.dryRun(ctx, proposal.Mode, specs, ids); err != nil {
		return nil, err
	}
	base, err := p.base()
	switch {
	case err != nil:
		return nil, err
	case base != proposal.Base:
		p.Note("the documents changed since tasks were proposed: those are dropped")
		return nil, at.clear()
	}
	p.Note("tasks were proposed before and wait for approval; build new ones with --replace")
	return proposal, nil
}

// proposed reads the proposal; nil means that there is none.
func (s *staging) proposed() (*Proposal, []dag.Spec, error) {
	p := &Proposal{Path: s.proposal()}
	if begun, err := s.load(p); err != nil || !begun {
		return nil, nil, err
	}
	text, err := ReadDocument(p.Path)
	if err != nil {
		return nil, nil, err
	}
	specs, err := parse(text)
	return p, specs, err
}

func (s *staging) proposal() string { return s.path("proposal.jsonl") }

// base tells whether the documents are still those that a graph was made from.
func (p *Planner) base() (string, error) {
	if p.Name == "" {
		return "", nil
	}
	var sums []string
	for _, kind := range []Kind{Spec, Plan} {
		sum, err := fingerprint(p.Path(kind.File()))
		if err != nil {
			return "", err
		}
		sums = append(sums, sum)
	}
	return strings.Join(sums, " "), nil
}

// Approve puts the proposed graph into the database in one transaction and writes the file
// that git carries. If it was interrupted between the two, approving again writes the file.
func (p *Planner) Approve(ctx context.Context) (step Step, err error) {
	defer func() { err = p.failed(BuildStep, err) }()
	at, err := stage(p.step(BuildStep))
	if err != nil {
		return step, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	proposal, specs, err := at.proposed()
	if err != nil {
		return step, err
	}
	if proposal == nil {
		return step, ErrNoProposal
	}
	step = newStep(BuildStep, DidApprove, p.Path(TasksFile))
	err = p.Store.Update(ctx, func(g *dag.Graph) error {
		if step.Tasks, err = p.importOnce(g, proposal.Mode, specs); err != nil || p.Name == "" {
			return err
		}
		return g.Plan.SetStage(p.Name, dag.FeaturePlanned)
	})
	if err != nil {
		return step, err
	}
	kept := human.Count(len(step.Tasks), "task") + " kept"
	if p.Name != "" {
		if _, err := p.Plans.Save(ctx, p.Name); err != nil {
			return step, err
		}
		kept += ", and written to " + step.Path
	}
	p.Note("%s", kept)
	if p.Kept != nil {
		p.Kept(ctx, step.Tasks)
	}
	return step, at.clear()
}

// importOnce imports the tasks, unless they were imported before.
func (p *Planner) importOnce(g *dag.Graph, mode Mode, specs []dag.Spec) ([]string, error) {
	imported, ids := 0, make([]string, len(specs))
	for i, s := range specs {
		ids[i] = s.Ref
		if t, err := g.Tasks.Get(s.Ref); err == nil && t.Feature == p.Name && t.Title == s.Title {
			imported++
		} else if err != nil && !errors.Is(err, dag.ErrNotFound) {
			return nil, err
		}
	}
	if imported == len(specs) {
		return ids, nil
	}
	if p.Name != "" && mode == Fresh {
		f, err := g.Plan.Feature(p.Name)
		if err != nil {
			return nil, err
		}
		if f.Total() > 0 {
			return nil, fmt.Errorf("%w, which were added since these were proposed", ErrBuilt)
		}
	}
	ids, err := p.importTasks(g, mode, specs)
	if err != nil {
		return nil, err
	}
	kept := human.Count(len(ids), "task")
	if p.Name != "" {
		kept += " of " + p.Name
	}
	return ids, g.History.Audit("", "", kept)
}

func (p *Planner) importTasks(g *dag.Graph, mode Mode, specs []dag.Spec) ([]string, error) {
	if p.Name != "" && mode == Replace {
		if err := g.Plan.ClearFeature(p.Name); err != nil {
			return nil, err
		}
	}
	return g.Plan.Import(specs)
}

var errDry = errors.New("dry run")

// dryRun imports tasks as approving would and rolls that back. It returns the imported tasks,
// or only those with the given IDs.
func (p *Planner) dryRun(ctx context.Context, mode Mode, specs []dag.Spec, only map[string]bool) (items []taskfile.Item, err error) {
	err = p.Store.Update(ctx, func(g *dag.Graph) error {
		ids, err := p.importTasks(g, mode, specs)
		if err != nil {
			return err
		}
		if only == nil {
			only = make(map[string]bool, len(ids))
			for _, id := range ids {
				only[id] = true
			}
		}
		if items, _, err = plansync.Items(g, dag.Filter{Feature: p.Name}); err != nil {
			return err
		}
		items = slices.DeleteFunc(items, func(item taskfile.Item) bool { return !only[item.ID] })
		return errDry
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return items, err
}

// Proposed reports whether tasks wait for approval.
func (p *Planner) Proposed() bool { return p.begun(BuildStep) }

// Drop calls first, and deletes all that is staged for the feature. It refuses while
// another process works on a step, which would continue it and find nothing.
func (p *Planner) Drop(first func() error) (err error) {
	var held []*staging
	for _, step := range []string{string(Spec), string(Plan), BuildStep} {
		at, serr := stage(p.step(step))
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
	return (&staging{dir: p.step("")}).clear()
}
