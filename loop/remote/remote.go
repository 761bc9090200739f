// Package remote has attempts of a run made on other machines: what both sides send each other, how code gets there and work comes back,
// and the Executor that makes an attempt. The run claims, briefs, lands and settles as always.
package remote

import (
	"context"
	"errors"
	"slices"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/merge"
	"ralph/loop/attempt"
)

// Workers are the machines that make the attempts of a run.
type Workers interface {
	// Begin names the run, and the attempts of an earlier process of it whose results it still waits for.
	Begin(run string, open []string) error
	// Attempt has a job done, and reports what it uses meanwhile. If ctx ends, the attempt has to end, too, and returns its result all
	// the same.
	Attempt(ctx context.Context, j Job, used func(event.Usage)) (Result, error)
	// Abandon ends an attempt whose result no one waits for any more.
	Abandon(attempt string)
	// Settled means that what an attempt came to is stored.
	Settled(attempt string)
	// Idle means that the run has no job at the moment.
	Idle()
	// Ended reports how the run ended.
	Ended(out event.Result)
}

// ErrAbandoned is the error of an attempt whose result no one waits for any more.
var ErrAbandoned = errors.New("interrupted")

// Job is what another machine needs to make an attempt. It survives json.Marshal.
type Job struct {
	attempt.Job
	Sources attempt.Sources // what the project's own files say: not all of them are in git
	Mail    []inbox.Request // messages that the agent has not received
	Target  string          // the branch, as prompts call it
	Onto    string          // a commit of the target that has all that the task builds on
	Start   string          // what the attempt begins with, if that is earlier work on Onto
}

// NewJob is a job without what only this machine has: its folders and trees, and sessions with its agents.
func NewJob(j attempt.Job) Job {
	j.Place, j.Session = attempt.Place{}, nil
	j.History.Attempts = slices.Clone(j.History.Attempts)
	for i := range j.History.Attempts {
		j.History.Attempts[i].Tree, j.History.Attempts[i].TreeAfter = "", ""
	}
	return Job{Job: j}
}

// Result is the attempt's result as a run makes it on its own machine, with what was recorded meanwhile and where the work is. It survives
// json.Marshal.
type Result struct {
	attempt.Result
	Records    []attempt.Record
	Base, Work string // the work, and what is below it; the same if nothing changed
	Log        string // the files of the attempt as a commit; "" if the remote does not have them
	Try        string // which of the tries at the attempt this is
}

// refs are where the remote has the work and the files of an attempt; "" for what it does not have.
func (r Result) refs(task, attempt string) (work, log string) {
	if r.Work != r.Base {
		work = merge.TryRef(task, attempt, r.Try)
	}
	if r.Log != "" {
		log = merge.LogRef(attempt, r.Try)
	}
	return work, log
}

// ID tells a result from those of other tries, and of the same work from other work.
func (r Result) ID() string { return r.Try + " " + r.Work }

// Progress is how far an attempt has come.
type Progress struct {
	Phase dag.Phase
	Usage event.Usage
	Text  string // what the agent said last
}
