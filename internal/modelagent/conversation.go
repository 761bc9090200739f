package modelagent

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"ralph/internal/filelock"
	"ralph/internal/testing/failpoint"
)

// recordKind says what a line of a conversation's file is.
type recordKind string

// The kinds there are.
const (
	headRecord    recordKind = "head"    // the first line, and only that
	messageRecord recordKind = "message" // of either side
	startedRecord recordKind = "started" // a call is about to run
	resultRecord  recordKind = "result"  // of a call, whether it ran or not
	cutRecord     recordKind = "cut"     // results that the model is not sent any more
	summaryRecord recordKind = "summary" // stands for the messages before From, except for the first
	chosenRecord  recordKind = "chosen"  // a model or an effort, from now on
)

// record is a line of the file. Fields that do not belong to its kind are zero.
type record struct {
	Kind    recordKind `json:"kind"`
	Dir     string     `json:"dir,omitempty"`    // head: the folder of the project
	System  string     `json:"system,omitempty"` // head: what the model is told before everything else
	Message *Message   `json:"message,omitempty"`
	Count   int64      `json:"count,omitempty"` // message: of an answer, the tokens that the model read and wrote; 0 if unknown
	IDs     []string   `json:"ids,omitempty"`   // started, cut
	Result  *Block     `json:"result,omitempty"`
	Most    int        `json:"most,omitempty"`   // cut: characters that are kept of each
	From    int        `json:"from,omitempty"`   // summary
	Text    string     `json:"text,omitempty"`   // summary
	Model   string     `json:"model,omitempty"`  // head, chosen; message: of an answer, whose it is
	Effort  Effort     `json:"effort,omitempty"` // head, chosen
}

// state is what the records of a conversation amount to.
type state struct {
	dir, system, model string
	effort             Effort

	messages []Message       // that the model is sent: roles alternate, and the user's is first; results stand in the order of their calls
	started  map[string]bool // calls; nil before the head

	task   []Block // the first prompt, if a summary follows it
	latest string  // the last prompt that a summary stands for

	tokens  int  // of messages: as the provider counted last, and what came since by estimate
	counted bool // it did, and tokens includes the instructions and the tools
}

// apply adds a record. It refuses one that makes no sense where it stands.
func (s *state) apply(r record) error {
	last := len(s.messages) - 1
	asked := last >= 0 && s.messages[last].Role == User
	open := s.open()
	message := r.Kind == messageRecord && r.Message != nil && len(open) == 0
	switch {
	case (r.Kind == headRecord) != (s.started == nil):
		return errors.New("the head is not the first record, or not the only one")
	case r.Kind == headRecord:
		s.dir, s.system, s.started = r.Dir, r.System, map[string]bool{}
		s.choose(r.Model, r.Effort)
	case message && r.Message.Role == User:
		s.say(r.Message.Blocks...)
	case message && asked:
		s.messages = append(s.messages, *r.Message)
		if r.Model != s.model { // that was asked
			s.forgetThoughts()
		}
		if s.tokens += estimate(*r.Message); r.Count > 0 {
			s.tokens, s.counted = int(r.Count), true
		}
	case r.Kind == startedRecord:
		for _, id := range r.IDs {
			s.started[id] = true
		}
	case r.Kind == resultRecord && r.Result != nil && slices.ContainsFunc(open, func(call Block) bool { return call.ID == r.Result.ID }):
		s.say(*r.Result)
		calls := callsOf(s.messages[len(s.messages)-2])
		place := func(result Block) int {
			return slices.IndexFunc(calls, func(call Block) bool { return call.ID == result.ID })
		}
		slices.SortFunc(s.messages[len(s.messages)-1].Blocks, func(a, b Block) int { return place(a) - place(b) })
	case r.Kind == cutRecord:
		s.cut(r.IDs, r.Most)
	case r.Kind == summaryRecord && r.From > 0 && r.From <= last && s.messages[r.From].Role == Assistant:
		s.summarise(r.From, r.Text)
	case r.Kind == chosenRecord:
		s.choose(r.Model, r.Effort)
	default:
		return fmt.Errorf("a record of the kind %q is unknown, incomplete or in the wrong place", r.Kind)
	}
	return nil
}

// say adds to the last message, or begins one, so that roles alternate. The blocks are a new slice, here as elsewhere,
// because snapshots share the old one.
func (s *state) say(blocks ...Block) {
	if n := len(s.messages); n == 0 || s.messages[n-1].Role == Assistant {
		s.messages = append(s.messages, Message{Role: User})
	}
	m := &s.messages[len(s.messages)-1]
	m.Blocks = slices.Concat(m.Blocks, blocks)
	s.tokens += estimate(Message{Blocks: blocks})
}

// choose sets what is not empty.
func (s *state) choose(model string, effort Effort) {
	if model != "" && model != s.model {
		s.model = model
		s.forgetThoughts()
	}
	if s.effort = cmp.Or(effort, s.effort); s.effort == defaultEffort {
		s.effort = ""
	}
}

// forgetThoughts drops them for another model, which need not accept what is signed for the one before.
func (s *state) forgetThoughts() {
	for i, m := range s.messages {
		s.messages[i].Blocks = slices.DeleteFunc(slices.Clone(m.Blocks), func(b Block) bool { return b.Kind == Thinking })
	}
}

// open lists the calls of the last answer that have no result.
func (s *state) open() []Block {
	done := map[string]bool{}
	for _, m := range slices.Backward(s.messages) {
		if m.Role == Assistant {
			return slices.DeleteFunc(callsOf(m), func(call Block) bool { return done[call.ID] })
		}
		for _, b := range m.Blocks {
			done[b.ID] = true
		}
	}
	return nil
}

// history is a state and the file that it can be made from again.
type history struct {
	mu    sync.Mutex
	state state
	file  *os.File
	size  int64
}

func conversationFile(dir, id string) string { return filepath.Join(dir, id+".jsonl") }

// createConversation begins one, in a file of its own. The head is its first record.
func createConversation(dir, id string, head record) (*history, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of conversations: %w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	f, err := os.OpenFile(conversationFile(dir, id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin a conversation: %w", err)
	}
	c := &history{file: f}
	if err := errors.Join(c.lock(), c.add(head)); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

// openConversation goes on with one, and returns its records, too. A last line that was not written whole is cut off.
func openConversation(dir, id string) (*history, []record, error) {
	f, err := os.OpenFile(conversationFile(dir, id), os.O_RDWR, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a conversation: %w", err)
	}
	c := &history{file: f}
	var records []record
	if err = c.lock(); err == nil {
		records, err = c.read()
	}
	if err != nil {
		c.close()
		return nil, nil, fmt.Errorf("%s cannot be continued: %w", f.Name(), err)
	}
	return c, records, nil
}

// lock keeps other agents out until the file is closed: two that write would garble it.
func (c *history) lock() error {
	if !filelock.Try(c.file) {
		return errors.New("another agent goes on with this session; end that one first")
	}
	return nil
}

func (c *history) read() (records []record, err error) {
	data, err := os.ReadFile(c.file.Name())
	if err != nil {
		return nil, err
	}
	for {
		line, rest, whole := bytes.Cut(data[c.size:], []byte("\n"))
		if !whole {
			break
		}
		var r record
		err := json.Unmarshal(line, &r)
		if err == nil {
			err = c.state.apply(r)
		}
		if err != nil && len(rest) > 0 {
			return nil, fmt.Errorf("line %d is broken: %w", len(records)+1, err)
		} else if err != nil {
			break
		}
		records = append(records, r)
		c.size += int64(len(line)) + 1
	}
	if c.state.started == nil {
		return nil, errors.New("it has no head")
	}
	return records, c.file.Truncate(c.size)
}

// add stores a record, in one write: whoever is killed leaves whole lines, and perhaps a part of the last one. It does
// not wait for the disk, as what was written outlives the process, and after a power failure the task begins again.
// What counts is the record as it is read back, so that the model is sent the same bytes after a load.
func (c *history) add(r record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // arguments are read back as they were
	var stored record
	if err := errors.Join(enc.Encode(r), json.Unmarshal(line.Bytes(), &stored)); err != nil {
		return fmt.Errorf("store the conversation: %w", err)
	}
	failpoint.Hit("before-record")
	if _, err := c.file.WriteAt(line.Bytes(), c.size); err != nil {
		_ = c.file.Truncate(c.size) // else the next record overwrites what is there, or reading cuts it off
		return fmt.Errorf("store the conversation: %w; if the disk is full, make room and run the task again", err)
	}
	c.size += int64(line.Len())
	failpoint.Hit("after-record")
	return c.state.apply(stored)
}

// settle gives a result to the calls that have none, because the agent was stopped or could not store it, and returns
// the records. Nothing is ever run again by itself: only the model can find out what a command did that was under way.
func (c *history) settle() (records []record, err error) {
	s := c.snapshot()
	for _, call := range s.open() {
		text := "not run: the turn ended before it ran"
		if s.started[call.ID] {
			text = stopped
		}
		r := record{Kind: resultRecord, Result: failed(call, text)}
		if err := c.add(r); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return records, nil
}

// snapshot is the state as it is now, for the turn that is running: only that one adds calls, results and cuts.
func (c *history) snapshot() *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state
	s.messages = slices.Clone(s.messages)
	return &s
}

func (c *history) close() { _ = filelock.Close(c.file) }

// conversationAge is how long a conversation is kept after its last record.
const conversationAge = 30 * 24 * time.Hour

// removeOld removes conversations that nobody goes on with. It is no matter if it cannot.
func removeOld(dir string, now time.Time) {
	files, _ := filepath.Glob(conversationFile(dir, "*"))
	for _, file := range files {
		if info, err := os.Lstat(file); err == nil && now.Sub(info.ModTime()) > conversationAge {
			_ = os.Remove(file)
		}
	}
}
