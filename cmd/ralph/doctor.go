package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/doctor"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/plansync"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/internal/seq"
	"ralph/internal/slot"
	"ralph/internal/term"
)

var doctorCommand = command{
	name: "doctor", short: "check the project and what runs need, and say how to fix it",
	long: `Checks the database and its derived columns, what dead runs left, the configured agents (each is
started and asked for its name; no model is called), the gates (each is run once), git, the sandbox and the disk. A warning is
worth knowing; a problem has to be fixed.`,
	flags: []flagSpec{
		boolFlag("fix", "recompute the derived columns"),
		boolFlag("rebuild", "make a new database from the plan files, put the old one aside, and say what only that knows"),
		yesFlag("with --rebuild, go on although a part of the plan is only in the old database"),
		{name: "timeout", usage: "wait at most `DURATION` for each agent to answer, and for each gate", value: "1m"},
		jsonFlag,
	},
	example: "ralph doctor\nralph doctor --rebuild", exits: "1 there is a problem", run: action(runDoctor),
}

type doctorOptions struct {
	Fix, Rebuild, Yes, JSON bool
	Timeout                 project.Duration // of each agent and each gate
}

func runDoctor(ctx context.Context, a *app, o doctorOptions) error {
	a.looks = true
	if o.Rebuild {
		return runRebuild(ctx, a, o)
	}
	var s *session
	var err error
	waitingFor(a, "the database to open", func() { s, err = a.open(ctx) })
	if s == nil || err != nil && o.Fix { // without its database all the rest can be checked
		return err
	}
	if s.store != nil {
		defer s.Close()
	}
	if o.Fix {
		var tasks, counts int
		if err := s.store.Update(ctx, func(g *dag.Graph) (err error) { tasks, counts, err = g.Recompute(); return err }); err != nil {
			return fmt.Errorf("recompute the derived columns: %w", err)
		}
		a.note("%s and %s fixed", human.Count(tasks, "task"), human.Count(counts, "count"))
	}
	p := doctor.Project{
		Project: s.project, Store: s.store, Opened: err, Collector: collector(a, s), Hint: hintFor, Restore: restoreCommand,
	}
	if s.store != nil {
		p.Recoverer = recoverer(a, s)
	}
	leftovers := []doctor.Finding{} // looked for before other checks can add to them
	findings := []doctor.Finding{}
	for _, c := range []doctor.Check{
		{Waiting: "the database to be checked", Run: p.State},
		{Waiting: "the search for leftovers", Run: func(ctx context.Context) []doctor.Finding { leftovers = p.Leftovers(ctx); return nil }},
		{Run: agentsCheck(a, s, o.Timeout.Std()).Check},
		{Run: func(ctx context.Context) []doctor.Finding { return checkGates(ctx, a, s, o.Timeout.Std()) }},
		{Run: p.People(s.config.Config)},
		{Run: func(context.Context) []doctor.Finding { return checkPrompts(s.project) }},
		{Run: func(ctx context.Context) []doctor.Finding { return checkPlans(ctx, s) }},
		{Waiting: "git", Run: p.Git},
		{Waiting: "the history of what landed", Run: p.Landed},
		{Waiting: "the sandbox to start", Run: func(ctx context.Context) []doctor.Finding { return []doctor.Finding{checkSandbox(ctx, a, s, p)} }},
		{Waiting: "the processes", Run: doctor.Processes},
		{Waiting: "the disk", Run: p.Disk},
	} {
		check := func() { findings = append(findings, c.Run(ctx)...) }
		if c.Waiting == "" {
			check()
		} else {
			waitingFor(a, c.Waiting, check)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	findings = append(findings, leftovers...)
	if o.JSON {
		err = a.printJSON(findings)
	} else {
		err = printFindings(a, findings)
	}
	if err == nil && slices.ContainsFunc(findings, func(f doctor.Finding) bool { return !f.OK }) {
		err = fmt.Errorf("doctor: %w: there is a problem, see above", dag.ErrRefused)
	}
	return err
}

// runRebuild makes the database again. The old one need not be readable.
func runRebuild(ctx context.Context, a *app, o doctorOptions) error {
	if o.Fix {
		return usagef("--rebuild makes all columns new: leave --fix out")
	}
	if err := a.refuseAgent(); err != nil {
		return err
	}
	p, err := a.findProject()
	if err != nil {
		return err
	}
	r, err := plansync.Rebuild(ctx, p, dag.Options{Now: a.now, Redact: a.redact.Text}, life, o.Yes)
	switch {
	case errors.Is(err, plansync.ErrNoFiles):
		return hint(err, "a plan is in files after: ralph task export --save; look for them where the plan was made, or in git's history")
	case errors.As(err, new(*plansync.LossError)):
		return hint(fmt.Errorf("rebuild the database: %w", err), "write it to files first: ralph task export --save; or go on without it: ralph doctor --rebuild --yes")
	case err != nil:
		return fmt.Errorf("rebuild the database: %w", err)
	case o.JSON:
		return a.printJSON(r)
	}
	fmt.Fprintf(a.stdout, "%s from %s\n", human.Count(r.Tasks, "task"), human.Series(r.Files, "and"))
	if r.Aside == "" {
		return nil
	}
	fmt.Fprintf(a.stdout, "the old database is %s; only there:\n", r.Aside)
	if len(r.Lost) == 0 {
		r.Lost = []string{"nothing"}
	}
	for _, what := range r.Lost {
		fmt.Fprintf(a.stdout, "- %s\n", term.Line(what))
	}
	return nil
}

// silence is how long a step may take before a person wants to know what it waits for.
const silence = 500 * time.Millisecond

// waitingFor does a step, and says what it waits for if it takes long.
func waitingFor(a *app, what string, do func()) {
	over, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-time.After(silence):
			a.note("waiting for %s", what)
		case <-over:
		}
	}()
	do()
	close(over)
	<-ended
}

// printFindings prints a line per check, and below it what was found and what to do.
func printFindings(a *app, findings []doctor.Finding) error {
	p := a.palette()
	paint := map[doctor.Level]func(string) string{doctor.OK: p.Green, doctor.Warning: p.Yellow, doctor.Problem: p.Red}
	width := 0
	for _, f := range findings {
		width = max(width, len(f.Check))
	}
	const shown = 10
	var b strings.Builder
	for _, f := range findings {
		fmt.Fprintf(&b, "%s  %-*s  %s\n", paint[f.Level](fmt.Sprintf("%-7s", f.Level)), width, f.Check, term.Line(f.Text))
		more := func(text string) { fmt.Fprintf(&b, "%*s%s\n", 7+2+width+2, "", term.Line(text)) }
		for _, text := range f.Found[:min(len(f.Found), shown)] {
			more("- " + text)
		}
		if n := len(f.Found) - shown; n > 0 {
			more(fmt.Sprintf("and %d more", n))
		}
		if f.Fix != nil {
			more("to do: " + *f.Fix)
		}
	}
	return written(fmt.Fprint(a.stdout, b.String()))
}

func agentsCheck(a *app, s *session, timeout time.Duration) doctor.Agents {
	return doctor.Agents{
		Finder: a.finder(s.config), Timeout: timeout, Waiting: func(what string, do func()) { waitingFor(a, what, do) }, Hint: hintFor,
		Trial: func(ag agents.Agent) (*agents.Trial, error) { return newTrial(a, s, ag, timeout) },
	}
}

func checkSandbox(ctx context.Context, a *app, s *session, p doctor.Project) doctor.Finding {
	c, err := confinerOf(a, sandbox.Options{Mode: "auto", Project: s.project}, s.config.Sandbox)
	if err != nil {
		return doctor.New("sandbox", doctor.Problem, err.Error(), cmp.Or(hintFor(err), "correct [sandbox] in the configuration: ralph config show"))
	}
	limits := ""
	if l := limiter(s.config.Sandbox); l != nil {
		limits = l.String()
	}
	layered := true // without git there are no slots
	if repo, err := git.OpenRepo(ctx, s.project.Root); err == nil {
		if o, err := slotOptions(a, s, repo); err == nil {
			o.Layers = c.Layers
			layered = slot.Open(o).Layered()
		}
	}
	return p.Sandbox(s.config.Sandbox.Mode, c, limits, layered)
}

// checkPlans checks the files by which plans travel in git.
func checkPlans(ctx context.Context, s *session) []doctor.Finding {
	var list []doctor.Finding
	if ignored := plansync.Ignored(ctx, s.project, s.store); len(ignored) > 0 {
		list = append(list, doctor.New("folders", doctor.Warning, "no feature of its own: "+human.Count(len(ignored), "folder")+" in .ralph/features",
			"rename or remove what is listed", seq.Map(ignored, unsyncedText)...))
	}
	faulty := plansync.Faults(ctx, s.project, s.store)
	if len(faulty) == 0 {
		return list
	}
	found := seq.Map(faulty, func(err error) string { return unsyncedText(err) + human.Lead("; ", hintFor(err)) })
	return append(list, doctor.New("plans", doctor.Problem, human.Count(len(faulty), "plan file")+" cannot be read: no plan is changed or run", "correct what is listed", found...))
}

// checkPrompts checks what the project says in prompts, as a run does before it begins.
func checkPrompts(p project.Project) []doctor.Finding {
	_, used, faulty := readSections(p)
	text := human.Count(used, "section") + " of the project's own"
	switch {
	case len(faulty) > 0:
		found := seq.Map(faulty, func(err error) string { return err.Error() + human.Lead("; ", hintFor(err)) })
		return []doctor.Finding{doctor.New("prompts", doctor.Problem, text+"; others cannot be used, and no run begins", "correct or remove what is listed; see docs/prompts.md", found...)}
	case used > 0:
		return []doctor.Finding{doctor.New("prompts", doctor.OK, text, "")}
	}
	return nil
}
