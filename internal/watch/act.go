package watch

import (
	"context"
	"errors"
	"strings"

	"ralph/dag"
	"ralph/inbox"
	"ralph/internal/human"
	"ralph/internal/seq"
)

type verb int

// The verbs.
const (
	pauseOrResume verb = iota
	stopAfter
	stopNow
	hold  // one task, or let it go
	skip  // a task, or take that back
	retry // it as if it had never run
	guide // its next agent
	answer
)

type deed struct {
	verb verb
	task dag.Outline
	text string

	request string // that is answered
	reply   inbox.Reply
}

type did struct {
	text    string
	err     error
	request string // that was answered
}

func act(ctx context.Context, opts Options, d deed) did {
	if d.verb == answer {
		text, err := opts.Answer(ctx, d.request, d.reply)
		return did{text, err, d.request}
	}
	var said string
	err := opts.Change(ctx, func(g *dag.Graph) (err error) {
		said, err = d.do(g, opts)
		return err
	})
	return did{text: said, err: err}
}

func (d deed) do(g *dag.Graph, opts Options) (string, error) {
	id := d.task.ID
	switch d.verb {
	case pauseOrResume:
		return toggle(g)
	case stopAfter:
		return stop(g, opts, dag.StopAfterTask, "ends after its current task")
	case stopNow:
		return stop(g, opts, dag.StopNow, "ends now")
	}
	t, err := g.Task(id)
	if err != nil {
		return "", err
	}
	switch d.verb {
	case skip:
		return skipTask(g, t)
	case retry:
		return retryTask(g, t)
	case hold:
		if t.Paused {
			return id + " resumed", g.Resume(id)
		}
		return id + " paused, with all that lies below it", g.Pause(id)
	default: // guide
		return guideTask(g, t, strings.TrimSpace(d.text))
	}
}

func guideTask(g *dag.Graph, t dag.Task, text string) (string, error) {
	id := t.ID
	if why := unread(t.ID, t.Status, t.Children); why != "" {
		return "", errors.New(why)
	}
	said := "noted: the next attempt at " + id + " reads it"
	if t.Status == dag.Failed {
		said = "noted: the next attempt at " + id + " reads it; r retries it"
	}
	return said, g.Log(id, dag.LogUser, text)
}

// unread says why no agent would ever read what is said to a task, if that is so.
func unread(id string, status dag.Status, children int) string {
	switch {
	case children > 0:
		return id + " is a group, which no agent works on: guide a task in it"
	case status == dag.Done:
		return id + " is done: no agent would read it; r resets it"
	default:
		return ""
	}
}

// toggle goes by what is stored, not by what was on the screen.
func toggle(g *dag.Graph) (string, error) {
	paused, err := g.PauseAll()
	if err != nil || paused {
		return "paused: running tasks continue, no new one starts", err
	}
	_, err = g.ResumeAll()
	return "resumed", err
}

func stop(g *dag.Graph, opts Options, how dag.Stop, when string) (string, error) {
	runs, err := g.StopRuns(opts.Run, how, opts.Life)
	if len(runs) == 0 {
		return "nothing is running", err
	}
	return strings.Join(seq.Map(runs, func(r dag.Run) string { return r.ID }), ", ") + " " + when, err
}

func skipTask(g *dag.Graph, t dag.Task) (string, error) {
	id := t.ID
	switch t.Status {
	case dag.Blocked:
		return id + " unblocked", g.Unblock(id)
	case dag.InProgress: // it is taken away from its agent, which is ended by its run
		if err := g.Reset(id); err != nil {
			return "", err
		}
	}
	return id + " skipped: blocked until x or ralph task unblock", g.Block(id, "skipped in ralph watch")
}

func retryTask(g *dag.Graph, t dag.Task) (string, error) {
	if t.Children == 0 {
		return t.ID + " reset", g.Reset(t.ID)
	}
	reset, err := g.ResetFailed(t.ID)
	if len(reset) == 0 {
		return "nothing failed in " + t.ID, err
	}
	return human.Count(len(reset), "failed task") + " reset", err
}
