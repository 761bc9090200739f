package features

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/internal/redact"
	"ralph/internal/taskfile"
	"ralph/prompt"
	"ralph/sigils"
)

// Mode says what happens to tasks that a feature has already.
type Mode string

// The modes. Without one, a feature that has tasks is not built again.
const (
	Fresh   Mode = ""
	Replace Mode = "replace"
	Append  Mode = "append"
)

// Refusals of building.
var (
	ErrBuilt  = fmt.Errorf("%w: it has tasks already", dag.ErrRefused)
	ErrNoPlan = fmt.Errorf("%w: the agent's tasks could not be taken", dag.ErrRefused)
	errDry    = errors.New("dry run")
)

// maxCorrections is how often faults go back to the agent.
const maxCorrections = 3

// Wish says what a graph is built from.
type Wish struct {
	Mode Mode
	Idea string // instead of documents, for tasks of no feature
	From string
}

// Proposal is a graph that waits for a person's word. It is complete: its tasks have
// the IDs that they will keep.
type Proposal struct {
	Mode     Mode            `json:"mode"`
	Base     string          `json:"base"` // the documents it was made from
	Findings []Finding       `json:"findings"`
	Replaced map[string]int  `json:"replaced"` // tasks that would go, by status
	Tasks    []taskfile.Item `json:"-"`
	Path     string          `json:"-"` // of the lines
	lines    []byte
}

// builder builds one graph.
type builder struct {
	*Planner
	at    *staging
	wish  Wish
	given map[string]string
}

// Proposed returns the graph that waits for approval; nil means that none does. One
// that was made from other documents than those of now is gone.
func (d *Planner) Proposed(ctx context.Context) (p *Proposal, err error) {
	at, err := stage(d.step("build"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	p, err = d.proposed(ctx, at)
	if err != nil || p == nil {
		return nil, err
	}
	if base, err := d.base(); err != nil || base != p.Base {
		if err == nil {
			d.Note("the documents changed since tasks were proposed: those are dropped")
			err = at.clear()
		}
		return nil, err
	}
	return p, nil
}

func (d *Planner) proposed(ctx context.Context, at *staging) (*Proposal, error) {
	p := &Proposal{Path: at.path("proposal.jsonl")}
	begun, err := at.load(p)
	if err != nil || !begun {
		return nil, err
	}
	text, err := ReadDocument(p.Path)
	if err != nil {
		return nil, err
	}
	p.lines = []byte(text)
	specs, err := parse(text)
	if err != nil {
		return nil, err
	}
	ids := make(map[string]bool, len(specs))
	for _, s := range specs {
		ids[s.Ref] = true
	}
	p.Tasks, err = d.dryRun(ctx, p.Mode, specs, ids)
	return p, err
}

// base tells whether the documents are still those that a graph was made from.
func (d *Planner) base() (string, error) {
	if d.Name == "" {
		return "", nil
	}
	var sums []string
	for _, kind := range []Kind{Spec, Plan} {
		sum, err := fingerprint(d.Path(kind.File()))
		if err != nil {
			return "", err
		}
		sums = append(sums, sum)
	}
	return strings.Join(sums, " "), nil
}

// Build has the agent turn the plan into a graph and keeps it as a proposal. What is
// wrong with its answer goes back to it up to three times. Until a proposal is
// approved nothing can be seen of it in the graph.
func (d *Planner) Build(ctx context.Context, wish Wish) (p *Proposal, err error) {
	at, err := stage(d.step("build"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, at.close()) }()
	b := &builder{Planner: d, at: at, wish: wish, given: map[string]string{}}
	for _, kind := range []Kind{Spec, Plan} {
		if d.Name == "" {
			break
		}
		if err := d.optional(kind.File(), b.given); err != nil {
			return nil, err
		}
	}
	if _, planned := b.given[Plan.File()]; d.Name != "" && !planned {
		return nil, fmt.Errorf("%s: %w", Plan.File(), ErrMissing)
	}
	if d.Name != "" { // also if somebody wrote the plan by hand
		err := d.Store.Update(ctx, func(g *dag.Graph) error { return g.SetStage(d.Name, dag.FeaturePlanned) })
		if err != nil {
			return nil, err
		}
	}
	if wish.Idea != "" {
		b.given["idea.md"] = wish.Idea
	}
	existing, err := b.existing(ctx)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(at.clear(), at.fill(b.given)); err != nil {
		return nil, err
	}
	lines, err := Lines(existing)
	if err != nil {
		return nil, err
	}
	if err := d.Scratch(ctx, at.work(), lines); err != nil {
		return nil, fmt.Errorf("make the scratch project: %w", err)
	}
	defer d.guard(ctx)()
	specs, findings, err := b.converse(ctx, existing)
	if err != nil {
		return nil, err
	}
	return b.propose(ctx, specs, findings)
}

// existing are the tasks that stay.
func (b *builder) existing(ctx context.Context) (items []taskfile.Item, err error) {
	if b.Name == "" {
		return nil, nil
	}
	err = b.Store.View(ctx, func(g *dag.Graph) error {
		items, _, err = Items(g, b.Name)
		return err
	})
	switch {
	case err != nil || len(items) == 0:
		return nil, err
	case b.wish.Mode == Fresh:
		return nil, ErrBuilt
	case b.wish.Mode == Replace:
		return nil, nil
	}
	return items, nil
}

// converse goes on until the agent's tasks can be taken.
func (b *builder) converse(ctx context.Context, existing []taskfile.Item) (specs []dag.Spec, findings []Finding, err error) {
	b.Note("tasks: the agent is at work")
	session, err := b.open(ctx, b.at)
	if err != nil {
		return nil, nil, err
	}
	wanted := []string{"tasks.jsonl", "tasks.yaml", "tasks.yml"}
	defer func() { err = errors.Join(err, b.leave(session, b.at, b.given, wanted...)) }()
	text := prompt.Tasks(prompt.TasksInput{
		Name: b.Name, Project: b.Root, Program: b.Program, Gates: b.Gates, Inert: sigils.Inert,
		Idea: prompt.Document{Text: b.wish.Idea, From: "`idea.md` in your working folder"}, Existing: listed(existing),
	})
	find := &answers{Planner: b.Planner, at: b.at, seen: map[string]string{}}
	for round := 0; ; round++ {
		turn, err := b.say(ctx, session, text)
		if err != nil {
			return nil, nil, err
		}
		specs, findings, err = b.check(ctx, find, turn.Text())
		if err != nil || !Faulty(findings) {
			return specs, findings, err
		}
		faults := tell(findings, Fault)
		if round == maxCorrections {
			return nil, nil, fmt.Errorf("%w, after %d corrections: %s", ErrNoPlan, maxCorrections, strings.Join(faults, "; "))
		}
		b.Note("tasks: %s; the agent is told (%d of %d)", short(faults), round+1, maxCorrections)
		text = prompt.Mend(strings.Join(faults, "\n"), sigils.Inert)
	}
}

// check takes an answer apart. The error is ours, not the agent's.
func (b *builder) check(ctx context.Context, find *answers, said string) ([]dag.Spec, []Finding, error) {
	specs, where, err := find.find(ctx, said)
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, faultsOf(where, err), nil
	}
	specs = redact.Deep(b.Redact, specs)
	findings := b.adopt(specs, where)
	findings = append(findings, Lint(specs, Ground{Gates: b.Gates, Exists: b.exists})...)
	if _, err := b.dryRun(ctx, b.wish.Mode, specs, nil); errors.Is(err, dag.ErrRefused) {
		findings = append(faultsOf(where, err), findings...)
	} else if err != nil {
		return nil, nil, err
	}
	return specs, findings, nil
}

// adopt makes the tasks those of the feature; another's name is a fault.
func (b *builder) adopt(specs []dag.Spec, where string) []Finding {
	var faults []Finding
	for i := range specs {
		s := &specs[i]
		if s.Feature != "" && !strings.EqualFold(s.Feature, b.Name) {
			faults = append(faults, Finding{Fault, "feature", fmt.Sprintf("%s, line %d: feature is %q; leave it out", where, s.Line, s.Feature)})
		}
		if s.Feature = ""; s.Parent == "" {
			s.Feature = b.Name
		}
	}
	return faults
}

// exists looks for a file in the project, by its path or, without a folder, by its
// name anywhere at the top.
func (b *builder) exists(path string) bool {
	if _, copied := b.given[path]; copied {
		return true
	}
	_, err := os.Stat(filepath.Join(b.Root, filepath.FromSlash(path)))
	return err == nil
}

// dryRun imports tasks as approving would and takes it back. It returns the tasks of
// the feature as they would be, or only those with the given IDs.
func (d *Planner) dryRun(ctx context.Context, mode Mode, specs []dag.Spec, only map[string]bool) (items []taskfile.Item, err error) {
	err = d.Store.Update(ctx, func(g *dag.Graph) error {
		ids, err := d.enact(g, mode, specs)
		if err != nil {
			return err
		}
		if only == nil {
			only = make(map[string]bool, len(ids))
			for _, id := range ids {
				only[id] = true
			}
		}
		all, _, err := Items(g, d.Name)
		for _, item := range all {
			if only[item.ID] {
				items = append(items, item)
			}
		}
		return errors.Join(err, errDry)
	})
	if errors.Is(err, errDry) {
		err = nil
	}
	return items, err
}

// enact puts tasks into the graph.
func (d *Planner) enact(g *dag.Graph, mode Mode, specs []dag.Spec) ([]string, error) {
	if d.Name == "" {
		return g.Import(specs)
	}
	if mode == Replace {
		if err := g.ClearFeature(d.Name); err != nil {
			return nil, err
		}
	}
	return g.Import(specs)
}

func listed(items []taskfile.Item) prompt.Document {
	var b strings.Builder
	for _, t := range items {
		fmt.Fprintf(&b, "%s %s %s\n", t.ID, t.Status, t.Title)
	}
	return prompt.Document{Text: b.String(), From: "`ralph task list --all` in your working folder"}
}

// tell lists the findings of a level, a line each.
func tell(list []Finding, level Level) []string {
	var lines []string
	for _, f := range list {
		if f.Level == level {
			lines = append(lines, f.String())
		}
	}
	return lines
}

func short(lines []string) string {
	if len(lines) == 1 {
		return lines[0]
	}
	return fmt.Sprintf("%s (and %d more)", lines[0], len(lines)-1)
}
