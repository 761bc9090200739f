package fakeagent

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Entry is one line of the ledger.
type Entry struct {
	Event   string            `json:"event"` // started, prompted, finished, overlap, process, result, mark
	Pid     int               `json:"pid"`
	Process string            `json:"process"` // its own name: in a PID namespace the next one has the same number
	Session string            `json:"session,omitempty"`
	Task    string            `json:"task,omitempty"`
	Attempt int               `json:"attempt,omitempty"`
	Prompt  int               `json:"prompt,omitempty"`
	Verify  bool              `json:"verify,omitempty"`
	Name    string            `json:"name,omitempty"` // of a process, a step's result or a mark
	Text    string            `json:"text,omitempty"`
	Env     map[string]string `json:"env,omitempty"` // RALPH_* as the agent was given them
}

// ReadLedger returns every entry so far, in order; none if there is no ledger yet. Half an entry does not count: a
// write that crosses a page may be under way, or its process was killed in the middle of it.
func ReadLedger(dir string) (out []Entry, err error) {
	data, err := os.ReadFile(filepath.Join(dir, "ledger.jsonl"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range bytes.SplitSeq(data, []byte("\n")) {
		if !json.Valid(line) {
			continue
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return out, err
		}
		out = append(out, e)
	}
	return out, nil
}

var self = rand.Text()

// ledger appends entries; each is one write, so that processes may share it, and begins a line of its own, because the
// process before may have been killed within its write.
type ledger struct{ dir string }

func (l ledger) add(e Entry) {
	if l.dir == "" {
		return
	}
	e.Pid, e.Process = os.Getpid(), self
	raw, err := json.Marshal(e)
	must(err)
	f, err := os.OpenFile(filepath.Join(l.dir, "ledger.jsonl"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(err)
	_, err = fmt.Fprintf(f, "\n%s\n", raw)
	must(errors.Join(err, f.Close()))
}

// Changes is a file in the ledger with which every attempt at a task changes a file, whatever the script says: without
// a change nothing is done.
const Changes = ".changes"

func (l ledger) changes() bool {
	_, err := os.Stat(filepath.Join(l.dir, Changes))
	return l.dir != "" && err == nil
}

// attempt is how many sessions were given the task so far, ours included. It is
// asked after our own entry was added.
func (l ledger) attempt(task string, verify bool, session string) int {
	entries, _ := ReadLedger(l.dir)
	n := 0
	for _, e := range entries {
		if e.Event == "prompted" && e.Task == task && e.Verify == verify && e.Prompt == 1 {
			n++
			if e.Session == session && e.Process == self { // another process may have had it before
				return n
			}
		}
	}
	return max(n, 1)
}

// processes counts the names that forked processes have entered so far.
func (l ledger) processes(parent string) int {
	entries, _ := ReadLedger(l.dir)
	n := 0
	for _, e := range entries {
		if e.Event == "process" && e.Text == parent {
			n++
		}
	}
	return n
}

func ralphEnv() map[string]string {
	out := make(map[string]string)
	for _, entry := range os.Environ() {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, "RALPH_") {
			out[name] = value
		}
	}
	return out
}
