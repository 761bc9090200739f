package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/merge"
	"ralph/internal/plain"
	"ralph/internal/project"
	"ralph/internal/render"
	"ralph/internal/seq"
	"ralph/internal/term"
)

var reviewCommand = command{
	name: "review", args: "[TASK]", short: "show work that waits for a person before it lands, or that landed",
	long: `Without TASK, lists what waits. With it, shows the patch, and what gates and verifier said.
ralph task accept lets it land, and ralph task reject sends it back to an agent.

With --morning, what landed is listed, too, until somebody accepts it: the riskiest first. On a terminal you go through
it and accept, undo or send back each; what you decide is stored at once, and the next time begins with what is left.`,
	flags: []flagSpec{
		boolFlag("morning", "also what landed and nobody looked at, the riskiest first; on a terminal, one by one"),
		{name: "since", usage: "with --morning: what landed in the last `DURATION`, 12h or 7d, also if somebody looked at it"},
		jsonFlag,
	},
	example: "ralph run --jobs 4 --review\nralph review\nralph review 1f0c\nralph review --morning\nralph review --morning --since 24h --json",
	exits:   "1 nothing of TASK waits, 3 not found, " + interrupted,
	run:     inProject(runReview),
}

type reviewOptions struct {
	Args          []string // a task
	Morning, JSON bool
	Since         *project.Duration
}

func (o *reviewOptions) parse(commandLine) error {
	if o.Since != nil && !o.Morning {
		return usagef("--since goes with --morning")
	}
	return nil
}

// held is work that waits for review, and the attempt that did it.
type held struct {
	dag.Merge
	attempt dag.Attempt
}

func (h held) object() jsonval.Object {
	gates := seq.Map(h.attempt.Gates, func(g dag.GateRecord) jsonval.Object { return jsonval.Object{"command", g.Command, "passed", g.Passed} })
	return jsonval.Object{
		"task", h.Task, "title", h.Title, "attempt", h.Attempt, "target", h.Target, "base", h.Base, "commit", h.Work, "at", h.At,
		"gates", gates, "verdict", null(h.attempt.Verdict), "reason", null(h.why()), "refs", refsJSON(h.Refs),
	}
}

// refsJSON is what work does to tags and branches.
func refsJSON(refs []dag.MadeRef) []jsonval.Object {
	return seq.Map(refs, func(r dag.MadeRef) jsonval.Object {
		return jsonval.Object{"name", r.Name, "id", cmp.Or(r.Value, r.ID), "of_the_work", r.Own, "deleted", r.Gone}
	})
}

// why is what a person has to look at; "" where all work waits for one.
func (h held) why() string {
	_, why, _ := strings.Cut(h.attempt.Reason, "waits for review: ")
	return why
}

func runReview(ctx context.Context, a *app, s *session, o reviewOptions) error {
	if o.Morning {
		return runMorning(ctx, a, s, o)
	}
	var list []held
	err := s.store.View(ctx, func(g *dag.Graph) error {
		waiting, err := g.Queue.ToReview()
		if len(o.Args) > 0 {
			t, err := resolveTask(g, o.Args[0])
			if err != nil {
				return err
			}
			if waiting = slices.DeleteFunc(waiting, func(m dag.Merge) bool { return m.Task != t.ID }); len(waiting) == 0 {
				return hint(fmt.Errorf("%w: no work of %s waits for review", dag.ErrRefused, t.ID), "see what does with: ralph review")
			}
		}
		list = seq.Map(waiting, func(m dag.Merge) held {
			at, aerr := g.History.Attempt(m.Attempt)
			err = errors.Join(err, aerr)
			return held{m, at}
		})
		return err
	})
	switch {
	case err != nil:
		return err
	case len(o.Args) > 0 && !o.JSON:
		return showHeld(ctx, a, s, list[0])
	case len(list) > 0 && !o.JSON:
		a.note("see the first with: ralph review %s; then: ralph task accept %[1]s, or: ralph task reject %[1]s -m WHY", list[0].Task)
	}
	return printList(a, list, o.JSON, held.object, "nothing waits for review", nil, func(h held) []term.Cell {
		return []term.Cell{{Text: h.Task, Paint: a.palette().Cyan}, {Text: render.Branch(h.Target)}, {Text: h.Title}, {Text: plain.Cut(h.why(), maxWhy)}}
	})
}

// maxWhy is how many columns a list has for what a person has to look at.
const maxWhy = 100

// showHeld shows what a person needs to decide.
func showHeld(ctx context.Context, a *app, s *session, h held) error {
	repo, err := git.OpenRepo(ctx, s.project.Root)
	if err != nil {
		return err
	}
	if there, err := merge.Existing(ctx, repo, []string{h.Work}); err != nil || len(there) == 0 {
		return errors.Join(err, workGone(h.Task, h.Work))
	}
	patch, err := patchOf(ctx, repo, h.Base, h.Work, "--stat", "-p")
	if err != nil {
		return err
	}
	p := a.palette()
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", p.Cyan(h.Task), p.Bold(term.Line(h.Title)))
	b.WriteString(a.fieldLines("target", render.Branch(h.Target), "commit", h.Work, "attempt", h.Attempt, "agent", h.attempt.Agent, "refs", h.RefsText()))
	for _, gate := range h.attempt.Gates {
		b.WriteString(a.fieldLines("gate", string(gate.Verdict)+": "+gate.Command))
	}
	b.WriteString(a.fieldLines("verdict", h.attempt.Verdict, "doubt", h.why()))
	fmt.Fprintf(&b, "\n%s\n%s", strings.TrimSuffix(patch, "\n"), witnessText(a, s, h))
	a.note("accept it with: ralph task accept %s; or: ralph task reject %s -m WHY", h.Task, h.Task)
	return written(fmt.Fprint(a.stdout, a.redact.Text(b.String())))
}

// workGone says that a repository does not have work that waits to land.
func workGone(task, commit string) error {
	return hint(fmt.Errorf("%w: the work of %s is gone: this repository does not have commit %.10s", dag.ErrRefused, task, commit), "do it again: ralph task reset %s", task)
}

// maxDiff is how much of a patch is shown. Who wants more has git.
const maxDiff = 256 << 10

// patchOf is the patch between two commits, its statistics, or both, fit for a terminal, and bounded.
func patchOf(ctx context.Context, repo *git.Repo, base, work string, what ...string) (string, error) {
	args := append([]string{"diff-tree", "-r", "--no-color", "--no-ext-diff", "--no-textconv"}, what...)
	text, cut, err := repo.Head(ctx, maxDiff, append(args, base, work)...)
	text = term.Block(text)
	if cut {
		text += fmt.Sprintf("... only the first %s; all of it: %s diff %.10s %.10s\n", human.Bytes(maxDiff), git.Typed(repo.Dir()), base, work)
	}
	return text, err
}

var mergeCommand = command{
	name: "merge", args: "[TASK]", short: "land work that is finished or accepted; no agent works on it",
	long: `Work that ralph task accept let land is rebuilt on the target as it is now, tested by its gates again, and landed.
So is work that a run left finished when it died, after the verifier has looked at it; with --review, or merge.review,
it waits for you. The next run gives what no longer passes, or conflicts, to an agent.`,
	flags: mergeFlags(), example: "ralph task accept 1f0c\nralph merge --push\nralph merge 1f0c",
	exits: "1 a task failed, 2 some of it could not land, 3 not found, 4 a limit or stopped, 6 what landed was not pushed,\n" + interrupted,
	run:   action(runMerge),
}

// mergeFlags are those of a run that make sense where no agent works.
func mergeFlags() []flagSpec {
	kept := []string{"feature", "task", "jobs", "target", "in-place", "review", "push", "sandbox", "events", "log-file", "log-format", "json"}
	return slices.DeleteFunc(slices.Clone(runCommand.flags), func(f flagSpec) bool { return !slices.Contains(kept, f.name) })
}

func runMerge(ctx context.Context, a *app, o runOptions) error {
	o.finished = true
	return runRun(ctx, a, o)
}
