package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/event"
	"ralph/internal/db"
	"ralph/internal/term"
	"ralph/knowledge"
	"ralph/loop"
	"ralph/loop/recovery"
)

func (a *app) recoverCommand() command {
	return command{
		name: "recover", short: "recover tasks from crashed runs; every run begins with it",
		long: `What still runs of a dead run is ended first. Then its tasks are released, or resumed at
verification if their work was finished, without being charged; every "ralph run" begins the same
way. Doing it twice is the same as doing it once.`,
		flags: []cli.Flag{
			&cli.BoolFlag{DisableDefaultText: true, Name: "dry-run", Usage: "say what would be done, and do nothing"},
			jsonFlag(),
		},
		example: "ralph recover --dry-run\nralph recover", exits: "1 something of a dead run would not end",
		run: a.runRecover,
	}
}

type recoveryJSON struct {
	DryRun bool     `json:"dry_run"`
	Runs   []string `json:"runs"`
	event.RecoveryCounts
	Tasks []reclaimedJSON `json:"tasks"`
}

type reclaimedJSON struct {
	ID      string  `json:"id"`
	Title   string  `json:"title"`
	Run     string  `json:"run"`
	Attempt *string `json:"attempt"`
	Phase   *string `json:"phase"`
	Action  string  `json:"action"`
	Reason  string  `json:"reason"`
}

func (a *app) runRecover(c *cli.Context) error {
	if err := noArgs(c); err != nil {
		return err
	}
	s, err := a.openFor(c.Context, db.Options{Walk: true})
	if err != nil {
		return err
	}
	defer s.Close()
	r := a.recoverer(c, s)
	do := r.Recover
	if c.Bool("dry-run") {
		do = r.Preview
	}
	rec, err := do(c.Context)
	if err == nil && !c.Bool("dry-run") {
		err = loop.WriteKnowledge(c.Context, s.store, knowledge.Open(s.project.Root))
	}
	if err != nil {
		return fmt.Errorf("recover: %w", err)
	}
	if c.Bool("json") {
		return a.printJSON(recoveryAsJSON(rec, c.Bool("dry-run")))
	}
	p := a.palette()
	var b strings.Builder
	for _, t := range rec.Tasks {
		fmt.Fprintf(&b, "%s  %s\n    %s\n", p.Cyan(t.Task), term.Line(t.Title), term.Line(t.Reason))
	}
	if c.Bool("dry-run") {
		fmt.Fprint(&b, "nothing was done; a run would say: ")
	}
	fmt.Fprintln(&b, rec.Summary())
	_, err = fmt.Fprint(a.stdout, b.String())
	return err
}

func (a *app) recoverer(c *cli.Context, s *session) recovery.Recoverer {
	rules := recoveryRules(s)
	return recovery.Recoverer{
		Store: s.store, Life: life, Sweep: sweep(s.project), Count: count(s.project), Rules: rules, Now: a.now,
		Dirty: recovery.WorkingTree{
			Dir: s.project.Root, Objects: s.project.Objects(), OwnFiles: loop.OwnFiles(c.Context, s.store, a.ownFiles(s, runOutput{})), OnDirty: rules.OnDirty,
		},
	}
}

func recoveryRules(s *session) recovery.Rules {
	r := s.config.Recovery
	return recovery.Rules{
		MaxAge: r.MaxAge.Std(), MaxInterruptions: r.MaxInterruptions, MaxAttempts: s.config.Run.MaxAttempts, OnDirty: recovery.OnDirty(r.OnDirty),
	}
}

func recoveryAsJSON(rec recovery.Recovery, dry bool) recoveryJSON {
	j := recoveryJSON{DryRun: dry, Runs: orEmpty(rec.Runs), RecoveryCounts: rec.Summary().RecoveryCounts, Tasks: []reclaimedJSON{}}
	for _, t := range rec.Tasks {
		j.Tasks = append(j.Tasks, reclaimedJSON{
			ID: t.Task, Title: t.Title, Run: t.Run, Attempt: orNil(t.Attempt), Phase: orNil(string(t.Phase)),
			Action: string(t.Action), Reason: t.Reason,
		})
	}
	return j
}
