package main

import (
	"context"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/jsonval"
	"ralph/internal/render"
	"ralph/internal/term"
)

var reviewCommand = command{
	name: "review", args: "[TASK]", short: "show work that waits for a person before it lands",
	long: `Without TASK, lists what waits. With it, shows the patch, and what gates and verifier said.
ralph task accept lets it land, and ralph task reject sends it back to an agent.`,
	flags: []flagSpec{jsonFlag}, example: "ralph run --jobs 4 --review\nralph review\nralph review 1f0c", exits: "1 nothing of TASK waits, 3 not found",
	run: inProject(runReview),
}

// held is work that waits for review, and the attempt that did it.
type held struct {
	dag.Merge
	attempt dag.Attempt
}

func (h held) Object() jsonval.Object {
	gates := make([]jsonval.Object, len(h.attempt.Gates))
	for i, gate := range h.attempt.Gates {
		gates[i] = jsonval.Object{"command", gate.Command, "passed", gate.Passed}
	}
	return jsonval.Object{
		"task", h.Task, "title", h.Title, "attempt", h.Attempt, "target", h.Target, "base", h.Base, "commit", h.Work, "at", h.At,
		"gates", gates, "verdict", null(h.attempt.Verdict),
	}
}

func runReview(ctx context.Context, a *app, s *session, o plainOptions) error {
	var list []held
	err := s.store.View(ctx, func(g *dag.Graph) error {
		waiting, err := g.ToReview()
		if err != nil {
			return err
		}
		only := ""
		if len(o.Args) > 0 {
			t, err := resolveTask(g, o.Args[0])
			if err != nil {
				return err
			}
			only = t.ID
		}
		for _, m := range waiting {
			if only == "" || m.Task == only {
				attempt, err := g.Attempt(m.Attempt)
				if err != nil {
					return err
				}
				list = append(list, held{m, attempt})
			}
		}
		if only != "" && len(list) == 0 {
			return hint(fmt.Errorf("%w: no work of %s waits for review", dag.ErrRefused, only), "see what does with: ralph review")
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case o.JSON:
		objects := make([]jsonval.Object, len(list))
		for i, h := range list {
			objects[i] = h.Object()
		}
		return a.printJSON(objects)
	case len(o.Args) > 0:
		return showHeld(ctx, a, s, list[0])
	case len(list) == 0:
		a.note("nothing waits for review")
		return nil
	}
	var b strings.Builder
	for _, h := range list {
		fmt.Fprintf(&b, "%s  %s  %s\n", a.palette().Cyan(h.Task), render.Branch(h.Target), term.Line(h.Title))
	}
	a.note("see one with: ralph review ID; then: ralph task accept ID, or: ralph task reject ID -m WHY")
	return written(fmt.Fprint(a.stdout, a.redact.Text(b.String())))
}

// showHeld shows what a person needs to decide.
func showHeld(ctx context.Context, a *app, s *session, h held) error {
	repo, err := git.OpenRepo(ctx, s.project.Root)
	if err != nil {
		return err
	}
	patch, err := repo.Git(ctx, git.Call{}, "diff-tree", "-p", "--stat", "--no-color", "--no-ext-diff", "--no-textconv", h.Base, h.Work)
	if err != nil {
		return err
	}
	p := a.palette()
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", p.Cyan(h.Task), p.Bold(term.Line(h.Title)))
	b.WriteString(a.fieldLines("target", render.Branch(h.Target), "commit", h.Work, "attempt", h.Attempt, "agent", h.attempt.Agent))
	for _, gate := range h.attempt.Gates {
		b.WriteString(a.fieldLines("gate", string(gate.Verdict)+": "+gate.Command))
	}
	b.WriteString(a.fieldLines("verdict", h.attempt.Verdict))
	fmt.Fprintf(&b, "\n%s\n", strings.TrimSuffix(term.Block(patch), "\n"))
	a.note("accept it with: ralph task accept %s; or: ralph task reject %s -m WHY", h.Task, h.Task)
	return written(fmt.Fprint(a.stdout, a.redact.Text(b.String())))
}

var mergeCommand = command{
	name: "merge", short: "land work that is finished or accepted, and start no agent",
	long: `Work that ralph task accept let land is rebuilt on the target as it is now, tested by its gates again, and landed,
as is work that a run left finished when it died. What no longer passes, or conflicts, goes back to an agent.`,
	flags: mergeFlags(), example: "ralph task accept 1f0c\nralph merge --push",
	exits: "1 tasks failed, 2 some of it could not land, 4 a limit or stopped, 6 what landed was not pushed,\n" + interrupted,
	run:   action(runMerge),
}

// mergeFlags are those of a run that make sense where no agent works.
func mergeFlags() []flagSpec {
	var flags []flagSpec
	for _, f := range runCommand.flags {
		switch f.name {
		case "feature", "task", "jobs", "target", "push", "sandbox", "events", "log-file", "log-format", "json":
			flags = append(flags, f)
		}
	}
	return flags
}

func runMerge(ctx context.Context, a *app, o runOptions) error {
	o.finished = true
	if o.Target == nil {
		target, err := acceptedFor(ctx, a)
		if err != nil {
			return err
		}
		o.Target = target
	}
	return runRun(ctx, a, o)
}

// acceptedFor is the branch that accepted work was tested on; nil if there is none, which leaves the one that is checked out.
func acceptedFor(ctx context.Context, a *app) (target *string, err error) {
	s, err := a.open(ctx)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	err = s.store.View(ctx, func(g *dag.Graph) error {
		list, err := g.MergesIn(dag.MergeHeld)
		for _, m := range list {
			switch {
			case !m.Accepted:
			case target == nil:
				target = &m.Target
			case *target != m.Target:
				return hint(usagef("accepted work is for several branches, such as %s and %s", render.Branch(*target), render.Branch(m.Target)), "name one: --target BRANCH")
			}
		}
		return err
	})
	return target, err
}
