package main

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/inbox"
	"ralph/internal/provenance"
)

func sampleRequest(now time.Time) inbox.Request {
	return inbox.Request{
		ID: "q-3f2a1bc0", Kind: inbox.Question, Task: "t-00000002", Attempt: "a-00000001", Run: "r-00000001", Sender: "t-00000002",
		Text: "Which colour?", Options: []string{"red", "blue"}, Default: "red", Parks: true, At: now, ExpiresAt: now.Add(72 * time.Hour),
		State: inbox.Answered, Answer: "blue", AnsweredAt: now.Add(time.Hour), AnsweredBy: "ann", AnsweredVia: "command line",
	}
}

func sampleAudit(now time.Time) dag.AuditEntry {
	return dag.AuditEntry{
		At: now, Actor: dag.Actor{Who: "ann", Via: "command line", Action: "inbox answer"}, Task: "t-00000002", Request: "q-3f2a1bc0", Text: "blue",
	}
}

// scriptAsks lets a task ask, as if an agent had worked on it, and puts the request's ID into a variable:
// asks VARIABLE TASK TEXT [OPTION...]. An option --credential=NAME makes it a request for one.
func scriptAsks(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: asks VARIABLE TASK TEXT [OPTION...]")
	}
	r := inbox.Request{Kind: inbox.Question, Text: args[2], Options: args[3:], Parks: true}
	if name, is := strings.CutPrefix(args[len(args)-1], "--credential="); is {
		r = inbox.NewCredential(name, args[2])
	}
	r.Task = args[1]
	list, err := askAll(ts.MkAbs("."), r)
	ts.Check(err)
	ts.Setenv(args[0], list[0].ID)
}

// askAll asks what agents of runs that are over have asked, each about its task, which is claimed for it.
func askAll(dir string, list ...inbox.Request) (asked []inbox.Request, err error) {
	ctx := context.Background()
	d, err := db.Open(ctx, filepath.Join(dir, ".ralph", "progress.db"), db.Options{})
	if err != nil {
		return nil, err
	}
	err = dag.New(d, dag.Options{}).Update(ctx, func(g *dag.Graph) error {
		for _, r := range list {
			run, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
			if err != nil {
				return err
			}
			c, ok, err := g.Queue.Claim(dag.ClaimOptions{Run: run, Scope: dag.Scope{Task: r.Task}, Lease: time.Minute})
			if err != nil || !ok {
				return errors.Join(err, errors.New(r.Task+" cannot be claimed"))
			}
			r.Run = run.ID
			q, err := inbox.Ask(g, provenance.Store{}, c, r)
			if err := errors.Join(err, g.Queue.Release(c, dag.Release{Uncounted: true}), g.History.EndRun(run.ID, "blocked", "", 1)); err != nil {
				return err
			}
			asked = append(asked, q)
		}
		return nil
	})
	return asked, errors.Join(err, d.Close())
}
