// Package transcript tells what was said in a run, from the files that the run
// wrote: prompts, what agents said, what their tools did, what gates reported. It
// reads runs that are over and runs that go on, and never writes to their files.
package transcript

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/event"
)

// Kind says what a line is about.
type Kind string

// The kinds of lines.
const (
	Began    Kind = "began"   // the run
	Claimed  Kind = "claimed" // an attempt begins
	Prompt   Kind = "prompt"  // what we said to the agent
	Said     Kind = "said"    // what it said
	Thought  Kind = "thought" // what it thought
	ToolCall Kind = "tool"    // a tool call began, changed or ended
	Plan     Kind = "plan"    // what it means to do
	Asked    Kind = "asked"   // a permission, and our answer
	Wrote    Kind = "wrote"   // a file, through us
	Failed   Kind = "error"   // a request that was answered with an error
	Stopped  Kind = "stopped" // a turn that ended in another way than by itself
	Raw      Kind = "raw"     // output that was no message
	Gate     Kind = "gate"    // a command checked the work, or, with a text, what was there before it
	Verdict  Kind = "verdict" // the verifying agent
	Ended    Kind = "ended"   // an attempt
	Waits    Kind = "waiting" // nothing can be claimed until a time
	Warning  Kind = "warning" // a person should look
	Over     Kind = "over"    // the run
)

// Line is one thing that happened, as `ralph logs --json` prints it.
type Line struct {
	At        time.Time `json:"at"`
	Run       string    `json:"run"`
	Task      string    `json:"task,omitempty"`
	Attempt   string    `json:"attempt,omitempty"`
	Kind      Kind      `json:"kind"`
	Title     string    `json:"title,omitempty"`
	Iteration int       `json:"iteration,omitempty"`
	Agent     string    `json:"agent,omitempty"`
	Model     string    `json:"model,omitempty"`
	Text      string    `json:"text,omitempty"`
	Tool      *Tool     `json:"tool,omitempty"`

	Gate     *event.Gate      `json:"gate,omitempty"`
	Output   string           `json:"output,omitempty"` // the end of what a failed gate printed
	Outcome  string           `json:"outcome,omitempty"`
	Status   event.TaskStatus `json:"status,omitempty"`
	Duration int64            `json:"duration_ms,omitempty"`
	Usage    *event.Usage     `json:"usage,omitempty"`
}

// Tool is a call of a tool, or a change of one.
type Tool struct {
	ID     string   `json:"id"`
	Title  string   `json:"title,omitempty"`
	Kind   string   `json:"kind,omitempty"`
	Status string   `json:"status,omitempty"`
	New    bool     `json:"new,omitempty"`
	Input  string   `json:"input,omitempty"`
	Output string   `json:"output,omitempty"`
	Files  []string `json:"files,omitempty"`
}

// Reader tells one run, each thing once.
type Reader struct {
	Folder string                    // of the run
	Task   string                    // only attempts at this task; "" for all
	Brief  func(attempt string) bool // only that it was and how it ended; nil for none
	Tell   func(Line)

	events *tail
	open   map[string]*reading
	order  []string
	over   bool
}

// reading is an attempt that is being told.
type reading struct {
	tail   *tail
	decode *decoder
	join   joiner
	about  Line // the run, task and attempt
}

// Missing says that the run has no file of events.
func (r *Reader) Missing() bool { return r.events != nil && r.events.missing }

// Poll tells what is new, and says whether the run is over.
func (r *Reader) Poll() (over bool, err error) {
	if r.events == nil {
		r.events = &tail{path: filepath.Join(r.Folder, "events.jsonl")}
		r.open = map[string]*reading{}
	}
	var failed error
	err = r.events.events(func(e event.Event) {
		if failed == nil {
			failed = r.event(e)
		}
	})
	if err == nil {
		err = failed
	}
	for _, id := range r.order {
		if err == nil {
			err = r.drain(id)
		}
	}
	return r.over, err
}

// polling is how often the files of a run are looked at: a person sees no difference,
// and the run feels none.
const polling = 250 * time.Millisecond

// Follow tells a run until it is over, or until stop says so. A run that died says nothing
// any more: died is asked now and then, and ends it too.
func (r *Reader) Follow(ctx context.Context, stop, died func() bool) (unfinished bool, err error) {
	ticker := time.NewTicker(polling)
	defer ticker.Stop()
	over, err := r.Poll()
	for quiet := 0; err == nil && !over && !stop(); quiet++ {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		gone := quiet%8 == 7 && died()
		if over, err = r.Poll(); gone && !over {
			return true, err
		}
	}
	return false, err
}

func (r *Reader) event(e event.Event) error {
	about := Line{At: e.At, Run: e.Run, Task: e.Task, Attempt: e.Attempt, Title: e.Title, Iteration: e.Iteration, Agent: e.Agent, Model: e.Model}
	if r.Task != "" && e.Task != r.Task && e.Type != event.RunEnded {
		return nil
	}
	brief := r.Brief != nil && r.Brief(e.Attempt)
	switch e.Type {
	case event.RunStarted:
		if e.Setup != nil {
			about.Agent, about.Model, about.Text = e.Setup.Agent, e.Setup.Model, e.Setup.Scope
		}
		r.tell(about, Began)
	case event.TaskClaimed:
		r.tell(about, Claimed)
		if brief {
			return nil
		}
		r.open[e.Attempt] = &reading{
			tail: &tail{path: filepath.Join(r.Folder, filepath.Base(e.Attempt), "transcript.jsonl")}, decode: newDecoder(), about: about,
		}
		r.order = append(r.order, e.Attempt)
	case event.GateEnded:
		if err := r.drain(e.Attempt); err != nil {
			return err
		}
		about.Gate, about.Duration, about.Text, about.Output = e.Gate, e.Duration, e.Reason, e.Text
		if !brief {
			r.tell(about, Gate)
		}
	case event.VerifierEnded:
		if err := r.drain(e.Attempt); err != nil {
			return err
		}
		about.Outcome, about.Text = e.Outcome, e.Reason
		if !brief {
			r.tell(about, Verdict)
		}
	case event.AttemptEnded:
		if err := r.finish(e.Attempt); err != nil {
			return err
		}
		about.Outcome, about.Status, about.Text, about.Duration, about.Usage = e.Outcome, e.Status, e.Reason, e.Duration, e.Usage
		r.tell(about, Ended)
	case event.Waiting:
		about.Text = e.Reason
		if e.Until != nil {
			about.Text = strings.TrimSpace("until " + e.Until.Format(time.RFC3339) + " " + e.Reason)
		}
		r.tell(about, Waits)
	case event.Warned, event.Recovered, event.RunInterrupted:
		about.Text = strings.TrimSpace(e.Text + " " + e.Reason)
		r.tell(about, Warning)
	case event.RunEnded:
		r.over = true
		if r.Task != "" {
			return nil
		}
		about.Outcome, about.Text, about.Duration, about.Usage = e.Outcome, e.Reason, e.Duration, e.Usage
		r.tell(about, Over)
	}
	return nil
}

func (r *Reader) tell(l Line, kind Kind) {
	l.Kind = kind
	r.Tell(l)
}

// drain tells what an attempt said since the last time.
func (r *Reader) drain(attempt string) error {
	a := r.open[attempt]
	if a == nil {
		return nil
	}
	return a.tail.poll(func(line []byte) {
		for _, e := range a.decode.line(line) {
			a.join.add(e, func(e entry) { r.Tell(a.line(e)) })
		}
	})
}

// finish tells the rest of an attempt.
func (r *Reader) finish(attempt string) error {
	a := r.open[attempt]
	if a == nil {
		return nil
	}
	err := r.drain(attempt)
	a.join.flush(func(e entry) { r.Tell(a.line(e)) })
	delete(r.open, attempt)
	r.order = slices.DeleteFunc(r.order, func(id string) bool { return id == attempt })
	return err
}

func (a *reading) line(e entry) Line {
	return Line{At: e.at, Run: a.about.Run, Task: a.about.Task, Attempt: a.about.Attempt, Kind: e.kind, Text: e.text, Tool: e.tool}
}

// joiner puts pieces of speech together until a line is whole or something else
// comes.
type joiner struct {
	kind Kind
	at   time.Time
	text []byte
}

func (j *joiner) add(e entry, tell func(entry)) {
	if e.kind != j.kind {
		j.flush(tell)
	}
	if e.kind != Said && e.kind != Thought {
		tell(e)
		return
	}
	if len(j.text) == 0 {
		j.kind, j.at = e.kind, e.at
	}
	rest := e.text
	if end := strings.LastIndexByte(e.text, '\n'); end >= 0 {
		rest = e.text[end+1:]
		tell(entry{at: j.at, kind: j.kind, text: string(j.text) + e.text[:end+1]})
		j.text, j.at = j.text[:0], e.at
	}
	j.text = append(j.text, rest...)
}

func (j *joiner) flush(tell func(entry)) {
	if len(j.text) > 0 {
		tell(entry{at: j.at, kind: j.kind, text: string(j.text)})
	}
	j.kind, j.text = "", nil
}

// Close tells what is still held back of attempts that have not ended.
func (r *Reader) Close() error {
	var errs []error
	for _, id := range slices.Clone(r.order) {
		errs = append(errs, r.finish(id))
	}
	return errors.Join(errs...)
}
