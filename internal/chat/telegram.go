package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// telegram speaks the Bot API. Updates are confirmed after they were carried out, by the offset of the next call.
type telegram struct {
	caller
	bot  Bot
	name string // by which others call the bot
}

const (
	telegramText  = 4096 // units of UTF-16
	telegramToast = 200
	telegramPoll  = 50 * time.Second // for which the server keeps a call that asks for news

	// The offset is forgotten then: after a week without updates Telegram begins to count elsewhere.
	telegramSilence = 6 * 24 * time.Hour
)

func (t *telegram) method(ctx context.Context, name string, timeout time.Duration, in, out any) error {
	a, err := t.call(ctx, "/bot"+t.bot.Token+"/"+name, "", in, timeout)
	if err != nil {
		return err
	}
	why := fmt.Sprintf("%d %s", a.status, cmp.Or(a.Description, http.StatusText(a.status)))
	switch {
	case a.status == http.StatusUnauthorized || a.status == http.StatusNotFound:
		return &tokenError{t.bot.TokenEnv, why}
	case a.status == http.StatusConflict:
		return fmt.Errorf("another program uses this bot, too: %s", why)
	case a.status == http.StatusBadRequest || a.status == http.StatusForbidden:
		return &refusedError{why}
	case a.status != http.StatusOK || !a.OK:
		return fmt.Errorf("%s: the answer was %s", name, why)
	case out == nil:
		return nil
	}
	return json.Unmarshal(a.Result, out)
}

func (t *telegram) hello(ctx context.Context) (string, []string, error) {
	var me telegramUser
	err := t.method(ctx, "getMe", callTimeout, struct{}{}, &me)
	t.name = me.Username
	return me.ID.String(), t.bot.Chats, err
}

type telegramUser struct {
	ID       json.Number
	Username string
}

type telegramMessage struct {
	ID   json.Number `json:"message_id"`
	From telegramUser
	Chat struct {
		ID   json.Number
		Type string
	}
	Text    string
	ReplyTo *telegramMessage `json:"reply_to_message"`
	Forward json.RawMessage  `json:"forward_origin"`
}

type telegramUpdate struct {
	ID      int64 `json:"update_id"`
	Message *telegramMessage
	Press   *struct {
		ID, Data string
		From     telegramUser
		Message  *telegramMessage
	} `json:"callback_query"`
}

func (t *telegram) receive(ctx context.Context, e *ear) error {
	for {
		stored, err := e.cursor(ctx, "offset", telegramSilence)
		if err != nil {
			return err
		}
		offset, _ := strconv.ParseInt(stored, 10, 64) // without one, Telegram knows what was confirmed
		in := map[string]any{"offset": offset, "timeout": int(telegramPoll.Seconds()), "allowed_updates": []string{"message", "callback_query"}}
		var updates []telegramUpdate
		if err := t.method(ctx, "getUpdates", telegramPoll+callTimeout, in, &updates); err != nil {
			return err
		}
		e.working()
		for _, u := range updates {
			e.hear(ctx, t.update(u))
			offset = u.ID + 1
		}
		if ctx.Err() != nil || len(updates) == 0 {
			continue // what was cut off is delivered again
		}
		if err := e.saveCursor(ctx, "offset", strconv.FormatInt(offset, 10)); err != nil {
			return err
		}
	}
}

func (t *telegram) update(raw telegramUpdate) update {
	u, m := update{id: strconv.FormatInt(raw.ID, 10)}, raw.Message
	switch press := raw.Press; {
	case press != nil && press.Message != nil:
		m, u.pressed, u.query = press.Message, press.Data, press.ID
		m.From = press.From
	case m == nil:
		u.odd = "it is no message" // but an edited one, or one of a channel
		return u
	default:
		u.text, u.direct = m.Text, m.Chat.Type == "private"
		if m.ReplyTo != nil {
			u.reply = m.ReplyTo.ID.String()
		}
		if len(m.Forward) > 0 {
			u.odd = "it was forwarded"
		}
	}
	u.chat, u.message, u.user, u.name = m.Chat.ID.String(), m.ID.String(), m.From.ID.String(), m.From.Username
	word, rest, _ := strings.Cut(u.text, " ")
	if command, name, _ := strings.Cut(word, "@"); strings.HasPrefix(command, "/") && strings.EqualFold(name, t.name) {
		u.text = command + " " + rest
	}
	return u
}

// send sends a message without a parse mode: no text is markup.
func (t *telegram) send(ctx context.Context, chat string, m message) (string, error) {
	t = &telegram{t.impatient(), t.bot, t.name}
	if m.to.query != "" {
		in := map[string]any{"callback_query_id": m.to.query, "text": fit(m.text, telegramToast, units), "show_alert": true}
		return "", unlessRefused(t.method(ctx, "answerCallbackQuery", callTimeout, in, nil)) // it is too old: nobody waits for it
	}
	rows, width := [][]any{}, 0
	for _, b := range m.buttons {
		if width += len(b.label); len(rows) == 0 || width > maxLabel { // short ones stand side by side
			rows, width = append(rows, nil), len(b.label)
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], map[string]string{"text": b.label, "callback_data": b.data})
	}
	method, body := "sendMessage", map[string]any{
		"chat_id": json.Number(chat), "text": fit(m.text, telegramText, units), "reply_markup": map[string]any{"inline_keyboard": rows},
		"link_preview_options": map[string]bool{"is_disabled": true},
	}
	if m.edits != "" {
		method, body["message_id"] = "editMessageText", json.Number(m.edits)
	} else if m.to.message != "" {
		body["reply_parameters"] = map[string]any{"message_id": json.Number(m.to.message), "allow_sending_without_reply": true}
	}
	var sent telegramMessage
	err := t.method(ctx, method, callTimeout, body, &sent)
	return sent.ID.String(), err
}
