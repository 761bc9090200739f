package chatserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/coder/websocket"

	"ralph/internal/testing/check"
)

// The tokens that a Slack server accepts.
const (
	SlackToken    = "xoxb-s3cr3t-of-slack"
	SlackAppToken = "xapp-s3cr3t-of-slack"
)

// Slack is a server of the Web API and of socket mode with one bot, UBOT.
type Slack struct {
	base
	messages []map[string]any // what people wrote, in all channels
	unacked  []map[string]any // envelopes
	conn     *websocket.Conn
}

// NewSlack starts a server.
func NewSlack(t check.TB) *Slack {
	s := &Slack{}
	s.next = 1_800_000_000_000_000
	s.serve(t, http.HandlerFunc(s.handle))
	return s
}

func (s *Slack) handle(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/socket" {
		s.socket(w, r)
		return
	}
	c := Call{Method: strings.TrimPrefix(r.URL.Path, "/api/"), Values: map[string]any{}, Auth: strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")}
	_ = r.ParseForm()
	for name := range r.PostForm {
		c.Values[name] = r.PostForm.Get(name)
	}
	if s.took(w, c) {
		return
	}
	reply := func(v map[string]any) {
		v["ok"] = v["error"] == nil
		answer(w, http.StatusOK, v)
	}
	want := SlackToken
	if c.Method == "apps.connections.open" {
		want = SlackAppToken
	}
	if c.Auth != want {
		reply(map[string]any{"error": "invalid_auth"})
		return
	}
	switch c.Method {
	case "auth.test":
		reply(map[string]any{"user_id": "UBOT", "team_id": "T1", "bot_id": "B1"})
	case "conversations.open":
		reply(map[string]any{"channel": map[string]any{"id": "D" + c.Text("users")}})
	case "apps.connections.open":
		reply(map[string]any{"url": strings.Replace(s.URL, "http", "ws", 1) + "/socket?ticket=1"})
	case "chat.postMessage", "chat.update", "chat.postEphemeral":
		reply(s.sent(c))
	case "conversations.history", "conversations.replies":
		reply(s.history(c))
	default:
		reply(map[string]any{"error": "unknown_method"})
	}
}

func (s *Slack) sent(c Call) map[string]any {
	var blocks []struct {
		Text struct{ Text string }
	}
	if err := json.Unmarshal([]byte(c.Text("blocks")), &blocks); err != nil || len(blocks) == 0 || blocks[0].Text.Text == "" || len([]rune(blocks[0].Text.Text)) > 3000 {
		return map[string]any{"error": "invalid_blocks"}
	}
	for _, b := range c.Buttons() {
		if len([]rune(b)) > 75 {
			return map[string]any{"error": "invalid_blocks"}
		}
	}
	return map[string]any{"ts": s.stamp(), "channel": c.Text("channel")}
}

func (s *Slack) stamp() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return fmt.Sprintf("%d.%06d", s.next/1_000_000, s.next%1_000_000)
}

// history pages by one, the newest first, as far as it is newer than oldest. Replies are not in the history of a channel.
func (s *Slack) history(c Call) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []map[string]any
	for _, m := range s.messages {
		thread, _ := m["thread_ts"].(string)
		if m["channel"] == c.Text("channel") && thread == c.Text("ts") && m["ts"].(string) > c.Text("oldest") {
			list = append([]map[string]any{m}, list...)
		}
	}
	at := 0
	_, _ = fmt.Sscan(c.Text("cursor"), &at)
	next := ""
	if at+1 < len(list) {
		next = fmt.Sprint(at + 1)
	}
	if at < len(list) {
		list = list[at : at+1]
	}
	return map[string]any{"messages": list, "response_metadata": map[string]any{"next_cursor": next}}
}

func (s *Slack) socket(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow() //nolint:errcheck // of a test
	ctx := r.Context()
	_ = conn.Write(ctx, websocket.MessageText, []byte(`{"type":"hello","num_connections":1}`)) // before anything that is pushed
	s.mu.Lock()
	s.conn = conn
	pending := slices.Clone(s.unacked)
	s.signal()
	s.mu.Unlock()
	for _, e := range pending {
		s.write(e)
	}
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		var ack struct {
			ID string `json:"envelope_id"`
		}
		_ = json.Unmarshal(data, &ack)
		s.mu.Lock()
		for i, e := range s.unacked {
			if e["envelope_id"] == ack.ID {
				s.unacked = append(s.unacked[:i:i], s.unacked[i+1:]...)
				break
			}
		}
		s.signal()
		s.mu.Unlock()
	}
}

func (s *Slack) write(v map[string]any) {
	data, _ := json.Marshal(v)
	s.mu.Lock()
	conn := s.conn
	s.mu.Unlock()
	if conn != nil {
		_ = conn.Write(context.Background(), websocket.MessageText, data)
	}
}

// Send sends something that is no envelope, such as a disconnect.
func (s *Slack) Send(v map[string]any) { s.write(v) }

// Push delivers an envelope, again after each reconnection until it is acknowledged.
func (s *Slack) Push(kind string, payload map[string]any) {
	e := map[string]any{"type": kind, "envelope_id": "e" + s.stamp(), "payload": payload}
	s.mu.Lock()
	s.unacked = append(s.unacked, e)
	s.mu.Unlock()
	s.write(e)
}

// Write stores what somebody writes, and returns it as an event. Nobody is told: the server may have no connection.
func (s *Slack) Write(channel, user, text, thread string) map[string]any {
	m := map[string]any{"type": "message", "channel": channel, "user": user, "text": text, "ts": s.stamp()}
	if thread != "" {
		m["thread_ts"] = thread
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = append(s.messages, m)
	return m
}

// Say writes something, and delivers it.
func (s *Slack) Say(channel, user, text, thread string) {
	s.Push("events_api", map[string]any{"type": "event_callback", "event": s.Write(channel, user, text, thread)})
}

// Press delivers a press of a button.
func (s *Slack) Press(channel, user, message, data string) {
	s.Push("interactive", map[string]any{
		"type": "block_actions", "user": map[string]any{"id": user, "username": strings.ToLower(user)}, "channel": map[string]any{"id": channel},
		"message": map[string]any{"ts": message}, "actions": []map[string]any{{"action_id": "b0", "value": data, "action_ts": s.stamp()}},
	})
}

// Acknowledged waits until every envelope is.
func (s *Slack) Acknowledged() {
	s.t.Helper()
	s.until("envelopes are acknowledged", func() bool { return len(s.unacked) == 0 })
}

// Connected waits for a connection that is another one than the last.
func (s *Slack) Connected() {
	s.t.Helper()
	s.until("a connection", func() bool { return s.conn != nil })
}

// Drop ends the connection.
func (s *Slack) Drop() {
	s.mu.Lock()
	conn := s.conn
	s.conn = nil
	s.mu.Unlock()
	if conn != nil {
		_ = conn.CloseNow()
	}
}
