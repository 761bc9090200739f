package modelagent

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	ralph "ralph/acp"
	"ralph/internal/testing/check"
)

// The environment of a test binary that is to be the agent.
const (
	beAgent   = "RALPH_TEST_BE_MODEL_AGENT" // the address of a model
	stateEnv  = "RALPH_TEST_STATE"
	windowEnv = "RALPH_TEST_WINDOW"
)

func serveTest() {
	window, _ := strconv.Atoi(os.Getenv(windowEnv))
	err := Serve(context.Background(), os.Stdin, os.Stdout, Options{
		Provider: distant(os.Getenv(beAgent)), State: os.Getenv(stateEnv), Window: window, Environ: os.Environ(),
		Pick: pickOffered,
	})
	if err != nil {
		os.Exit(1)
	}
}

// pickOffered takes a tier for a name.
func pickOffered(tier string, offered []string) string {
	if slices.Contains(offered, tier) {
		return tier
	}
	return ""
}

// distant is a provider that asks a test, over HTTP and in our own words.
type distant string

// said is what a model of a test answers.
type said struct {
	Reply   Reply
	Failure *Failure
	Thought string
}

func (d distant) Send(ctx context.Context, r Request, thought func(string)) (Reply, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return Reply{}, err
	}
	var a said
	if err := d.get(ctx, body, &a); err != nil {
		return Reply{}, err
	}
	if thought(""); a.Thought != "" {
		thought(a.Thought)
	}
	if a.Failure != nil {
		return Reply{}, a.Failure
	}
	return a.Reply, nil
}

func (d distant) Models(ctx context.Context) ([]Model, error) {
	var a struct {
		Models  []Model
		Failure *Failure
	}
	if err := d.get(ctx, nil, &a); err != nil {
		return nil, err
	}
	if a.Failure != nil {
		return nil, a.Failure
	}
	return a.Models, nil
}

func (d distant) get(ctx context.Context, body []byte, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, string(d), bytes.NewReader(body))
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return &Failure{Kind: Broken, Text: err.Error()}
	}
	defer func() { _ = resp.Body.Close() }()
	return json.NewDecoder(resp.Body).Decode(into)
}

// model is one that a test plays. It checks that every request is one that a provider would take.
type model struct {
	t      *testing.T
	url    string
	state  string
	window int
	models []Model
	failed *Failure // in place of a list of models

	mu       sync.Mutex
	requests []Request
	answer   func(n int, r Request) said // to the request number n, from 0
}

func perform(t *testing.T, answer func(n int, r Request) said) *model {
	t.Helper()
	m := &model{t: t, state: filepath.Join(t.TempDir(), "state"), models: []Model{{ID: "sonnet"}, {ID: "haiku"}}, answer: answer}
	server := httptest.NewServer(m)
	t.Cleanup(server.Close)
	m.url = server.URL
	return m
}

// inOrder answers one after the other.
func inOrder(answers ...said) func(int, Request) said {
	return func(n int, _ Request) said {
		if n >= len(answers) {
			return says("over")
		}
		return answers[n]
	}
}

func (m *model) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var q Request
	if json.NewDecoder(r.Body).Decode(&q) != nil {
		_ = json.NewEncoder(w).Encode(map[string]any{"Models": m.models, "Failure": m.failed})
		return
	}
	if err := valid(q); err != nil {
		m.t.Errorf("a provider would refuse this: %v", err)
	}
	m.mu.Lock()
	n := len(m.requests)
	m.requests = append(m.requests, q)
	answer := m.answer
	m.mu.Unlock()
	_ = json.NewEncoder(w).Encode(answer(n, q))
}

func (m *model) asked() []Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// valid says what is wrong with the messages of a request.
func valid(r Request) error {
	open := []string{}
	seen := map[string]bool{}
	for i, m := range r.Messages {
		if want := []Role{User, Assistant}[i%2]; m.Role != want || len(m.Blocks) == 0 {
			return fmt.Errorf("message %d has the role %s and %d blocks", i, m.Role, len(m.Blocks))
		}
		var results []string
		for _, b := range m.Blocks {
			if b.Kind == Result {
				results = append(results, b.ID)
			}
			if b.Kind == Text && strings.TrimSpace(b.Text) == "" {
				return fmt.Errorf("message %d has a text without words", i)
			}
		}
		if m.Blocks[len(m.Blocks)-1].Kind == Thinking {
			return fmt.Errorf("message %d ends with a thought", i)
		}
		if !slices.Equal(open, results) && len(open)+len(results) > 0 {
			return fmt.Errorf("message %d has the results %v to the calls %v", i, results, open)
		}
		open = nil
		for _, c := range callsOf(m) {
			if seen[c.ID] || c.ID == "" || !json.Valid(c.Args) {
				return fmt.Errorf("message %d has the call %+v", i, c)
			}
			seen[c.ID] = true
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 || len(r.Messages)%2 == 0 {
		return fmt.Errorf("%d messages end with the calls %v", len(r.Messages), open)
	}
	return nil
}

func says(text string) said {
	return said{Reply: Reply{Stop: StopEnd, Message: Message{Role: Assistant, Blocks: []Block{{Kind: Text, Text: text}}}}}
}

// calls is an answer with calls, each a name and its arguments as JSON.
func calls(pairs ...string) said {
	a := said{Reply: Reply{Stop: StopCalls, Message: Message{Role: Assistant}}}
	for i := 0; i < len(pairs); i += 2 {
		a.Reply.Message.Blocks = append(a.Reply.Message.Blocks, Block{Kind: Call, ID: fmt.Sprintf("c%d", i/2), Name: pairs[i], Args: json.RawMessage(pairs[i+1])})
	}
	return a
}

// counted says what an answer took.
func (s said) counted(u Usage) said {
	s.Reply.Usage = u
	return s
}

func bash(command string) string {
	args, _ := json.Marshal(map[string]string{"command": command})
	return string(args)
}

// client is ralph's own, with the agent as a process.
type client struct {
	*ralph.Session
	dir string

	mu         sync.Mutex
	grown      *sync.Cond
	transcript strings.Builder
	events     []ralph.Event
}

func (m *model) connect(change func(*ralph.Config)) (*client, error) {
	c := &client{dir: m.t.TempDir()}
	c.grown = sync.NewCond(&c.mu)
	config := ralph.Config{
		Argv: []string{os.Args[0]}, Dir: c.dir, Transcript: c, Client: ralph.Client{Grace: time.Minute},
		Env: append(os.Environ(), beAgent+"="+m.url, stateEnv+"="+m.state, windowEnv+"="+strconv.Itoa(m.window), "GORACE=atexit_sleep_ms=0"),
		Observe: func(e ralph.Event) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.events = append(c.events, e)
		},
	}
	if change != nil {
		change(&config)
		c.dir = config.Dir
	}
	var err error
	if c.Session, err = ralph.Start(m.t.Context(), config); err == nil {
		m.t.Cleanup(func() { _ = c.Close() })
	}
	return c, err
}

func (m *model) client() *client {
	m.t.Helper()
	c, err := m.connect(nil)
	check.OK(m.t, err)
	return c
}

// Write adds to the transcript.
func (c *client) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.grown.Broadcast()
	return c.transcript.Write(p)
}

// await waits until the transcript has a text.
func (c *client) await(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !strings.Contains(c.transcript.String(), text) {
		c.grown.Wait()
	}
}

func (c *client) heard() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.transcript.String()
}

// ask is the answer to a prompt.
func (c *client) ask(t *testing.T, text string) (string, ralph.Turn) {
	t.Helper()
	turn, err := c.Prompt(t.Context(), text)
	check.OK(t, err)
	answer, err := turn.Text()
	check.OK(t, err)
	return answer, turn
}

// results lists what the model was told of its calls in the last message of a request.
func results(r Request) []string {
	var texts []string
	for _, b := range r.Messages[len(r.Messages)-1].Blocks {
		if b.Kind == Result {
			texts = append(texts, b.Text)
		}
	}
	return texts
}
