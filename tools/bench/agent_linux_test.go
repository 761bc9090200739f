package bench

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// BenchmarkAgent measures ralph's own agent as the process that a run starts, with a model on loopback that answers at
// once: what a call of the model costs beside the model, and the most memory that the agent takes.
func BenchmarkAgent(b *testing.B) {
	for _, provider := range []string{"anthropic", "openai"} {
		b.Run(provider, func(b *testing.B) {
			for b.Loop() {
				t := newTable(b)
				calls := sized(20, 200)
				measureCalls(b, t, provider, "reads a small file", calls, func(int) (string, object) { return "read", object{"path": "small.txt"} },
					func(each time.Duration) string { return below(each.Seconds()*1000, 5) })
				measureCalls(b, t, provider, "runs `true`", sized(10, 100), func(int) (string, object) { return "bash", object{"command": "true"} },
					func(time.Duration) string { return "" }) // it starts bash, and what ends all that bash leaves behind

				m := newModel(provider)
				m.window = 32_000
				a := startAgent(b, provider, m)
				turns := sized(60, 200)
				m.calls, m.call = 1, func(int) (string, object) { return "read", object{"path": "large.txt"} }
				for i := range turns {
					a.prompt(fmt.Sprintf("Part %d: read large.txt once more.", i+1))
				}
				a.tell(t, fmt.Sprintf("%d turns in a window of %d tokens", turns, m.window))
				t.row(fmt.Sprintf("of its %d requests, longer than the window", m.asked), fmt.Sprint(m.tooLong), "", "", below(float64(m.tooLong), 0))
				t.row("the longest of them", fmt.Sprintf("%d tokens", m.longest), "", "", "")
				a.end()

				m = newModel(provider)
				a = startAgent(b, provider, m)
				m.calls, m.call = 1, func(int) (string, object) {
					return "bash", object{"command": "head -c 100000000 /dev/zero | tr '\\0' x"}
				}
				a.prompt("Print a lot.")
				a.tell(t, "after a tool that printed 100 MB")
				a.end()
			}
		})
	}
}

// measureCalls measures a turn with so many calls of the model, each but the last with a tool.
func measureCalls(b *testing.B, t *table, provider, what string, calls int, call func(int) (string, object), goal func(time.Duration) string) {
	m := newModel(provider)
	build(b, "../..", "./cmd/ralph")
	begin := time.Now()
	a := startAgent(b, provider, m)
	started := time.Since(begin)
	m.calls, m.call = 1, call
	a.prompt("Warm up.")
	m.calls, m.busy, m.asked = calls, 0, 0
	took := a.prompt("Do it many times.")
	if m.asked != calls+1 || m.failed != "" {
		b.Fatalf("got %d requests, want %d; %s", m.asked, calls+1, m.failed)
	}
	each := (took - m.busy) / time.Duration(m.asked)
	t.row("overhead of a call whose tool "+what+", by the clock", show(each), show(m.busy/time.Duration(m.asked))+" in the model", times(each, m.busy/time.Duration(m.asked)), goal(each))
	t.row("start of its process, up to a session", show(started), "", "", "")
	a.end()
}

type object = map[string]any

// model answers every prompt with so many calls of tools, and then with a word.
type model struct {
	*httptest.Server
	window int // in tokens of four bytes; 0 means that it takes anything

	calls int
	call  func(n int) (tool string, args object)

	mu                      sync.Mutex
	said                    int // calls since the last word
	asked, tooLong, longest int
	busy                    time.Duration
	failed                  string // what a tool said last that has failed
}

func newModel(provider string) *model {
	m := &model{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		one := object{"id": "claude-sonnet-4-5", "type": "model", "object": "model", "display_name": "m", "created_at": "2026-01-01T00:00:00Z", "created": 0}
		if m.window > 0 { // each of these is somebody's
			one["max_input_tokens"], one["max_model_len"], one["context_length"], one["context_window"] = m.window, m.window, m.window, m.window
		}
		_ = json.NewEncoder(w).Encode(object{"object": "list", "data": []any{one}, "has_more": false})
	})
	write := map[string]func(http.ResponseWriter, int, string, object){"anthropic": writeMessage, "openai": writeCompletion}[provider]
	answer := func(w http.ResponseWriter, r *http.Request) {
		begin := time.Now()
		body := must(io.ReadAll(r.Body))
		m.mu.Lock()
		defer m.mu.Unlock()
		tokens := len(body) / 4
		m.asked++
		m.longest = max(m.longest, tokens)
		if bytes.Contains(body, []byte(`"is_error":true`)) {
			m.failed = string(body)
		}
		switch {
		case m.window > 0 && tokens > m.window:
			m.tooLong++
			w.WriteHeader(400)
			_ = json.NewEncoder(w).Encode(object{"type": "error", "error": object{"type": "invalid_request_error", "code": "context_length_exceeded", "message": "prompt is too long"}})
		case m.said < m.calls && bytes.Contains(body, []byte(`"tools"`)):
			m.said++
			name, args := m.call(m.said)
			write(w, tokens, name, args)
		default:
			m.said = 0
			write(w, tokens, "", nil)
		}
		m.busy += time.Since(begin)
	}
	mux.HandleFunc("POST /v1/messages", answer)
	mux.HandleFunc("POST /v1/chat/completions", answer)
	m.Server = httptest.NewServer(mux)
	return m
}

func event(w io.Writer, kind string, data any) {
	if kind != "" {
		_, _ = fmt.Fprintf(w, "event: %s\n", kind)
	}
	_, _ = fmt.Fprintf(w, "data: %s\n\n", must(json.Marshal(data)))
}

func writeMessage(w http.ResponseWriter, tokens int, tool string, args object) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(data object) { event(w, data["type"].(string), data) }
	usage := object{"input_tokens": tokens, "output_tokens": 20}
	send(object{"type": "message_start", "message": object{"id": "m", "type": "message", "role": "assistant", "model": "m", "content": []any{}, "usage": usage}})
	send(object{"type": "content_block_start", "index": 0, "content_block": object{"type": "text", "text": ""}})
	send(object{"type": "content_block_delta", "index": 0, "delta": object{"type": "text_delta", "text": "Done."}})
	send(object{"type": "content_block_stop", "index": 0})
	stop := "end_turn"
	if tool != "" {
		stop = "tool_use"
		send(object{"type": "content_block_start", "index": 1, "content_block": object{"type": "tool_use", "id": fmt.Sprint("c", time.Now().UnixNano()), "name": tool, "input": object{}}})
		send(object{"type": "content_block_delta", "index": 1, "delta": object{"type": "input_json_delta", "partial_json": string(must(json.Marshal(args)))}})
		send(object{"type": "content_block_stop", "index": 1})
	}
	send(object{"type": "message_delta", "delta": object{"stop_reason": stop}, "usage": usage})
	send(object{"type": "message_stop"})
}

func writeCompletion(w http.ResponseWriter, tokens int, tool string, args object) {
	w.Header().Set("Content-Type", "text/event-stream")
	chunk := func(delta object, finish any) {
		event(w, "", object{"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": []any{object{"index": 0, "delta": delta, "finish_reason": finish}}})
	}
	chunk(object{"role": "assistant", "content": "Done."}, nil)
	stop := "stop"
	if tool != "" {
		stop = "tool_calls"
		chunk(object{"tool_calls": []any{object{"index": 0, "id": fmt.Sprint("c", time.Now().UnixNano()), "type": "function", "function": object{"name": tool, "arguments": string(must(json.Marshal(args)))}}}}, nil)
	}
	chunk(object{}, stop)
	event(w, "", object{"id": "c", "object": "chat.completion.chunk", "model": "m", "choices": []any{}, "usage": object{"prompt_tokens": tokens, "completion_tokens": 20, "total_tokens": tokens + 20}})
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

// agent is the process, and a client of it that allows everything.
type agent struct {
	b       *testing.B
	cmd     *exec.Cmd
	model   *model
	in      *bufio.Reader
	out     io.WriteCloser
	errs    bytes.Buffer
	id      int
	session string
}

// startAgent starts the program as it is shipped, and opens a session.
func startAgent(b *testing.B, provider string, m *model) *agent {
	dir, home := b.TempDir(), b.TempDir()
	check(os.WriteFile(filepath.Join(dir, "small.txt"), []byte("a line\n"), 0o600))
	check(os.WriteFile(filepath.Join(dir, "large.txt"), []byte(strings.Repeat("a line that is read again and again\n", 100)), 0o600))
	a := &agent{b: b, model: m, cmd: exec.CommandContext(b.Context(), build(b, "../..", "./cmd/ralph"), "agent", "--provider", provider)}
	a.cmd.Dir, a.cmd.Stderr = dir, &a.errs
	a.cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_STATE_HOME=" + filepath.Join(home, "state"),
		"ANTHROPIC_BASE_URL=" + m.URL, "ANTHROPIC_API_KEY=key", "OPENAI_BASE_URL=" + m.URL + "/v1", "OPENAI_API_KEY=key",
	}
	stdout := must(a.cmd.StdoutPipe())
	a.in, a.out = bufio.NewReaderSize(stdout, 1<<20), must(a.cmd.StdinPipe())
	check(a.cmd.Start())
	a.ask("initialize", object{"protocolVersion": 1, "clientCapabilities": object{}})
	var session struct{ SessionID string }
	check(json.Unmarshal(a.ask("session/new", object{"cwd": dir, "mcpServers": []any{}}), &session))
	a.session = session.SessionID
	return a
}

// prompt has the agent do a turn, and says how long that took.
func (a *agent) prompt(text string) time.Duration {
	begin := time.Now()
	a.ask("session/prompt", object{"sessionId": a.session, "prompt": []any{object{"type": "text", "text": text}}})
	return time.Since(begin)
}

// ask sends a request and waits for its answer. Meanwhile it allows what the agent asks for.
func (a *agent) ask(method string, params object) json.RawMessage {
	a.id++
	a.write(object{"jsonrpc": "2.0", "id": a.id, "method": method, "params": params})
	for {
		line, err := a.in.ReadBytes('\n')
		if err != nil {
			_ = a.cmd.Wait()
			a.b.Fatalf("%s: the agent ended: %v: %s", method, err, a.errs.String())
		}
		var m struct {
			ID            json.RawMessage
			Method        string
			Result, Error json.RawMessage
			Params        struct {
				Options []struct{ OptionID, Kind string }
			}
		}
		check(json.Unmarshal(line, &m))
		switch {
		case m.Method == "session/request_permission":
			for _, o := range m.Params.Options {
				if o.Kind == "allow_once" {
					a.write(object{"jsonrpc": "2.0", "id": m.ID, "result": object{"outcome": object{"outcome": "selected", "optionId": o.OptionID}}})
				}
			}
		case m.Method != "": // what it tells
		case string(m.ID) != strconv.Itoa(a.id):
		case m.Error != nil:
			a.b.Fatalf("%s: %s: %s", method, m.Error, a.errs.String())
		default:
			return m.Result
		}
	}
}

func (a *agent) write(message object) {
	must(a.out.Write(append(must(json.Marshal(message)), '\n')))
}

// memory is the most that the process has had so far, in megabytes: all, and without the pages of its program, which all
// processes of ralph share, and of which the kernel maps as many as it likes.
func (a *agent) memory() (all, own float64) {
	status := string(must(os.ReadFile(fmt.Sprintf("/proc/%d/status", a.cmd.Process.Pid))))
	read := func(name string) float64 {
		_, rest, _ := strings.Cut(status, name+":")
		return float64(must(strconv.Atoi(strings.Fields(rest)[0]))) * 1024 / 1e6
	}
	return read("VmHWM"), read("VmHWM") - read("RssFile")
}

func (a *agent) tell(t *table, when string) {
	all, own := a.memory()
	t.row("most memory of its own, "+when, fmt.Sprintf("%.1f MB", own), fmt.Sprintf("%.1f MB with the pages of the program", all), "", below(own, 50))
}

func (a *agent) end() {
	check(a.out.Close())
	_ = a.cmd.Wait() // how it ends when nobody talks to it any more is not what is measured
	a.model.Close()
}
