package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/render"
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

// Bounds of what is read: the file is written by us, but what is in it is not.
const (
	maxEvent    = 8 << 20
	maxWarnings = 50
)

// readEvents reads what the database does not hold. Lines that cannot be read are
// skipped, as docs/events.md tells every reader to do.
func readEvents(path string) events {
	log := events{attempts: map[string]attemptEvents{}}
	f, err := os.Open(path)
	if err != nil {
		log.err = reason(err)
		return log
	}
	defer f.Close()
	in := bufio.NewReaderSize(f, 64<<10)
	for {
		text, err := readLine(in, maxEvent)
		if len(text) > 0 && !chatter(text) {
			var e event.Event
			if json.Unmarshal(text, &e) == nil {
				log.add(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return log
		}
		if err != nil {
			log.err = reason(err)
			return log
		}
	}
}

// chatter says that a line is one of those that agents cause by the thousand.
func chatter(text []byte) bool {
	return bytes.Contains(text[:min(len(text), 200)], []byte(`"type":"agent_`))
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

// readLine reads a line without its end. One that is longer than limit is skipped
// and comes as an empty one.
func readLine(in *bufio.Reader, limit int) ([]byte, error) {
	var whole []byte
	for {
		part, err := in.ReadSlice('\n')
		if whole == nil && err == nil {
			return bytes.TrimRight(part, "\r\n"), nil
		}
		if len(whole)+len(part) <= limit {
			whole = append(whole, part...)
		} else {
			limit, whole = -1, whole[:0]
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(whole, "\r\n"), err
		}
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
	for _, name := range []string{"verify.log", "answer.md", "verify-1/transcript.jsonl", "verify-2/transcript.jsonl", "verify-3/transcript.jsonl", "verify-4/transcript.jsonl", "prompt.md", "transcript.jsonl", "agent.err"} {
		info, err := os.Lstat(filepath.Join(folder, name))
		if err == nil && info.Mode().IsRegular() && info.Size() > 0 {
			list = append(list, Evidence{Name: name, Path: filepath.Join(folder, name), Size: info.Size()})
		}
	}
	return list
}

// tail reads the end of a file.
func tail(path string, limit int64) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if over := info.Size() - limit; over > 0 {
		if _, err := f.Seek(over, io.SeekStart); err != nil {
			return "", err
		}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit))
	return string(data), err
}
