// Package reviewcmd has the commands by which a person decides what lands, and what comes back.
package reviewcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/decide"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/show"
	"ralph/internal/cli/wiring"
	"ralph/internal/git"
	"ralph/internal/jsonval"
	"ralph/internal/merge"
	"ralph/internal/plain"
	"ralph/internal/project"
	"ralph/internal/render"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// Review is the command "ralph review".
var Review = cli.Command{
	Name: "review", Args: "[TASK]", Short: "show work that waits for a person before it lands, or that landed",
	Long: `Without TASK, lists what waits. With it, shows the patch, and what gates and verifier said.
ralph task accept lets it land, and ralph task reject sends it back to an agent.

With --morning, what landed is listed, too, until somebody accepts it: the riskiest first. On a terminal you go through
it and accept, undo or send back each; what you decide is stored at once, and the next time begins with what is left.`,
	Flags: []cli.Flag{
		cli.Bool("morning", "also what landed and nobody looked at, the riskiest first; on a terminal, one by one"),
		{Name: "since", Usage: "with --morning: what landed in the last `DURATION`, 12h or 7d, also if somebody looked at it"},
		cli.JSONFlag,
	},
	Example: "ralph run --jobs 4 --review\nralph review\nralph review 1f0c\nralph review --morning\nralph review --morning --since 24h --json",
	Exits:   "1 nothing of TASK waits, 3 not found, " + cli.Interrupted,
	Run:     cli.InProject(runReview),
}

type reviewOptions struct {
	Args          []string // a task
	Morning, JSON bool
	Since         *project.Duration
}

func (o *reviewOptions) Parse(cli.CommandLine) error {
	if o.Since != nil && !o.Morning {
		return cli.Usagef("--since goes with --morning")
	}
	return nil
}

// Held is work that waits for review, and the attempt that did it.
type Held struct {
	dag.Merge
	By dag.Attempt
}

// Object is it as JSON.
func (h Held) Object() jsonval.Object {
	gates := seq.Map(h.By.Gates, func(g dag.GateRecord) jsonval.Object { return jsonval.Object{"command", g.Command, "passed", g.Passed} })
	return jsonval.Object{
		"task", h.Task, "title", h.Title, "attempt", h.Attempt, "target", h.Target, "base", h.Base, "commit", h.Work, "at", h.At,
		"gates", gates, "verdict", cli.Null(h.By.Verdict), "reason", cli.Null(h.why()), "refs", show.RefsJSON(h.Refs),
	}
}

// why is what a person has to look at; "" where all work waits for one.
func (h Held) why() string {
	_, why, _ := strings.Cut(h.By.Reason, "waits for review: ")
	return why
}

func runReview(ctx context.Context, a *cli.App, s *cli.Session, o reviewOptions) error {
	if o.Morning {
		return runMorning(ctx, a, s, o)
	}
	var list []Held
	err := s.Store.View(ctx, func(g *dag.Graph) error {
		waiting, err := g.Queue.ToReview()
		if len(o.Args) > 0 {
			t, err := cli.ResolveTask(g, o.Args[0])
			if err != nil {
				return err
			}
			if waiting = slices.DeleteFunc(waiting, func(m dag.Merge) bool { return m.Task != t.ID }); len(waiting) == 0 {
				return cli.Hint(fmt.Errorf("%w: no work of %s waits for review", dag.ErrRefused, t.ID), "see what does with: ralph review")
			}
		}
		list = seq.Map(waiting, func(m dag.Merge) Held {
			at, aerr := g.History.Attempt(m.Attempt)
			err = errors.Join(err, aerr)
			return Held{m, at}
		})
		return err
	})
	switch {
	case err != nil:
		return err
	case len(o.Args) > 0 && !o.JSON:
		return showHeld(ctx, a, s, list[0])
	case len(list) > 0 && !o.JSON:
		a.Note("see the first with: ralph review %s; then: ralph task accept %[1]s, or: ralph task reject %[1]s -m WHY", list[0].Task)
	}
	return cli.PrintList(a, list, o.JSON, Held.Object, "nothing waits for review", nil, func(h Held) []term.Cell {
		return []term.Cell{{Text: h.Task, Paint: a.Palette().Cyan}, {Text: render.Branch(h.Target)}, {Text: h.Title}, {Text: plain.Cut(h.why(), maxWhy)}}
	})
}

// maxWhy is how many columns a list has for what a person has to look at.
const maxWhy = 100

// showHeld shows what a person needs to decide.
func showHeld(ctx context.Context, a *cli.App, s *cli.Session, h Held) error {
	repo, err := git.OpenRepo(ctx, s.Project.Root)
	if err != nil {
		return err
	}
	if there, err := merge.Existing(ctx, repo, []string{h.Work}); err != nil || len(there) == 0 {
		return errors.Join(err, decide.WorkGone(h.Task, h.Work))
	}
	patch, err := wiring.PatchOf(ctx, repo, h.Base, h.Work, "--stat", "-p")
	if err != nil {
		return err
	}
	p := a.Palette()
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", p.Cyan(h.Task), p.Bold(term.Line(h.Title)))
	b.WriteString(a.FieldLines("target", render.Branch(h.Target), "commit", h.Work, "attempt", h.Attempt, "agent", h.By.Agent, "refs", h.RefsText()))
	for _, gate := range h.By.Gates {
		b.WriteString(a.FieldLines("gate", string(gate.Verdict)+": "+gate.Command))
	}
	b.WriteString(a.FieldLines("verdict", h.By.Verdict, "doubt", h.why()))
	fmt.Fprintf(&b, "\n%s\n%s", strings.TrimSuffix(patch, "\n"), witnessText(a, s, h))
	a.Note("accept it with: ralph task accept %s; or: ralph task reject %s -m WHY", h.Task, h.Task)
	return cli.Written(fmt.Fprint(a.Stdout, a.Redact.Text(b.String())))
}

// Merge is the command "ralph merge".
var Merge = cli.Command{
	Name: "merge", Args: "[TASK]", Short: "land work that is finished or accepted; no agent works on it",
	Long: `Work that ralph task accept let land is rebuilt on the target as it is now, tested by its gates again, and landed.
So is work that a run left finished when it died, after the verifier has looked at it; with --review, or merge.review,
it waits for you. The next run gives what no longer passes, or conflicts, to an agent.`,
	Flags: mergeFlags(), Example: "ralph task accept 1f0c\nralph merge --push\nralph merge 1f0c",
	Exits: "1 a task failed, 2 some of it could not land, 3 not found, 4 a limit or stopped, 6 what landed was not pushed,\n" + cli.Interrupted,
	Run:   cli.Action(runMerge),
}

// mergeFlags are those of a run that make sense where no agent works.
func mergeFlags() []cli.Flag {
	kept := []string{"feature", "task", "jobs", "target", "in-place", "review", "push", "sandbox", "events", "log-file", "log-format", "json"}
	return slices.DeleteFunc(slices.Clone(launch.Command.Flags), func(f cli.Flag) bool { return !slices.Contains(kept, f.Name) })
}

func runMerge(ctx context.Context, a *cli.App, o launch.Options) error {
	o.Finished = true
	return launch.Run(ctx, a, o)
}

// witnessText is the check by which work is held, and what it printed; "" for other work, and for agents in a sandbox.
func witnessText(a *cli.App, s *cli.Session, h Held) string {
	file := filepath.Join(cli.TrustOf(a, s.Project).File("witness"), h.Task, "witness.log")
	text, err := os.ReadFile(file)
	if err != nil || !strings.Contains(h.why(), file) {
		return ""
	}
	return "\n" + term.Block(plain.Head(string(text), wiring.MaxDiff)) + "\n"
}
