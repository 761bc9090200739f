package render

import (
	"errors"
	"os"
	"path/filepath"

	"ralph/event"
)

// RunFile writes events.jsonl in the folder of a run, whose name the first event says.
type RunFile struct {
	folder string
	file   *os.File
	json   *JSON
	err    error
}

// NewRunFile returns a sink for a run whose folder will be below this one.
func NewRunFile(folder string) *RunFile { return &RunFile{folder: folder} }

// Event writes a line. An error is kept for Close.
func (r *RunFile) Event(e event.Event) {
	if r.json == nil && r.err == nil {
		r.open(e.Run)
	}
	if r.json != nil {
		r.json.Event(e)
	}
}

func (r *RunFile) open(run string) {
	dir := filepath.Join(r.folder, run)
	if r.err = os.MkdirAll(dir, 0o700); r.err != nil {
		return
	}
	if r.file, r.err = os.OpenFile(filepath.Join(dir, "events.jsonl"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); r.err == nil {
		r.json = NewJSON(r.file)
	}
}

// Close returns what went wrong first.
func (r *RunFile) Close() error {
	if r.json == nil {
		return r.err
	}
	return errors.Join(r.json.Close(), r.file.Close())
}
