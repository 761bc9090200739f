// Package report says afterwards what a run did: what became of each task, what
// each attempt took, what failed and why, and what to type next. It reads what the
// graph, the journal and the run's folder hold, and never changes any of it.
package report

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/render"
)

// Run is one run, as it stood at its end, or stands while it runs.
type Run struct {
	ID         string
	Scope      string // in words
	Target     string // what `ralph run` was asked to run: "", a feature or a task
	StartedAt  time.Time
	EndedAt    time.Time // zero unless it ended
	Duration   time.Duration
	Outcome    event.RunOutcome
	Reason     string
	Iterations int          // its own
	Together   *Together    // with the runs that it continues; nil if there are none
	Setup      *event.Setup // nil when the run's folder is gone

	Counts   event.Counts
	Tasks    []Task    // in scope, or worked on; in the order they were created
	Attempts []Attempt // in the order they began
	Usage    Usage
	Models   []Spending // by model, the dearest first
	Verified int        // tasks that this run got done and that passed their gates or the verifier

	Work *event.Work // where it ended up; nil if agents worked in the project's own folder

	Forecast *Accuracy // of when it would end, made when it began; nil if there was none

	Criteria []Criteria // of the features in scope, as they stand now
	Failures []Failure
	Waits    []Wait
	Asks     int // tasks that wait for an answer now
	Next     []render.Step
	Warnings []string // for a person to look at
	Pruned   bool     // its own files were removed, as a person wanted
	Unread   string   // why the run's own files could not be read; "" if they could

	Folder string // of the run's files
	Root   string // of the project
	Zone   *time.Location

	index map[string]int // of Tasks, by ID
}

// Together is what a run came to with those that it continues.
type Together struct {
	Continues  string // the run before it
	Iterations int
	Duration   time.Duration
	Usage      Usage
}

func (t *Together) words() string {
	if t == nil {
		return ""
	}
	text := t.Continues + "; together " + human.Count(t.Iterations, "iteration") + " in " + human.Span(t.Duration)
	return text + ", cost " + t.Usage.CostWords()
}

// Task is what became of one task.
type Task struct {
	ID       string
	Title    string
	Feature  string
	Parent   string
	Group    bool
	Status   dag.Status // at the end of the run; deleted if it is gone
	Now      dag.Status // as it is now
	After    []string
	Attempts []int // in Run.Attempts
	Verified bool  // this run got it done, and it was checked

	live  *state // how it stands in the graph of a project; nil in reports
	facts string // what its box says, and where it leads, instead of what a report has
	href  string
}

// Ran says whether the run worked on it.
func (t Task) Ran() bool { return len(t.Attempts) > 0 }

// Attempt is one agent's try at one task: its receipt, and what the files of the run add to it.
type Attempt struct {
	dag.Receipt
	Nth      int // try of this run at the task, from 1
	Duration time.Duration
	Status   dag.Status // of the task, right after it
	Gates    []event.Gate
	Notes    string // what the agent wanted remembered
	Usage    Usage
	Evidence []Evidence
}

// excused counts the gates that failed before the work of tasks that are done, too.
func (r Run) excused() (n int) {
	for _, t := range r.Tasks {
		if t.Status != dag.Done || !t.Ran() {
			continue
		}
		for _, g := range r.Attempts[t.Attempts[len(t.Attempts)-1]].Gates {
			if g.Verdict == event.GateExcused {
				n++
			}
		}
	}
	return n
}

// Ended says whether it is over.
func (a Attempt) Ended() bool { return a.Outcome != "" }

// Evidence is a file that shows what happened.
type Evidence struct {
	Name string `json:"name"`
	Path string `json:"path"`
	Size int64  `json:"size"`
}

// Failure is a task that failed, and what may be done about it.
type Failure struct {
	Task     string
	Title    string
	Gate     *event.Gate // that did not pass, if that is why
	Reason   string      // one line
	Rejected event.Rejection
	Detail   string // the rest of it, such as the end of what the gate printed
	Attempts int
	Attempt  string     // the last one in this run; "" if another run or a person failed it
	Holds    int        // how many tasks wait for it
	Now      dag.Status // its status now
	Next     []render.Step
}

// Wait is a task that could not run, and what it waits for.
type Wait struct {
	Task  string   `json:"task"`
	Title string   `json:"title"`
	For   []string `json:"for"` // tasks
	Why   string   `json:"why"` // in words
}

// Task returns the task with that ID, or one that says no more than the ID.
func (r Run) Task(id string) Task {
	if i, ok := r.index[id]; ok {
		return r.Tasks[i]
	}
	return Task{ID: id, Title: id}
}

// ran lists the tasks that the run worked on.
func (r Run) ran() []Task {
	return slices.DeleteFunc(slices.Clone(r.Tasks), func(t Task) bool { return !t.Ran() })
}

// children lists the tasks of each group.
func (r Run) children() map[string][]string {
	by := map[string][]string{}
	for _, t := range r.Tasks {
		if t.Parent != "" {
			by[t.Parent] = append(by[t.Parent], t.ID)
		}
	}
	return by
}

// Over says whether the run has come to its end.
func (r Run) Over() bool { return r.Outcome != event.OutcomeRunning }

// Green says whether everything that was to be done is done.
func (r Run) Green() bool {
	return r.Outcome == event.OutcomeComplete && r.Counts.Failed == 0
}

// Format is a form of the report.
type Format string

// Formats lists them.
func Formats() []Format { return []Format{"text", "markdown", "html", "json", "junit"} }

// ParseFormat reads the name of a format; md is markdown.
func ParseFormat(name string) (Format, error) {
	if name == "md" {
		name = "markdown"
	}
	if !slices.Contains(Formats(), Format(name)) {
		return "", fmt.Errorf("text, markdown, html, json or junit, not %q", name)
	}
	return Format(name), nil
}

// FormatOf is the format that the name of a file says, or text.
func FormatOf(path string) Format {
	by := map[string]Format{".html": "html", ".htm": "html", ".md": "markdown", ".markdown": "markdown", ".json": "json", ".xml": "junit"}
	return cmp.Or(by[strings.ToLower(filepath.Ext(path))], "text")
}

// Write writes the report in a format; the options are those of text and of HTML.
func Write(w io.Writer, r Run, format Format, text TextOptions, page HTMLOptions) error {
	switch format {
	case "markdown":
		return Markdown(w, r)
	case "html":
		return HTML(w, r, page)
	case "json":
		return jsonval.Print(w, r)
	case "junit":
		return JUnit(w, r)
	default:
		return Text(w, r, text)
	}
}
