// Package transcript reads what was said in a run from the files that the run
// wrote: prompts, what agents said, what their tools did, what gates reported. It
// reads runs that are over and runs that still run, and never writes to their files.
package transcript

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/internal/event"
	"ralph/internal/seq"
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

	GoesOn bool `json:"-"` // the text is part of a line, and the rest comes with the next one of its kind
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

// Reader reads one run and emits each thing once.
type Reader struct {
	Folder string                    // of the run
	Task   string                    // only attempts at this task; "" for all
	Brief  func(attempt string) bool // only that it was and how it ended; nil for none
	Emit   func(Line)

	events tail
	open   []*reading
	over   bool
}

// Missing says that the run has no file of events.
func (r *Reader) Missing() bool { return r.events.missing }

// Poll emits what is new, and says whether the run is over.
func (r *Reader) Poll() (over bool, err error) {
	r.events.path = filepath.Join(r.Folder, "events.jsonl")
	var failed error
	err = r.events.events(func(e event.Event) {
		if failed == nil {
			failed = r.event(e)
		}
	})
	err = cmp.Or(err, failed)
	for _, a := range r.open {
		if err == nil {
			err = a.drain()
		}
	}
	return r.over, err
}

// polling is how often the files of a run are looked at: a person sees no difference,
// and the run feels none.
const polling = 250 * time.Millisecond

// Follow polls until the run is over, stop returns true or the run died: a run that died
// reports nothing, so died is called now and then.
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
		over, err = r.Poll()
		if gone && !over {
			return true, err
		}
	}
	return false, err
}

func (r *Reader) event(e event.Event) (err error) {
	if r.Task != "" && e.Task != r.Task && e.Type != event.RunEnded {
		return nil
	}
	l := Line{
		At: e.At, Run: e.Run, Task: e.Task, Attempt: e.Attempt, Title: e.Title, Iteration: e.Iteration, Agent: e.Agent, Model: e.Model, Text: e.Reason,
	}
	brief := r.Brief != nil && r.Brief(e.Attempt)
	switch e.Type {
	case event.RunStarted:
		l.Kind = Began
		if e.Setup != nil {
			l.Agent, l.Model, l.Text = e.Setup.Agent, e.Setup.Model, e.Setup.Scope
		}
	case event.TaskClaimed:
		l.Kind, l.Text = Claimed, ""
		if !brief {
			r.open = append(r.open, r.begin(e))
		}
	case event.GateEnded:
		l.Kind, l.Gate, l.Duration, l.Output = Gate, e.Gate, e.Duration, e.Text
		err = r.reading(e.Attempt).drain()
	case event.VerifierEnded:
		l.Kind, l.Outcome = Verdict, e.Outcome
		err = r.reading(e.Attempt).drain()
	case event.AttemptEnded:
		l.Kind, l.Outcome, l.Status, l.Duration, l.Usage = Ended, e.Outcome, e.Status, e.Duration, e.Usage
		err = r.finish(e.Attempt)
	case event.Waiting:
		l.Kind = Waits
		if e.Until != nil {
			l.Text = strings.TrimSpace("until " + e.Until.Format(time.RFC3339) + " " + e.Reason)
		}
	case event.Warned, event.Recovered, event.RunInterrupted:
		l.Kind, l.Text = Warning, strings.TrimSpace(e.Text+" "+e.Reason)
	case event.RunEnded:
		r.over = true
		l.Kind, l.Outcome, l.Duration, l.Usage = Over, e.Outcome, e.Duration, e.Usage
	default:
		return nil
	}
	if err != nil || brief && (l.Kind == Gate || l.Kind == Verdict) || l.Kind == Over && r.Task != "" {
		return err
	}
	r.Emit(l)
	return nil
}

func (r *Reader) begin(e event.Event) *reading {
	emit := func(l Line) {
		l.Run, l.Task, l.Attempt = e.Run, e.Task, e.Attempt
		r.Emit(l)
	}
	return &reading{attempt: e.Attempt, longest: longLine, tail: tail{path: filepath.Join(r.Folder, filepath.Base(e.Attempt), "transcript.jsonl")}, emit: emit}
}

// reading is nil for an attempt that is not being read.
func (r *Reader) reading(attempt string) *reading {
	if i := slices.IndexFunc(r.open, func(a *reading) bool { return a.attempt == attempt }); i >= 0 {
		return r.open[i]
	}
	return nil
}

// Context is how many tokens the last request of an attempt took that has not ended, as far as its agent says so.
func (r *Reader) Context(attempt string) int64 {
	if a := r.reading(attempt); a != nil {
		return a.decode.context
	}
	return 0
}

// finish emits the rest of an attempt.
func (r *Reader) finish(attempt string) error {
	a := r.reading(attempt)
	if a == nil {
		return nil
	}
	err := a.drain()
	a.join.flush(a.emit)
	r.open = slices.DeleteFunc(r.open, func(other *reading) bool { return other == a })
	return err
}

// reading is an attempt that is being read.
type reading struct {
	attempt string
	tail    tail
	decode  decoder
	join    joiner
	longest int // of a line of speech before it is emitted in parts
	emit    func(Line)
}

// drain emits what the attempt said since the last time.
func (a *reading) drain() error {
	if a == nil {
		return nil
	}
	return a.tail.poll(func(text []byte) {
		l := a.decode.line(text)
		if j := &a.join; len(j.text) > a.longest && l.Kind == j.kind && l.Text != "" {
			a.emit(Line{At: j.at, Kind: j.kind, Text: string(j.text), GoesOn: true})
			j.text = j.text[:0]
		}
		if l.Kind != "" {
			a.join.add(l, a.emit)
		}
	})
}

// longLine is how much of a line without an end is kept before it is emitted.
const longLine = 64 << 10

// joiner puts pieces of speech together until a line is whole or something else
// comes.
type joiner struct {
	kind Kind
	at   time.Time
	text []byte
}

func (j *joiner) add(l Line, emit func(Line)) {
	if l.Kind != j.kind {
		j.flush(emit)
	}
	if l.Kind != Said && l.Kind != Thought {
		emit(l)
		return
	}
	if len(j.text) == 0 {
		j.kind, j.at = l.Kind, l.At
	}
	rest := l.Text
	if end := strings.LastIndexByte(l.Text, '\n'); end >= 0 {
		rest = l.Text[end+1:]
		emit(Line{At: j.at, Kind: j.kind, Text: string(j.text) + l.Text[:end+1]})
		j.text, j.at = j.text[:0], l.At
	}
	j.text = append(j.text, rest...)
}

func (j *joiner) flush(emit func(Line)) {
	if len(j.text) > 0 {
		emit(Line{At: j.at, Kind: j.kind, Text: string(j.text)})
	}
	j.kind, j.text = "", nil
}

// Close emits what is still held back of attempts that have not ended.
func (r *Reader) Close() error {
	return errors.Join(seq.Map(slices.Clone(r.open), func(a *reading) error { return r.finish(a.attempt) })...)
}
