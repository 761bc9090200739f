package modelagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

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
	cutRecord     recordKind = "cut"     // calls that are shown without their long parts from now on
	summaryRecord recordKind = "summary" // stands for the messages before From
	chosenRecord  recordKind = "chosen"  // a model and an effort, from now on
)

// record is a line of the file. Fields that do not belong to its kind are zero.
type record struct {
	Kind    recordKind `json:"kind"`
	Head    *head      `json:"head,omitempty"`
	Message *Message   `json:"message,omitempty"`
	Count   int64      `json:"count,omitempty"` // message: of an answer, the tokens that the model read and wrote; 0 if unknown
	IDs     []string   `json:"ids,omitempty"`   // started, cut
	Result  *Block     `json:"result,omitempty"`
	From    int        `json:"from,omitempty"`   // summary
	Text    string     `json:"text,omitempty"`   // summary
	Model   string     `json:"model,omitempty"`  // chosen
	Effort  Effort     `json:"effort,omitempty"` // chosen
}

// head is what stays the same in a conversation.
type head struct {
	Version string    `json:"version"`
	Dir     string    `json:"dir"`
	System  string    `json:"system"`
	Date    time.Time `json:"date"`
}

// state is what the records of a conversation amount to.
type state struct {
	head     head
	model    string
	effort   Effort
	messages []Message // roles alternate, and the user's is first; results stand in the order of their calls
	started  map[string]bool
	cut      map[string]bool

	summary string // of messages[1:from]
	from    int

	count   int64 // tokens of messages[:counted] and of all that goes with them, as the provider counted; 0 if unknown
	counted int
}

// apply adds a record. It refuses one that makes no sense where it stands.
func (s *state) apply(r record) error {
	last := len(s.messages) - 1
	switch open := s.open(); {
	case (r.Kind == headRecord) != (s.started == nil):
		return errors.New("the head is not the first record, or not the only one")
	case r.Kind == headRecord && r.Head != nil:
		s.head, s.started, s.cut = *r.Head, map[string]bool{}, map[string]bool{}
	case r.Kind == messageRecord && r.Message != nil && len(open) > 0:
		return errors.New("a message comes before the results of calls")
	case r.Kind == messageRecord && r.Message != nil && r.Message.Role == User:
		if last >= 0 && s.messages[last].Role == User {
			s.messages[last].Blocks = slices.Concat(s.messages[last].Blocks, r.Message.Blocks)
		} else {
			s.messages = append(s.messages, *r.Message)
		}
	case r.Kind == messageRecord && r.Message != nil:
		if last < 0 || s.messages[last].Role != User {
			return errors.New("an answer comes before a question")
		}
		if s.messages = append(s.messages, *r.Message); r.Count > 0 {
			s.count, s.counted = r.Count, len(s.messages)
		}
	case r.Kind == startedRecord:
		for _, id := range r.IDs {
			s.started[id] = true
		}
	case r.Kind == resultRecord && r.Result != nil:
		if !slices.ContainsFunc(open, func(call Block) bool { return call.ID == r.Result.ID }) {
			return errors.New("a result belongs to no call")
		}
		s.addResult(*r.Result)
	case r.Kind == cutRecord:
		before := s.bytes(0, s.counted)
		for _, id := range r.IDs {
			s.cut[id] = true
		}
		s.count -= min(s.count, int64(before-s.bytes(0, s.counted))/charsPerToken)
	case r.Kind == summaryRecord:
		if r.From <= s.from || r.From > last || s.messages[r.From].Role != Assistant {
			return errors.New("a summary ends in the middle of an exchange")
		}
		s.summary, s.from, s.count, s.counted = r.Text, r.From, 0, 0
	case r.Kind == chosenRecord:
		s.model, s.effort = r.Model, r.Effort
	default:
		return fmt.Errorf("a record of the kind %q is unknown or incomplete", r.Kind)
	}
	return nil
}

// open lists the calls of the last answer that have no result.
func (s *state) open() []Block {
	i := len(s.messages) - 1
	var results []Block
	if i > 0 && s.messages[i].Role == User {
		results = s.messages[i].Blocks
		i--
	}
	if i < 0 {
		return nil
	}
	return slices.DeleteFunc(callsOf(s.messages[i]), func(call Block) bool {
		return slices.ContainsFunc(results, func(b Block) bool { return b.Kind == Result && b.ID == call.ID })
	})
}

func (s *state) addResult(result Block) {
	if s.messages[len(s.messages)-1].Role == Assistant {
		s.messages = append(s.messages, Message{Role: User})
	}
	m := &s.messages[len(s.messages)-1]
	calls := callsOf(s.messages[len(s.messages)-2])
	place := func(id string) int { return slices.IndexFunc(calls, func(b Block) bool { return b.ID == id }) }
	i := slices.IndexFunc(m.Blocks, func(b Block) bool { return b.Kind != Result || place(b.ID) > place(result.ID) })
	if i < 0 {
		i = len(m.Blocks)
	}
	m.Blocks = slices.Insert(slices.Clone(m.Blocks), i, result)
}

// callsOf lists the calls in a message.
func callsOf(m Message) []Block {
	var calls []Block
	for _, b := range m.Blocks {
		if b.Kind == Call {
			calls = append(calls, b)
		}
	}
	return calls
}

// history is a state and the file that it can be made from again.
type history struct {
	mu    sync.Mutex
	state state
	file  *os.File
	size  int64
}

func conversationFile(dir, id string) string { return filepath.Join(dir, id+".jsonl") }

// createConversation begins one, in a file of its own.
func createConversation(dir, id string, h head) (*history, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the folder of conversations: %w; set XDG_STATE_HOME to a folder that can be written", err)
	}
	f, err := os.OpenFile(conversationFile(dir, id), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("begin a conversation: %w", err)
	}
	c := &history{file: f}
	if err := c.add(record{Kind: headRecord, Head: &h}); err != nil {
		_ = f.Close()
		return nil, err
	}
	return c, nil
}

// openConversation goes on with one. A last line that was not written whole is cut off.
func openConversation(dir, id string) (*history, error) {
	f, err := os.OpenFile(conversationFile(dir, id), os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open a conversation: %w", err)
	}
	c := &history{file: f}
	if err := c.read(); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s cannot be continued: %w", f.Name(), err)
	}
	return c, nil
}

func (c *history) read() error {
	data, err := os.ReadFile(c.file.Name())
	if err != nil {
		return err
	}
	for n, rest := 1, data; len(rest) > 0; n++ {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		if !whole {
			break
		}
		var r record
		err := json.Unmarshal(line, &r)
		if err == nil {
			err = c.state.apply(r)
		}
		if err != nil && len(after) > 0 {
			return fmt.Errorf("line %d is broken: %w", n, err)
		} else if err != nil {
			break
		}
		c.size += int64(len(line)) + 1
		rest = after
	}
	if c.state.started == nil {
		return errors.New("it has no head")
	}
	return c.file.Truncate(c.size)
}

// add stores a record, in one write: whoever is killed leaves whole lines, and perhaps a part of the last one. It does
// not wait for the disk, as what was written outlives the process, and after a power failure the task begins again.
func (c *history) add(r record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var line bytes.Buffer
	enc := json.NewEncoder(&line)
	enc.SetEscapeHTML(false) // arguments are read back as they were
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("store the conversation: %w", err)
	}
	failpoint.Hit("A1")
	if _, err := c.file.WriteAt(line.Bytes(), c.size); err != nil {
		_ = c.file.Truncate(c.size) // else the next record overwrites what is there, or reading cuts it off
		return fmt.Errorf("store the conversation: %w; if the disk is full, make room and run the task again", err)
	}
	c.size += int64(line.Len())
	failpoint.Hit("A2")
	return c.state.apply(r)
}

// settle gives a result to the calls that have none, because the agent was stopped or could not store it. Nothing is
// ever run again by itself: only the model can find out what a command did that was under way.
func (c *history) settle() error {
	s := c.snapshot()
	for _, call := range s.open() {
		text := "not run: the agent was stopped before it ran"
		if s.started[call.ID] {
			text = stopped
		}
		if err := c.add(record{Kind: resultRecord, Result: failed(call, text)}); err != nil {
			return err
		}
	}
	return nil
}

// snapshot is the state as it is now, for the turn that is running: only that one adds calls, results and cuts.
func (c *history) snapshot() *state {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state
	s.messages = slices.Clone(s.messages)
	return &s
}

func (c *history) close() { _ = c.file.Close() }

// failed is the result of a call that did not do what it should.
func failed(call Block, text string) *Block {
	return &Block{Kind: Result, ID: call.ID, Name: call.Name, Text: text, Failed: true}
}

// conversationAge is how long a conversation is kept after its last record.
const conversationAge = 30 * 24 * time.Hour

// removeOld removes conversations that nobody goes on with. It is no matter if it cannot.
func removeOld(dir string, now time.Time) {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		info, err := e.Info()
		if err == nil && info.Mode().IsRegular() && strings.HasSuffix(e.Name(), ".jsonl") && now.Sub(info.ModTime()) > conversationAge {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
