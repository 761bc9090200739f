package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"ralph/internal/event"
)

// maxLine is the longest line that is read; a longer one is skipped. Both files are
// written by us, but what is in them is not.
const maxLine = 16 << 20

// tail reads whole lines of a file that may still grow, or not be there yet.
type tail struct {
	path    string
	offset  int64
	partial []byte // of a line that is not whole yet
	skip    bool   // the line is too long
	missing bool
	most    int64 // that is read at a time; 0 means to the end
	end     int64 // where the line ends that fn is called with
}

// look leaves out all but the last bytes of what is not read yet, and says how many it
// left out: more of them when nothing was read yet. What it lands in the middle of is left
// out, too.
func (t *tail) look(scale int64) (left int64) {
	last := scale * eachLook
	if t.offset == 0 {
		last = scale * firstLook
	}
	t.most = 2 * last // it may grow as fast as it is read
	info, err := os.Stat(t.path)
	if err != nil || info.Size()-t.offset <= last {
		return 0
	}
	left = info.Size() - last - t.offset
	t.offset, t.partial, t.skip = info.Size()-last, nil, true
	return left
}

// poll calls fn with each line that has become whole since the last time.
func (t *tail) poll(fn func([]byte)) error {
	f, err := os.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		t.missing = true
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	t.missing = false
	if _, err := f.Seek(t.offset, io.SeekStart); err != nil {
		return err
	}
	buf := make([]byte, 64<<10)
	for end := t.offset + t.most; t.most == 0 || t.offset < end; {
		n, err := f.Read(buf)
		t.end, t.offset = t.offset, t.offset+int64(n)
		t.feed(buf[:n], fn)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// events calls fn with the events that have become whole, but for those that agents cause
// by the thousand: a transcript has them.
func (t *tail) events(fn func(event.Event)) error {
	return t.poll(func(line []byte) { ownEvent(line, fn) })
}

func ownEvent(line []byte, fn func(event.Event)) {
	if bytes.Contains(line[:min(len(line), 200)], []byte(`"type":"agent_`)) {
		return
	}
	var e event.Event
	if json.Unmarshal(line, &e) == nil && !strings.HasPrefix(string(e.Type), "agent_") {
		fn(e)
	}
}

// ReadEvents calls fn with what happened in a run, but for what its agents said. Lines that
// cannot be read are skipped, as docs/events.md tells every reader to do.
func ReadEvents(path string, fn func(event.Event)) error {
	t := &tail{path: path}
	err := t.events(fn)
	if err == nil && t.missing {
		_, err = os.Stat(path)
	}
	if len(t.partial) > 0 && err == nil { // the run died before the end of its line
		var e event.Event
		if json.Unmarshal(t.partial, &e) == nil {
			fn(e)
		}
	}
	return err
}

// ReadCalls calls fn with what agents of a run asked for and what was decided.
func ReadCalls(path string, fn func(event.Event)) error {
	t := &tail{path: path}
	return t.poll(func(line []byte) {
		var e event.Event
		if bytes.Contains(line[:min(len(line), 200)], []byte(`"type":"agent_asked"`)) && json.Unmarshal(line, &e) == nil {
			fn(e)
		}
	})
}

func (t *tail) feed(data []byte, fn func([]byte)) {
	for {
		end := bytes.IndexByte(data, '\n')
		if end < 0 {
			break
		}
		line := data[:end]
		t.end += int64(end) + 1
		if len(t.partial) > 0 {
			line = append(t.partial, line...)
			t.partial = nil
		}
		if !t.skip && len(line) <= maxLine && len(bytes.TrimSpace(line)) > 0 {
			fn(line)
		}
		t.skip, data = false, data[end+1:]
	}
	if t.skip || len(t.partial)+len(data) > maxLine {
		t.skip, t.partial = true, nil
		return
	}
	t.partial = append(t.partial, data...)
}

// Stream reads a file of a run with the place of each thing in it, so that whoever has seen a part can be told the rest.
// It leaves nothing out but what is far from the end when it begins, and puts nothing together.
type Stream struct {
	Path  string
	Until int64 // where reading ends; 0 means never

	tail   tail
	decode decoder
}

// streamed is how much of a file a stream begins with: more than the longest line.
const streamed = maxLine + 4<<20

// Begin chooses where reading begins, and returns that place.
func (s *Stream) Begin() (from int64) {
	s.tail.path = s.Path
	until := s.Until
	if info, err := os.Stat(s.Path); err == nil && (until == 0 || until > info.Size()) {
		until = info.Size()
	}
	if from = until - streamed; from > 0 {
		s.tail.offset, s.tail.skip = from, true
	}
	return max(from, 0)
}

// Missing says that there is no such file.
func (s *Stream) Missing() bool { return s.tail.missing }

// Lines calls fn with what became known of a transcript, and where that ends in the file.
func (s *Stream) Lines(fn func(l Line, end int64)) error {
	if len(s.decode.titles) > manyCalls || len(s.decode.terminals) > manyTerminals {
		s.decode = decoder{} // agents no longer refer to old calls
	}
	return s.poll(func(text []byte, end int64) {
		if l := s.decode.line(text); l.Kind != "" {
			fn(l, end)
		}
	})
}

// Events calls fn with what happened in a run, but for what its agents said, and where that ends in the file.
func (s *Stream) Events(fn func(e event.Event, end int64)) error {
	return s.poll(func(text []byte, end int64) { ownEvent(text, func(e event.Event) { fn(e, end) }) })
}

func (s *Stream) poll(fn func(text []byte, end int64)) error {
	if s.Until > 0 {
		s.tail.most = s.Until - s.tail.offset
	}
	return s.tail.poll(func(text []byte) {
		if s.Until == 0 || s.tail.end <= s.Until {
			fn(text, s.tail.end)
		}
	})
}

// How much of a file is read. An agent may say more in a second than anybody can
// read in an hour; then only the newest of it is read.
const (
	firstLook = 1 << 20
	eachLook  = 256 << 10
)

// Attempt follows what one attempt says, for somebody who looks at it now. Unlike
// a Reader it leaves out what is too old or too much, so that neither time nor memory
// depends on how much was said.
type Attempt struct {
	Path string // of its transcript.jsonl
	Emit func(Line)

	reading
}

// What is kept to understand what comes next.
const (
	longSpeech    = 4 << 10 // of a line that does not end
	manyCalls     = 10_000
	manyTerminals = 50
)

// Poll emits what is new, and returns how many bytes of it were left out.
func (a *Attempt) Poll() (left int64, err error) {
	a.tail.path, a.emit, a.longest = a.Path, a.Emit, longSpeech
	if left = a.tail.look(1); left > 0 {
		a.join = joiner{} // what it was in the middle of is gone
	}
	err = a.drain()
	if len(a.decode.titles) > manyCalls || len(a.decode.terminals) > manyTerminals {
		a.decode = decoder{} // agents no longer refer to old calls
	}
	return left, err
}

// Unfinished is the line that is being said.
func (a *Attempt) Unfinished() string { return string(a.join.text) }

// Events follows what happens in a run, but not what its agents say: gates, waits,
// warnings. What happened long ago is left out.
type Events struct {
	Path string // of its events.jsonl
	Emit func(event.Event)

	tail tail
}

// Poll emits what is new.
func (e *Events) Poll() error {
	e.tail.path = e.Path
	// Most of the file is what agents say, and leaving that out costs little, so much
	// more is read than of a transcript before anything is lost.
	e.tail.look(16)
	return e.tail.events(e.Emit)
}
