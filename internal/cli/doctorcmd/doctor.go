// Package doctorcmd has the commands that keep a project in order.
package doctorcmd

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
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
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

// Doctor is the command "ralph doctor".
var Doctor = cli.Command{
	Name: "doctor", Short: "check the project and what runs need, and say how to fix it",
	Long: `Checks the database and its derived columns, what dead runs left, the configured agents (each is
started and asked for its name; no model is called), the gates (each is run once), git, the sandbox and the disk. A warning is
worth knowing; a problem has to be fixed.`,
	Flags: []cli.Flag{
		cli.Bool("fix", "recompute the derived columns"),
		cli.Bool("rebuild", "make a new database from the plan files, put the old one aside, and say what only that knows"),
		cli.YesFlag("with --rebuild, go on although a part of the plan is only in the old database"),
		{Name: "timeout", Usage: "wait at most `DURATION` for each agent to answer, and for each gate", Value: "1m"},
		cli.JSONFlag,
	},
	Example: "ralph doctor\nralph doctor --rebuild", Exits: "1 there is a problem", Run: cli.Action(runDoctor),
}

type doctorOptions struct {
	Fix, Rebuild, Yes, JSON bool
	Timeout                 project.Duration // of each agent and each gate
}

func runDoctor(ctx context.Context, a *cli.App, o doctorOptions) error {
	a.Looks = true
	if o.Rebuild {
		return runRebuild(ctx, a, o)
	}
	var s *cli.Session
	var err error
	cli.WaitingFor(a, "the database to open", func() { s, err = a.Open(ctx) })
	if s == nil || err != nil && o.Fix { // without its database all the rest can be checked
		return err
	}
	if s.Store != nil {
		defer s.Close()
	}
	if o.Fix {
		var tasks, counts int
		if err := s.Store.Update(ctx, func(g *dag.Graph) (err error) { tasks, counts, err = g.Recompute(); return err }); err != nil {
			return fmt.Errorf("recompute the derived columns: %w", err)
		}
		a.Note("%s and %s fixed", human.Count(tasks, "task"), human.Count(counts, "count"))
	}
	p := doctor.Project{
		Project: s.Project, Store: s.Store, Opened: err, Collector: wiring.Collector(a, s), Hint: cli.HintFor, Restore: cli.RestoreCommand,
	}
	if s.Store != nil {
		p.Recoverer = wiring.Recoverer(a, s)
	}
	leftovers := []doctor.Finding{} // looked for before other checks can add to them
	findings := []doctor.Finding{}
	for _, c := range []doctor.Check{
		{Waiting: "the database to be checked", Run: p.State},
		{Waiting: "the search for leftovers", Run: func(ctx context.Context) []doctor.Finding { leftovers = p.Leftovers(ctx); return nil }},
		{Run: agentsCheck(a, s, o.Timeout.Std()).Check},
		{Run: func(ctx context.Context) []doctor.Finding { return wiring.CheckGates(ctx, a, s, o.Timeout.Std()) }},
		{Run: p.People(s.Config.Config)},
		{Run: func(context.Context) []doctor.Finding { return checkPrompts(s.Project) }},
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
			cli.WaitingFor(a, c.Waiting, check)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	findings = append(findings, leftovers...)
	if o.JSON {
		err = a.PrintJSON(findings)
	} else {
		err = printFindings(a, findings)
	}
	if err == nil && slices.ContainsFunc(findings, func(f doctor.Finding) bool { return !f.OK }) {
		err = fmt.Errorf("doctor: %w: there is a problem, see above", dag.ErrRefused)
	}
	return err
}

// runRebuild makes the database again. The old one need not be readable.
func runRebuild(ctx context.Context, a *cli.App, o doctorOptions) error {
	if o.Fix {
		return cli.Usagef("--rebuild makes all columns new: leave --fix out")
	}
	if err := a.RefuseAgent(); err != nil {
		return err
	}
	p, err := a.FindProject()
	if err != nil {
		return err
	}
	r, err := plansync.Rebuild(ctx, p, dag.Options{Now: a.Now, Redact: a.Redact.Text}, cli.Life, o.Yes)
	switch {
	case errors.Is(err, plansync.ErrNoFiles):
		return cli.Hint(err, "a plan is in files after: ralph task export --save; look for them where the plan was made, or in git's history")
	case errors.As(err, new(*plansync.LossError)):
		return cli.Hint(fmt.Errorf("rebuild the database: %w", err), "write it to files first: ralph task export --save; or go on without it: ralph doctor --rebuild --yes")
	case err != nil:
		return fmt.Errorf("rebuild the database: %w", err)
	case o.JSON:
		return a.PrintJSON(r)
	}
	fmt.Fprintf(a.Stdout, "%s from %s\n", human.Count(r.Tasks, "task"), human.Series(r.Files, "and"))
	if r.Aside == "" {
		return nil
	}
	fmt.Fprintf(a.Stdout, "the old database is %s; only there:\n", r.Aside)
	if len(r.Lost) == 0 {
		r.Lost = []string{"nothing"}
	}
	for _, what := range r.Lost {
		fmt.Fprintf(a.Stdout, "- %s\n", term.Line(what))
	}
	return nil
}

// printFindings prints a line per check, and below it what was found and what to do.
func printFindings(a *cli.App, findings []doctor.Finding) error {
	p := a.Palette()
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
	return cli.Written(fmt.Fprint(a.Stdout, b.String()))
}

func agentsCheck(a *cli.App, s *cli.Session, timeout time.Duration) doctor.Agents {
	return doctor.Agents{
		Finder: a.Finder(s.Config), Timeout: timeout, Waiting: func(what string, do func()) { cli.WaitingFor(a, what, do) }, Hint: cli.HintFor,
		Trial: func(ag agents.Agent) (*agents.Trial, error) { return wiring.NewTrial(a, s, ag, timeout) },
	}
}

func checkSandbox(ctx context.Context, a *cli.App, s *cli.Session, p doctor.Project) doctor.Finding {
	c, err := wiring.ConfinerOf(a, sandbox.Options{Mode: "auto", Project: s.Project}, s.Config.Sandbox)
	if err != nil {
		return doctor.New("sandbox", doctor.Problem, err.Error(), cmp.Or(cli.HintFor(err), "correct [sandbox] in the configuration: ralph config show"))
	}
	limits := ""
	if l := wiring.Limiter(s.Config.Sandbox); l != nil {
		limits = l.String()
	}
	layered := true // without git there are no slots
	if repo, err := git.OpenRepo(ctx, s.Project.Root); err == nil {
		if o, err := wiring.SlotOptions(a, s, repo); err == nil {
			o.Layers = c.Layers
			layered = slot.Open(o).Layered()
		}
	}
	return p.Sandbox(s.Config.Sandbox.Mode, c, limits, layered)
}

// checkPlans checks the files by which plans travel in git.
func checkPlans(ctx context.Context, s *cli.Session) []doctor.Finding {
	var list []doctor.Finding
	if ignored := plansync.Ignored(ctx, s.Project, s.Store); len(ignored) > 0 {
		list = append(list, doctor.New("folders", doctor.Warning, "no feature of its own: "+human.Count(len(ignored), "folder")+" in .ralph/features",
			"rename or remove what is listed", seq.Map(ignored, cli.UnsyncedText)...))
	}
	faulty := plansync.Faults(ctx, s.Project, s.Store)
	if len(faulty) == 0 {
		return list
	}
	found := seq.Map(faulty, func(err error) string { return cli.UnsyncedText(err) + human.Lead("; ", cli.HintFor(err)) })
	return append(list, doctor.New("plans", doctor.Problem, human.Count(len(faulty), "plan file")+" cannot be read: no plan is changed or run", "correct what is listed", found...))
}

// checkPrompts checks what the project says in prompts, as a run does before it begins.
func checkPrompts(p project.Project) []doctor.Finding {
	_, used, faulty := wiring.ReadSections(p)
	text := human.Count(used, "section") + " of the project's own"
	switch {
	case len(faulty) > 0:
		found := seq.Map(faulty, func(err error) string { return err.Error() + human.Lead("; ", cli.HintFor(err)) })
		return []doctor.Finding{doctor.New("prompts", doctor.Problem, text+"; others cannot be used, and no run begins", "correct or remove what is listed; see docs/prompts.md", found...)}
	case used > 0:
		return []doctor.Finding{doctor.New("prompts", doctor.OK, text, "")}
	}
	return nil
}
