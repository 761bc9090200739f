package report

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/render"
	"ralph/internal/render/transcript"
)

// events is what a run's own file adds to what the database holds.
type events struct {
	setup    *event.Setup
	counts   *event.Counts // at the end
	attempts map[string]attemptEvents
	warnings []string
	err      string // why it could not be read
}

type attemptEvents struct {
	title  string
	status dag.Status
	gates  []event.Gate
}

const maxWarnings = 50

// readEvents reads what the database does not hold.
func readEvents(path string) events {
	log := events{attempts: map[string]attemptEvents{}}
	if err := transcript.ReadEvents(path, log.add); err != nil {
		log.err = reason(err)
	}
	return log
}

func (t *events) add(e event.Event) {
	a := t.attempts[e.Attempt]
	switch e.Type {
	case event.RunStarted:
		if e.Setup != nil {
			t.setup = e.Setup
		}
	case event.TaskClaimed:
		a.title = e.Title
		t.attempts[e.Attempt] = a
	case event.GateEnded:
		if e.Gate != nil && e.Reason == "" { // one with a reason was run before the work
			a.gates = append(a.gates, *e.Gate)
			t.attempts[e.Attempt] = a
		}
	case event.AttemptEnded:
		a.title, a.status = e.Title, e.Status
		t.attempts[e.Attempt] = a
	case event.Warned:
		t.warn(e.Text)
	case event.Anomaly:
		t.warn(e.Task + ": unusual: " + e.Reason)
	case event.Drifted:
		t.warn(e.Task + " makes no progress: " + e.Reason)
	case event.RunEnded:
		t.counts = e.Counts
	}
}

func (t *events) warn(text string) {
	if len(t.warnings) < maxWarnings {
		t.warnings = append(t.warnings, render.Line(text))
	}
}

func reason(err error) string {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return err.Error()
}

// evidence lists the files of an attempt that hold something, the most telling first.
func evidence(folder string) []Evidence {
	var list []Evidence
	for _, name := range []string{
		"verify.log", "answer.md",
		"verify-1/transcript.jsonl", "verify-2/transcript.jsonl", "verify-3/transcript.jsonl", "verify-4/transcript.jsonl",
		"prompt.md", "transcript.jsonl", "agent.err",
	} {
		info, err := os.Lstat(filepath.Join(folder, name))
		if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			list = append(list, Evidence{Name: name, Path: filepath.Join(folder, name), Size: info.Size()})
		}
	}
	return list
}

// gatesOf reads the gates that are stored with an attempt. What cannot be read is
// left out: a receipt with a hole is better than none.
func gatesOf(text string) (gates []event.Gate) {
	_ = json.Unmarshal([]byte(text), &gates)
	return slices.DeleteFunc(gates, func(g event.Gate) bool { return g.Command == "" })
}

// refused is the gate that did not let the work pass, or nil.
func refused(gates []event.Gate) *event.Gate {
	for i := range gates {
		if !gates[i].Accepted() {
			return &gates[i]
		}
	}
	return nil
}

// gateInReason finds the gate that a reason names, for attempts whose gates are not
// on record: gate "go test": exit status 1.
func gateInReason(reason string) *event.Gate {
	_, after, found := strings.Cut(reason, `gate "`)
	if !found {
		return nil
	}
	line, _, _ := strings.Cut(after, "\n")
	quoted, exit, found := strings.Cut(line, `": `)
	if !found {
		return nil
	}
	var command string
	if json.Unmarshal([]byte(`"`+quoted+`"`), &command) != nil {
		command = quoted
	}
	return &event.Gate{Command: command, Exit: exit}
}
