package main

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// model is a language model on loopback that speaks Anthropic Messages, does the jobs of a plan, lies and
// fails as the plan says, and counts. It knows contestants by their prompts only, and answers all by one rule.
type model struct {
	*httptest.Server
	plan   plan
	limit  time.Duration // how long a rate limit lasts
	faults chan fault    // those that the derby has to carry out
	closed chan struct{}

	mu                        sync.Mutex
	attempts                  map[string][]string // prompts by job, in the order in which they came
	ordered                   map[string]bool     // prompts whose work was ordered, and honest
	worked                    map[string]int      // by job: how often honest work was done
	met                       map[string]bool     // jobs whose fault has happened
	orphans                   map[string]*orphan  // by job
	until                     time.Time           // the rate limit
	answered, refused, checks int                 // calls, without those that agents make for themselves; checks are for verdicts
	puzzled, log              []string            // prompts that the script has no answer to; everything
}

// orphan is an agent whose orchestrator is killed. Its answer is held until the next agent is at the same job, and then
// that one waits until the orphan is through, if it still lives: it is no matter of luck whether both are seen to work.
type orphan struct {
	key          string
	next, over   chan struct{}
	release, end func() // close them
}

func newModel(p plan) *model {
	m := &model{
		plan: p, limit: 12 * time.Second, faults: make(chan fault, 8), closed: make(chan struct{}), attempts: map[string][]string{},
		ordered: map[string]bool{}, worked: map[string]int{}, met: map[string]bool{}, orphans: map[string]*orphan{},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/messages", m.serve)
	mux.HandleFunc("POST /v1/messages/count_tokens", func(w http.ResponseWriter, _ *http.Request) { reply(w, 200, object{"input_tokens": 1000}) })
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
	gone          func()        // called if who asks is gone by then
	then          fault         // after the answer, or when it is held
}

var (
	// Where contestants say which of the jobs is meant: ralph, ralphy (twice), ralph-tui. A loop lets the agent choose.
	assigned = regexp.MustCompile(`(?:Assigned Task|## Task\n|TASK: |## Your Task: )[\s\S]*?job-([a-z]+)`)
	ralphID  = regexp.MustCompile(`Assigned Task[\s\S]*?(t-[0-9a-f]{8})`)
	looked   = regexp.MustCompile(`derby: ([a-z]+) (passes|fails)`)
	noCommit = regexp.MustCompile(`(?i)do not (?:create git commits|run git commit)`)
	reminder = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>`)
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
	told, seen := assigned.FindStringSubmatch(c.task), looked.FindStringSubmatch(c.tools)
	switch {
	case c.step == 0 && told != nil:
		return answer{text: "Let me see.", command: look(told[1])}
	case c.step == 0 && strings.Contains(c.prompt, "PLAN.md"):
		return answer{text: "Let me see.", command: `n=$(sed -n 's/^- \[ \].*job-\([a-z]*\).*/\1/p' PLAN.md | head -n 1); ` + look("$n")}
	case seen == nil:
		seen = []string{"", "", ""}
	}
	i := slices.IndexFunc(m.plan.jobs, func(j job) bool { return j.name == seen[1] })
	if i < 0 {
		m.puzzled = append(m.puzzled, c.prompt)
		return answer{text: "OK"}
	}
	j := m.plan.jobs[i]
	if c.step == 1 {
		return m.work(j, c, seen[2] == "passes", told == nil)
	}
	if o := m.orphans[j.name]; o != nil && o.key == c.key {
		o.end()
	}
	if m.ordered[c.key] {
		m.worked[j.name]++
		delete(m.ordered, c.key)
	}
	a := answer{text: "All is well, and the test passes.\n" + word(c.prompt+c.task)}
	if j.fault != "" && m.once(j) {
		a.then = j.fault
		if j.fault == killAgent {
			a.hold = make(chan struct{}) // nobody closes it: who asks is killed
		}
	}
	return a
}

// work orders what a job takes, and what the prompt asks for: to tick it off, to commit it.
func (m *model) work(j job, c conversation, passes, tick bool) answer {
	if j.fault == limited && m.once(j) {
		m.until = time.Now().Add(m.limit)
		m.answered, m.refused = m.answered-1, m.refused+1
		return answer{refuse: true}
	}
	if !slices.Contains(m.attempts[j.name], c.key) {
		m.attempts[j.name] = append(m.attempts[j.name], c.key)
	}
	a := answer{text: "It is there already."}
	if !passes {
		l := honest
		if c.key == m.attempts[j.name][0] {
			l = j.lie
		}
		m.ordered[c.key] = l == honest
		a = answer{text: "I do it.", command: j.work(l)}
	}
	if o := m.orphans[j.name]; o != nil && o.key != c.key {
		o.release()
		a.hold = o.over
	}
	if j.fault == killMid && m.once(j) {
		o := &orphan{key: c.key, next: make(chan struct{}), over: make(chan struct{})}
		o.release, o.end = sync.OnceFunc(func() { close(o.next) }), sync.OnceFunc(func() { close(o.over) })
		m.orphans[j.name] = o
		a.then, a.hold, a.gone = j.fault, o.next, o.end
	}
	if tick {
		a.command += "sed -i '/job-" + j.name + ")/s/\\[ \\]/[x]/' PLAN.md\n"
	}
	if asked := c.prompt + c.task; strings.Contains(strings.ToLower(asked), "commit") && !noCommit.MatchString(asked) {
		a.command += "git add -A src tests $(ls PLAN.md 2>/dev/null); git commit -qm '" + j.title() + "'\n"
	}
	a.command += "true"
	return a
}

func look(name string) string {
	return `if sh "tests/` + name + `.sh" >/dev/null 2>&1; then echo "derby: ` + name + ` passes"; else echo "derby: ` + name + ` fails"; fi`
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

func (m *model) once(j job) bool {
	met := m.met[j.name]
	m.met[j.name] = true
	return !met
}

// wait waits until a limit is over, as a person does who has read of one.
func (m *model) wait() {
	m.mu.Lock()
	left := time.Until(m.until)
	m.mu.Unlock()
	<-time.After(left)
}

// call is what an agent asks.
type call struct {
	Model    string
	Stream   bool
	Messages []struct {
		Role    string
		Content json.RawMessage // a string, or blocks
	}
	Metadata struct {
		User string `json:"user_id"` // Claude Code puts its session in here
	}
	Tools []struct{ Name string }
}

// conversation is a call, as the script sees it.
type conversation struct {
	key    string // the session and which prompt in it
	prompt string // the last one
	task   string // the last one that assigns a job; if there is none, the first one
	tools  string // what tools said since
	step   int    // how many tools were called since
}

// read finds the prompt in a call: what a user says beside the results of tools and what the agent reminds itself of.
func (c call) read() conversation {
	var out conversation
	prompts := 0
	for _, msg := range c.Messages {
		var blocks []struct {
			Type, Text string
			Content    json.RawMessage
		}
		said, results := "", ""
		_ = json.Unmarshal(msg.Content, &said) // it has blocks if it is no string
		_ = json.Unmarshal(msg.Content, &blocks)
		for _, b := range blocks {
			switch b.Type {
			case "text":
				said += b.Text
			case "tool_result":
				results += string(b.Content) + "\n"
			case "tool_use":
				out.step++
			}
		}
		out.tools += results
		said = reminder.ReplaceAllString(said, "")
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
	body, err := io.ReadAll(hr.Body) // all of it, or nobody notices when the client is gone
	if err != nil || json.Unmarshal(body, &c) != nil {
		return
	}
	conv, bash := c.read(), ""
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
	m.mu.Lock()
	m.log = append(m.log, fmt.Sprintf("%s step %d, prompt %.60q, tools %.80q: %q, refused %v, held %v, then %q",
		time.Now().Format("15:04:05.000"), conv.step, conv.prompt, conv.tools, a.text+a.command, a.refuse, a.hold != nil, a.then))
	m.mu.Unlock()
	if a.hold != nil {
		if a.then != "" {
			m.faults <- a.then
			a.then = ""
		}
		select {
		case <-a.hold:
		case <-hr.Context().Done():
			if a.gone != nil {
				a.gone()
			}
			return
		case <-m.closed:
			return
		}
	}
	if a.refuse {
		w.Header().Set("Retry-After", fmt.Sprint(int(m.limit.Seconds())))
		w.Header().Set("X-Should-Retry", "false") // the agent is to tell, and not to wait for it itself
		reply(w, 429, object{"type": "error", "error": object{"type": "rate_limit_error", "message": "This request would exceed your rate limit. Try again later."}})
		return
	}
	write(w, c, a, bash)
	if a.then != "" {
		m.faults <- a.then
	}
}

type object = map[string]any

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, encode(v)) // a client that is gone wants no answer
}

// write says an answer as Anthropic does, streaming or not.
func write(w http.ResponseWriter, c call, a answer, bash string) {
	head := object{
		"id": "msg_" + rand.Text(), "type": "message", "role": "assistant", "model": c.Model,
		"stop_reason": "end_turn", "stop_sequence": nil, "usage": object{"input_tokens": 1000, "output_tokens": 50},
	}
	blocks := []object{{"type": "text", "text": a.text}}
	args := object{"command": a.command, "description": "Work on the job"}
	if a.command != "" {
		head["stop_reason"] = "tool_use"
		blocks = append(blocks, object{"type": "tool_use", "id": "toolu_" + rand.Text(), "name": bash, "input": args})
	}
	if !c.Stream {
		head["content"] = blocks
		reply(w, 200, head)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind string, data object) {
		data["type"] = kind
		_, _ = io.WriteString(w, "event: "+kind+"\ndata: "+encode(data)+"\n\n") // a client that is gone wants no answer
	}
	last := object{"delta": object{"stop_reason": head["stop_reason"], "stop_sequence": nil}, "usage": head["usage"]}
	head["content"], head["stop_reason"] = []object{}, nil
	send("message_start", object{"message": head})
	deltas := []object{{"type": "text_delta", "text": a.text}, {"type": "input_json_delta", "partial_json": encode(args)}}
	blocks[0]["text"], blocks[len(blocks)-1]["input"] = "", object{}
	for i, b := range blocks {
		send("content_block_start", object{"index": i, "content_block": b})
		send("content_block_delta", object{"index": i, "delta": deltas[i]})
		send("content_block_stop", object{"index": i})
	}
	send("message_delta", last)
	send("message_stop", object{})
	w.(http.Flusher).Flush()
}
