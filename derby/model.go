package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"time"
)

// limitFor is how long a rate limit lasts.
const limitFor = 12 * time.Second

// model is a language model on loopback that speaks Anthropic Messages, does the jobs of a plan, lies and
// fails as the plan says, and counts. It knows contestants by their prompts only, and answers all by one rule.
type model struct {
	*httptest.Server
	plan   plan
	faults chan fault // those that the derby has to carry out
	closed chan struct{}

	mu       sync.Mutex
	attempts map[string][]string      // prompts by job, in the order in which they came
	ordered  map[string]bool          // prompts whose work was ordered, and honest
	worked   map[string]int           // by job: how often honest work was done
	met      map[string]bool          // jobs whose fault has happened
	orphans  map[string]chan struct{} // by job: an agent whose orchestrator is killed waits for the next one at the same job
	until    time.Time                // the rate limit
	answered int                      // calls, without those that agents make for themselves
	refused  int
	checks   int // of those that were answered: for verdicts
	log      []string
}

func newModel(p plan) *model {
	m := &model{
		plan: p, faults: make(chan fault, 8), closed: make(chan struct{}),
		attempts: map[string][]string{}, ordered: map[string]bool{}, worked: map[string]int{}, met: map[string]bool{}, orphans: map[string]chan struct{}{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.serve)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, object{"input_tokens": 1000}) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, object{"data": []any{}}) })
	m.Server = httptest.NewServer(mux)
	return m
}

// Close ends the server; calls that hang are let go.
func (m *model) Close() {
	close(m.closed)
	m.CloseClientConnections()
	m.Server.Close()
}

// answer is what the model says to one call: text, and a command or none.
type answer struct {
	text, command string
	refuse        bool
	hold          chan struct{} // not answered before it is closed
	then          fault         // after the answer, or when it is held
}

var (
	// Where contestants say which of the jobs is meant: ralph, ralphy, ralph-tui. A loop lets the agent choose.
	assigned = regexp.MustCompile(`(?:Assigned Task|## Task\n|TASK: |## Your Task: )[\s\S]*?job-([a-z]+)`)
	ralphID  = regexp.MustCompile(`Assigned Task[\s\S]*?(t-[0-9a-f]{8})`)
	looked   = regexp.MustCompile(`derby: ([a-z]+) (passes|fails)`)
	noCommit = regexp.MustCompile(`(?i)do not (?:create git commits|run git commit)`)
)

// next decides on an answer. It is one rule for all: look whether the work is there, do it if not, say so.
func (m *model) next(c conversation) answer {
	m.mu.Lock()
	defer m.mu.Unlock()
	if time.Now().Before(m.until) {
		m.refused++
		return answer{refuse: true}
	}
	m.answered++
	if strings.Contains(c.prompt, "# Ralph: verification") { // its verifier believes everything
		m.checks++
		return answer{text: "I have looked at it.\n<verify-pass/>\n"}
	}
	name, passes := "", false
	if found := assigned.FindStringSubmatch(c.task); found != nil {
		name = found[1]
	}
	if found := looked.FindStringSubmatch(c.tools); found != nil {
		name, passes = found[1], found[2] == "passes"
	}
	j, known := m.plan.find(name)
	loop := strings.Contains(c.prompt, "PLAN.md") && !assigned.MatchString(c.task)
	switch {
	case c.step == 0 && loop:
		return answer{text: "Let me see what is next.", command: `n=$(sed -n 's/^- \[ \].*job-\([a-z]*\).*/\1/p' PLAN.md | head -n 1); ` + look("$n")}
	case c.step == 0 && known:
		return answer{text: "Let me see.", command: look(name)}
	case !known:
		return answer{text: "OK"}
	}
	n := m.attempt(name, c.key)
	l := j.lie
	if n > 1 {
		l = honest
	}
	if c.step == 1 {
		if j.fault == limited && m.once(name) {
			m.until = time.Now().Add(limitFor)
			m.answered, m.refused = m.answered-1, m.refused+1
			return answer{refuse: true}
		}
		if passes {
			return answer{text: "It is there already.", command: m.finish(j, c, loop)}
		}
		m.ordered[c.key] = l == honest
		a := answer{text: "I do it.", command: m.work(j, l) + m.finish(j, c, loop)}
		if orphan := m.orphans[name]; orphan != nil { // now two are at it, if the other one still lives
			close(orphan)
			delete(m.orphans, name)
		}
		if j.fault == killMid && m.once(name) {
			a.then, a.hold = j.fault, make(chan struct{})
			m.orphans[name] = a.hold
		}
		return a
	}
	if m.ordered[c.key] {
		m.worked[name]++
		delete(m.ordered, c.key)
	}
	a := answer{text: "All is well, and the test passes.\n" + word(c.prompt+c.task)}
	if j.fault != "" && m.once(name) {
		a.then = j.fault
		if j.fault == killAgent {
			a.hold = make(chan struct{}) // nobody closes it: who asks is killed
		}
	}
	return a
}

func look(name string) string {
	return `if sh "tests/` + name + `.sh" >/dev/null 2>&1; then echo "derby: ` + name + ` passes"; else echo "derby: ` + name + ` fails"; fi`
}

// work is the command that does a job, or what a lie makes of it.
func (m *model) work(j job, l lie) string {
	var lines []string
	if text := j.source(l); text != "" {
		lines = append(lines, "mkdir -p src && cat > "+j.path()+" <<'END'\n"+text+"END")
	}
	switch l {
	case deletes:
		lines = append(lines, "rm -f "+j.test())
	case honest:
		lines = append(lines, "test -e "+j.test()+" || git checkout -q begin -- "+j.test())
	}
	return strings.Join(append(lines, ""), "\n")
}

// finish does with finished work what the prompt asks for: tick it off, commit it.
func (m *model) finish(j job, c conversation, loop bool) string {
	command := "true"
	if loop {
		command = "sed -i '/job-" + j.name + ")/s/\\[ \\]/[x]/' PLAN.md"
	}
	asked := c.prompt + c.task
	if strings.Contains(strings.ToLower(asked), "commit") && !noCommit.MatchString(asked) {
		command += "; git add -A src tests $(ls PLAN.md 2>/dev/null); git commit -qm '" + j.title() + "' || true"
	}
	return command
}

// word is how a prompt wants to be told that the work is done.
func word(prompt string) string {
	if id := ralphID.FindStringSubmatch(prompt); id != nil {
		return "<task-done>" + id[1] + "</task-done>\n"
	}
	if strings.Contains(prompt, "<promise>COMPLETE</promise>") {
		return "<promise>COMPLETE</promise>\n"
	}
	return ""
}

// attempt says which of the prompts for a job this is, from 1.
func (m *model) attempt(name, key string) int {
	for i, k := range m.attempts[name] {
		if k == key {
			return i + 1
		}
	}
	m.attempts[name] = append(m.attempts[name], key)
	return len(m.attempts[name])
}

// wait waits until a limit is over, as a person does who has read of one.
func (m *model) wait() {
	m.mu.Lock()
	left := time.Until(m.until)
	m.mu.Unlock()
	<-time.After(left)
}

func (m *model) once(name string) bool {
	met := m.met[name]
	m.met[name] = true
	return !met
}

// conversation is a call, as the script sees it.
type conversation struct {
	key    string // the session and which prompt in it
	prompt string // the last one
	task   string // the last one that assigns a job; if there is none, the last one
	tools  string // what tools said since
	step   int    // how many tools were called since
}

type block struct {
	Type    string          `json:"type"`
	Text    string          `json:"text"`
	Content json.RawMessage `json:"content"`
}

type call struct {
	Model    string `json:"model"`
	Stream   bool   `json:"stream"`
	Messages []struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"messages"`
	Metadata struct {
		User string `json:"user_id"` // Claude Code puts its session in here
	} `json:"metadata"`
	Tools []struct {
		Name string `json:"name"`
	} `json:"tools"`
}

var reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)

// read finds the prompt in a call: what a user says beside the results of tools and what the agent reminds itself of.
func (c call) read() conversation {
	var out conversation
	prompts := 0
	for _, msg := range c.Messages {
		var list []block
		if json.Unmarshal(msg.Content, &list) != nil {
			var text string
			_ = json.Unmarshal(msg.Content, &text) // neither of the two is nothing
			list = []block{{Type: "text", Text: text}}
		}
		said, results := "", ""
		for _, b := range list {
			switch b.Type {
			case "text":
				said += reminder.ReplaceAllString(b.Text, "")
			case "tool_result":
				results += string(b.Content) + "\n"
			case "tool_use":
				out.step++
			}
		}
		out.tools += results
		if msg.Role == "user" && results == "" && strings.TrimSpace(said) != "" {
			prompts++
			out.prompt, out.tools, out.step = said, "", 0
			if assigned.MatchString(said) || out.task == "" {
				out.task = said
			}
		}
	}
	out.key = fmt.Sprint(c.Metadata.User, " ", prompts)
	return out
}

func (m *model) serve(w http.ResponseWriter, hr *http.Request) {
	var c call
	if err := json.NewDecoder(hr.Body).Decode(&c); err != nil {
		return // a client that is gone
	}
	conv := c.read()
	bash := ""
	for _, t := range c.Tools {
		if strings.HasSuffix(strings.ToLower(t.Name), "bash") {
			bash = t.Name
		}
	}
	if bash == "" || strings.HasPrefix(conv.prompt, "[SUGGESTION MODE") {
		write(w, c, answer{text: "A title"}, "") // what agents ask for themselves
		return
	}
	a := m.next(conv)
	m.note("step %d, prompt %.60q, tools %.80q: %q, refused %v, held %v, then %q", conv.step, conv.prompt, conv.tools, a.text+a.command, a.refuse, a.hold != nil, a.then)
	if a.hold != nil {
		m.faults <- a.then
		a.then = ""
		select {
		case <-a.hold:
		case <-hr.Context().Done():
			return
		case <-m.closed:
			return
		}
	}
	if a.refuse {
		w.Header().Set("Retry-After", fmt.Sprint(int(limitFor.Seconds())))
		w.Header().Set("X-Should-Retry", "false") // the agent is to tell, and not to wait for it itself
		reply(w, 429, object{"type": "error", "error": object{"type": "rate_limit_error", "message": "This request would exceed your rate limit. Try again later."}})
		return
	}
	write(w, c, a, bash)
	if a.then != "" {
		m.faults <- a.then
	}
}

func (m *model) note(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.log = append(m.log, time.Now().Format("15:04:05.000 ")+fmt.Sprintf(format, args...))
}

type object = map[string]any

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone wants no answer
}

// write says an answer as Anthropic does, streaming or not.
func write(w http.ResponseWriter, c call, a answer, bash string) {
	usage := object{"input_tokens": 1000, "output_tokens": 50}
	head := object{"id": "msg_" + rand.Text(), "type": "message", "role": "assistant", "model": c.Model, "stop_sequence": nil, "usage": usage}
	stop := "end_turn"
	blocks := []object{{"type": "text", "text": a.text}}
	args := object{"command": a.command, "description": "Work on the job"}
	if a.command != "" {
		stop = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": "toolu_" + rand.Text(), "name": bash, "input": args})
	}
	if !c.Stream {
		head["content"], head["stop_reason"] = blocks, stop
		reply(w, 200, head)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, data object) {
		data["type"] = kind
		raw, _ := json.Marshal(data)                                           // maps of strings and numbers
		_, _ = io.WriteString(w, "event: "+kind+"\ndata: "+string(raw)+"\n\n") // a client that is gone wants no answer
	}
	head["content"], head["stop_reason"] = []object{}, nil
	send("message_start", object{"message": head})
	deltas := []object{{"type": "text_delta", "text": a.text}}
	blocks[0]["text"] = ""
	if a.command != "" {
		raw, _ := json.Marshal(args)
		blocks[1]["input"] = object{}
		deltas = append(deltas, object{"type": "input_json_delta", "partial_json": string(raw)})
	}
	for i, b := range blocks {
		send("content_block_start", object{"index": i, "content_block": b})
		send("content_block_delta", object{"index": i, "delta": deltas[i]})
		send("content_block_stop", object{"index": i})
	}
	send("message_delta", object{"delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": usage})
	send("message_stop", object{})
	w.(http.Flusher).Flush()
}
