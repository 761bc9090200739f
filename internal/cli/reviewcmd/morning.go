package reviewcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/merge"
	"ralph/internal/render"
	"ralph/internal/report"
	"ralph/internal/risk"
	"ralph/internal/seq"
	"ralph/internal/term"
	"ralph/loop/land"
	"ralph/verify/suite"
)

// ReviewItem is work that a person looks at: it has landed, or is held.
type ReviewItem struct {
	Held
	task dag.Task
	gone string // why its commit cannot be shown; "" if it can

	unproven []dag.Proof // the criteria that it was to prove, and does not
}

func (l ReviewItem) landed() bool { return l.State == dag.MergeLanded }

// commits are what the work lies on, and the work: as it landed, or as it was kept.
func (l ReviewItem) commits() (below, work string) {
	if l.landed() {
		return l.Onto, l.Candidate
	}
	return l.Base, l.Work
}

// sentence says what the task did, and what makes that risky.
func (l ReviewItem) sentence() string {
	text := term.Line(l.Title) + ": " + l.Risk.String()
	if l.landed() { // what is held is in doubt for it, or was asked for
		text += human.Lead("; it ", term.Line(l.RefsText()))
	}
	return text
}

// commands are what a person types about it: to accept it, to take it back, and to send it back with a message.
func (l ReviewItem) commands() (accept, undo, back string) {
	if l.landed() {
		return "ralph task accept " + l.Task, "ralph undo " + l.Task, "ralph undo " + l.Task + " -m WHY"
	}
	return "ralph task accept " + l.Task, "", "ralph task reject " + l.Task + " -m WHY"
}

// Object is it as JSON.
func (l ReviewItem) Object(runs string) jsonval.Object {
	_, work := l.commits()
	accept, undo, back := l.commands()
	factors := seq.Map(l.Risk.Factors, func(f risk.Factor) jsonval.Object {
		return jsonval.Object{"factor", f.Name, "share", thousandths(f.Share), "what", f.What}
	})
	return jsonval.Object{
		"task", l.Task, "title", l.Title, "state", l.State, "risk", thousandths(l.Risk.Risk), "sentence", l.sentence(), "factors", factors,
		"target", l.Target, "commit", work, "gone", cli.Null(l.gone), "at", l.when(), "attempt", l.Attempt, "agent", cli.Null(l.By.Agent),
		"gates", slices.Concat([]dag.GateRecord{}, l.By.Gates), "verdict", cli.Null(l.By.Verdict),
		"unproven", seq.Map(l.unproven, func(p dag.Proof) jsonval.Object { return jsonval.Object{"criterion", p.Criterion, "why", p.Shown} }),
		"evidence", append([]string{}, report.EvidenceOf(runs, l.By)...),
		"reviewed_at", l.ReviewedAt, "reviewed_by", cli.Null(l.ReviewedBy), "refs", show.RefsJSON(l.Refs),
		"commands",
		jsonval.Object{"accept", accept, "undo", cli.Null(undo), "send_back", back},
	}
}

// when it landed, or was held.
func (l ReviewItem) when() time.Time {
	if l.landed() {
		return l.EndedAt
	}
	return l.At
}

// thousandths is a number as people compare it.
func thousandths(v float64) float64 { return math.Round(v*1000) / 1000 }

func runMorning(ctx context.Context, a *cli.App, s *cli.Session, o reviewOptions) error {
	list, err := loadMorning(ctx, a, s, o)
	if err != nil {
		return err
	}
	switch {
	case len(o.Args) > 0 && !o.JSON:
		return cli.Written(fmt.Fprint(a.Stdout, a.Redact.Text(lookedText(a, s, list[0])+patchText(ctx, s, list[0], "--stat", "-p"))))
	case a.Asks && a.OutIsTerm && !o.JSON && len(list) > 0:
		return askMorning(ctx, a, s, list)
	case len(list) > 0 && !o.JSON:
		accept, _, back := list[0].commands()
		a.Note("see the first with: ralph review --morning %s; accept it: %s; send it back: %s", list[0].Task, accept, back)
	}
	p := a.Palette()
	asJSON := func(l ReviewItem) jsonval.Object { return l.Object(s.Project.Runs()) }
	return cli.PrintList(a, list, o.JSON, asJSON, "nothing landed that nobody has looked at, and nothing is held; what was done in your own folder is not listed, see: ralph report", nil, func(l ReviewItem) []term.Cell {
		return []term.Cell{
			{Text: fmt.Sprintf("%.2f", l.Risk.Risk), Paint: riskPaint(p, l.Risk.Risk)}, {Text: l.Task, Paint: p.Cyan}, {Text: string(l.State)}, {Text: l.sentence()},
		}
	})
}

func riskPaint(p term.Palette, r float64) func(string) string {
	switch {
	case r > risk.Half:
		return p.Red
	case r > risk.Half/2:
		return p.Yellow
	}
	return p.Dim
}

// loadMorning lists what a person looks at, the riskiest first: what is held, and what landed and nobody has accepted, or since a
// time. With a task it is only that.
func loadMorning(ctx context.Context, a *cli.App, s *cli.Session, o reviewOptions) (list []ReviewItem, err error) {
	var failed []dag.FailedWork
	err = s.Store.View(ctx, func(g *dag.Graph) error {
		held, _ := g.Queue.ToReview() // the first error of the database is that of all that follow
		landed, err := g.Queue.Unreviewed()
		if o.Since != nil && err == nil {
			landed, err = g.Queue.LandedSince(a.Now().Add(-o.Since.Std()))
		}
		if len(o.Args) > 0 && err == nil {
			held, landed, err = onlyOf(g, o.Args[0], held)
		}
		if err != nil {
			return err
		}
		for _, m := range slices.Concat(held, landed) {
			l := ReviewItem{}
			l.Merge = m
			l.By, _ = g.History.Attempt(m.Attempt) // without it there is less to show
			if l.task, err = g.Tasks.Get(m.Task); err != nil {
				return err
			}
			if l.unproven, err = unprovenBy(g, l.task); err != nil {
				return err
			}
			list = append(list, l)
		}
		failed, err = g.History.FailedWork()
		return err
	})
	if err != nil || len(list) == 0 {
		return nil, err
	}
	repo, err := git.OpenRepo(ctx, s.Project.Root)
	if err == nil {
		err = findGone(ctx, repo, list)
	}
	if err == nil {
		err = rateOld(ctx, s, repo, list, failed)
	}
	if err != nil && ctx.Err() == nil { // what is stored can be shown without git
		a.Note("warning: what landed cannot be compared with the repository: %v", err)
		for i := range list {
			list[i].gone = cmp.Or(list[i].gone, "git cannot show it")
		}
		err = nil
	}
	slices.SortStableFunc(list, func(x, y ReviewItem) int { return cmp.Compare(y.Risk.Risk, x.Risk.Risk) })
	return list, cmp.Or(err, context.Cause(ctx))
}

// unprovenBy are the criteria that a task was to prove, and does not.
func unprovenBy(g *dag.Graph, t dag.Task) ([]dag.Proof, error) {
	if len(t.Proves) == 0 {
		return nil, nil
	}
	all, err := g.Plan.Proofs(t.Feature)
	return slices.DeleteFunc(all, func(p dag.Proof) bool { return p.Task != t.ID || p.Kind.Proves() }), err
}

// onlyOf is the work of one task that is held, or has landed, whoever has looked at that.
func onlyOf(g *dag.Graph, typed string, all []dag.Merge) (held, landed []dag.Merge, err error) {
	t, err := cli.ResolveTask(g, typed)
	if err != nil {
		return nil, nil, err
	}
	held = slices.DeleteFunc(all, func(m dag.Merge) bool { return m.Task != t.ID })
	m, err := g.Queue.LandedWork(t)
	if m.N > 0 {
		landed = append(landed, m)
	}
	if len(held)+len(landed) == 0 && err == nil {
		err = cli.Hint(fmt.Errorf("%w: no work of %s has landed or waits for review", dag.ErrRefused, t.ID), "see what has with: ralph review --morning")
	}
	return held, landed, err
}

// findGone says of which work the commit is not there any more: somebody rewrote or deleted its branch.
func findGone(ctx context.Context, repo *git.Repo, list []ReviewItem) error {
	there, err := merge.Existing(ctx, repo, seq.Map(list, func(l ReviewItem) string { _, work := l.commits(); return work }))
	if err != nil {
		return err
	}
	exists := map[string]bool{}
	for _, id := range there {
		exists[id] = true
	}
	targets := map[string]map[string]merge.Message{} // of commits, by branch
	first := map[string]string{}                     // what the first of them lies on
	for i := range list {
		l := &list[i]
		_, work := l.commits()
		switch {
		case !exists[work]:
			l.gone = fmt.Sprintf("git does not have its commit %.10s any more", work)
		case l.landed() && targets[l.Target] == nil:
			targets[l.Target], first[l.Target] = map[string]merge.Message{work: {Task: l.Task, Patch: l.Patch}}, l.Onto
		case l.landed():
			targets[l.Target][work] = merge.Message{Task: l.Task, Patch: l.Patch}
		}
	}
	for target, works := range targets {
		lost, err := merge.Lost(ctx, repo, target, first[target], works)
		if err != nil && !errors.Is(err, merge.ErrShallow) {
			return err
		}
		for i := range list {
			if _, work := list[i].commits(); list[i].Target == target && slices.Contains(lost, work) {
				list[i].gone = render.Branch(target) + " does not have it any more: somebody rewrote or deleted the branch"
			}
		}
	}
	return nil
}

// rateOld measures what nobody did when it landed, such as work from before ralph could: as far as that can be known now.
func rateOld(ctx context.Context, s *cli.Session, repo *git.Repo, list []ReviewItem, failed []dag.FailedWork) error {
	old := slices.DeleteFunc(seq.Map(list, func(l ReviewItem) string {
		if _, work := l.commits(); !l.Rated {
			return work
		}
		return ""
	}), func(commit string) bool { return commit == "" })
	if len(old) == 0 {
		return nil
	}
	sizes, err := merge.Sizes(ctx, repo, s.Project.Root, old)
	if err != nil {
		return err
	}
	authors := merge.Authors{}
	newest := slices.MaxFunc(list, func(x, y ReviewItem) int { return cmp.Compare(x.N, y.N) })
	if _, tip := newest.commits(); newest.gone == "" {
		if err := authors.Read(ctx, repo, "", tip, s.Project.Root); err != nil {
			return err
		}
	}
	return s.Store.View(ctx, func(g *dag.Graph) error {
		spent, err := g.History.Spent()
		if err != nil {
			return err
		}
		for i := range list {
			l := &list[i]
			if l.Rated {
				continue
			}
			_, work := l.commits()
			f := risk.Facts{Files: sizes[work].Files, Lines: sizes[work].Lines}
			for _, name := range f.Files {
				if suite.IsTest(name) {
					f.Checks = append(f.Checks, name)
				}
			}
			attempts, err := g.History.Attempts(l.task)
			if err != nil {
				return err
			}
			if cost := l.By.CostUSD; cost != nil && !l.By.Unknown {
				f.Spent = risk.Spent{CostUSD: *cost, Steps: l.By.Steps}
			}
			l.Risk = risk.Of(land.Measure(f, l.task, land.Before{Attempts: attempts, Spent: spent, Proofs: l.unproven, Failed: failed, Authors: authors, Protect: s.Config.Verify.Deciding()}))
		}
		return nil
	})
}

// lookedText is what a person needs to decide, besides the patch: the sentence, what was measured, and the evidence.
func lookedText(a *cli.App, s *cli.Session, l ReviewItem) string {
	p := a.Palette()
	_, work := l.commits()
	var b strings.Builder
	for i, line := range term.Wrap(l.Task+"  "+l.sentence(), a.Width, "            ") {
		if i == 0 {
			line = p.Cyan(l.Task) + p.Bold(strings.TrimPrefix(line, l.Task))
		}
		b.WriteString(line + "\n")
	}
	b.WriteString(a.FieldLines("risk", fmt.Sprintf("%.2f", l.Risk.Risk)))
	for _, f := range l.Risk.Factors {
		b.WriteString(a.FieldLines("", fmt.Sprintf("%.2f %s", f.Share, f.What)))
	}
	state := "held for " + render.Branch(l.Target)
	if l.landed() {
		state = "landed " + render.On(l.Target)
	}
	by := strings.Join(human.Parts(l.By.Agent, cmp.Or(l.By.ModelEffective, l.By.Model)), ", ")
	b.WriteString(a.FieldLines("state", state+", "+cli.Stamp(l.when()), "commit", work, "gone", l.gone, "attempt", l.Attempt+human.Lead(" by ", by), "refs", l.RefsText()))
	for _, gate := range l.By.Gates {
		b.WriteString(a.FieldLines("gate", show.GateText(gate)))
	}
	b.WriteString(a.FieldLines("verdict", l.By.Verdict))
	for _, p := range l.unproven {
		b.WriteString(a.FieldLines("unproven", p.Criterion+" "+p.Text+human.Lead(": ", p.Shown)))
	}
	for _, path := range report.EvidenceOf(s.Project.Runs(), l.By) {
		b.WriteString(a.FieldLines("evidence", human.Path(path, s.Project.Root)))
	}
	if !l.By.PrunedAt.IsZero() {
		b.WriteString(a.FieldLines("evidence", show.PrunedText(l.By.PrunedAt)))
	}
	b.WriteString(a.FieldLines("looked at", strings.Join(human.Parts(cli.Stamp(l.ReviewedAt), l.ReviewedBy), ", ")))
	return b.String()
}

// patchText is the patch of work, its statistics, or both, after an empty line; or why there is none.
func patchText(ctx context.Context, s *cli.Session, l ReviewItem, what ...string) string {
	below, work := l.commits()
	repo, err := git.OpenRepo(ctx, s.Project.Root)
	patch := ""
	if err == nil {
		patch, err = wiring.PatchOf(ctx, repo, below, work, what...)
	}
	if err != nil {
		patch = fmt.Sprintf("git cannot show the patch: %v\n", err)
	}
	return "\n" + patch
}
