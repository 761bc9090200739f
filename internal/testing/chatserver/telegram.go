package chatserver

import (
	"encoding/json"
	"net/http"
	"strings"
	"unicode/utf16"

	"ralph/internal/testing/check"
)

// Telegram is a server of the Bot API with one bot, @ralphbot.
type Telegram struct {
	base
	token   string
	updates []map[string]any // that are not confirmed
}

// BotToken is the token that a Telegram server accepts.
const BotToken = "4711:s3cr3t-of-telegram"

// NewTelegram starts a server.
func NewTelegram(t check.TB) *Telegram {
	s := &Telegram{token: BotToken}
	s.next = 100
	s.serve(t, http.HandlerFunc(s.handle))
	return s
}

func (s *Telegram) handle(w http.ResponseWriter, r *http.Request) {
	token, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	c := Call{Method: method}
	if method == "sendMessage" {
		c.ID = s.number()
	}
	refuse := func(status int, why string) {
		answer(w, status, map[string]any{"ok": false, "error_code": status, "description": why})
	}
	if err := json.NewDecoder(r.Body).Decode(&c.Values); err != nil && r.Header.Get("Content-Type") == "application/json" {
		refuse(http.StatusBadRequest, "Bad Request: "+err.Error())
		return
	}
	if s.took(w, c) {
		return
	}
	if token != s.token {
		refuse(http.StatusUnauthorized, "Unauthorized")
		return
	}
	ok := func(result any) { answer(w, http.StatusOK, map[string]any{"ok": true, "result": result}) }
	text := c.Text("text")
	switch method {
	case "getMe":
		ok(map[string]any{"id": 4711, "is_bot": true, "username": "ralphbot"})
	case "getUpdates":
		ok(s.wait(r, c))
	case "sendMessage", "editMessageText":
		chat, isNumber := c.Values["chat_id"].(float64)
		switch {
		case !isNumber:
			refuse(http.StatusBadRequest, "Bad Request: chat not found")
		case text == "" || len(utf16.Encode([]rune(text))) > 4096:
			refuse(http.StatusBadRequest, "Bad Request: message is empty or too long")
		case c.Values["parse_mode"] != nil:
			refuse(http.StatusBadRequest, "Bad Request: can't parse entities")
		default:
			for i, b := range c.Buttons() {
				if i%2 == 1 && len(b) > 64 {
					refuse(http.StatusBadRequest, "Bad Request: BUTTON_DATA_INVALID")
					return
				}
			}
			id := c.Values["message_id"]
			if method == "sendMessage" {
				id = c.ID
			}
			ok(map[string]any{"message_id": id, "chat": map[string]any{"id": chat}, "text": text})
		}
	case "answerCallbackQuery":
		if len([]rune(text)) > 200 {
			refuse(http.StatusBadRequest, "Bad Request: MESSAGE_TOO_LONG")
			return
		}
		ok(true)
	default:
		refuse(http.StatusNotFound, "Not Found")
	}
}

func (s *Telegram) number() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next++
	return s.next
}

// wait confirms what is below the offset, and returns the rest once there is something.
func (s *Telegram) wait(r *http.Request, c Call) []map[string]any {
	for {
		s.mu.Lock()
		offset, _ := c.Values["offset"].(float64)
		for len(s.updates) > 0 && offset > 0 && float64(s.updates[0]["update_id"].(int64)) < offset {
			s.updates = s.updates[1:]
		}
		list, changed := append([]map[string]any{}, s.updates...), s.changed
		s.mu.Unlock()
		if len(list) > 0 {
			return list
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return nil
		case <-s.closing:
			return nil
		}
	}
}

// Push delivers an update until it is confirmed.
func (s *Telegram) Push(u map[string]any) {
	id := s.number()
	s.mu.Lock()
	defer s.mu.Unlock()
	u["update_id"] = id
	s.updates = append(s.updates, u)
	s.signal()
}

// Message is a message of a user in a chat, to be changed or pushed.
func (s *Telegram) Message(chat, user int64, text string, reply any) map[string]any {
	m := map[string]any{
		"message_id": s.number(), "text": text, "chat": map[string]any{"id": chat, "type": map[bool]string{true: "private", false: "group"}[chat > 0]},
		"from": map[string]any{"id": user, "username": "user" + string(rune('a'+user%26)), "is_bot": false},
	}
	if reply != nil {
		m["reply_to_message"] = map[string]any{"message_id": reply}
	}
	return m
}

// Say pushes a message. Reply is the number of the message that it replies to, or nil.
func (s *Telegram) Say(chat, user int64, text string, reply any) {
	s.Push(map[string]any{"message": s.Message(chat, user, text, reply)})
}

// Press pushes a press of a button with that data.
func (s *Telegram) Press(chat, user int64, message any, data string) {
	m := s.Message(chat, 4711, "", nil)
	m["message_id"] = message
	s.Push(map[string]any{"callback_query": map[string]any{"id": "cb" + data, "from": s.Message(chat, user, "", nil)["from"], "message": m, "data": data}})
}

// Confirmed waits until every update is.
func (s *Telegram) Confirmed() {
	s.t.Helper()
	s.until("updates are confirmed", func() bool { return len(s.updates) == 0 })
}
