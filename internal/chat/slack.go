package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// slack speaks the Web API, and socket mode for what people do: an envelope is acknowledged after it was carried out. What was
// written while there was no connection is read from the history of the chats.
type slack struct {
	caller
	bot  Bot
	user string // of the bot
}

const (
	slackText     = 3000 // of a section
	slackEnvelope = 4 << 20
	slackPages    = 20               // of a history: more than anybody writes to a bot
	slackBeat     = 30 * time.Second // after which it is looked whether the connection is still there
)

func (s *slack) method(ctx context.Context, name string, in map[string]string, out any) error {
	token, variable := s.bot.Token, s.bot.TokenEnv
	if name == "apps.connections.open" {
		token, variable = s.bot.AppToken, s.bot.AppTokenEnv
	}
	form := url.Values{}
	for name, value := range in {
		form.Set(name, value)
	}
	a, err := s.call(ctx, "/api/"+name, token, form, callTimeout)
	switch {
	case err != nil:
		return err
	case slices.Contains([]string{"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired", "not_allowed_token_type"}, a.Error):
		return &tokenError{variable, a.Error}
	case a.Needed != "":
		return &refusedError{fmt.Sprintf("%s: the app lacks the scope %s: add it and install the app again", name, a.Needed)}
	case a.status != http.StatusOK || a.Error == "" && !a.OK || slices.Contains([]string{"internal_error", "fatal_error", "service_unavailable"}, a.Error):
		return fmt.Errorf("%s: the answer was %d %s", name, a.status, a.Error)
	case a.Error != "":
		return &refusedError{name + ": " + a.Error}
	case out == nil:
		return nil
	}
	return json.Unmarshal(a.body, out)
}

// hello also opens the conversations with people who are configured by their own IDs.
func (s *slack) hello(ctx context.Context) (string, []string, error) {
	var me struct {
		User string `json:"user_id"`
		Team string `json:"team_id"`
	}
	err := s.method(ctx, "auth.test", nil, &me)
	s.user = me.User
	chats := slices.Clone(s.bot.Chats)
	for i, id := range chats {
		if err == nil && (id[0] == 'U' || id[0] == 'W') {
			var opened struct{ Channel struct{ ID string } }
			err = s.method(ctx, "conversations.open", map[string]string{"users": id}, &opened)
			chats[i] = opened.Channel.ID
		}
	}
	return me.Team + "/" + me.User, chats, err
}

type slackEnvelopes struct {
	Type    string
	ID      string `json:"envelope_id"`
	Reason  string
	Payload struct {
		Event   slackEvent
		User    struct{ ID, Username string }
		Channel struct{ ID string }
		Message struct{ TS string }
		Actions []struct {
			Value string
			TS    string `json:"action_ts"`
		}
	}
}

type slackEvent struct {
	Type, Subtype, Channel, User, Text, TS string
	Bot                                    string `json:"bot_id"`
	Thread                                 string `json:"thread_ts"`
}

func (s *slack) receive(ctx context.Context, e *ear) error {
	var opened struct{ URL string }
	if err := s.method(ctx, "apps.connections.open", nil, &opened); err != nil {
		return err
	}
	conn, _, err := websocket.Dial(ctx, opened.URL, &websocket.DialOptions{HTTPClient: &http.Client{Transport: s.web.Transport()}}) //nolint:bodyclose // of a socket
	if err != nil {
		return errors.New("the connection for events could not be opened") // the address in the error is a ticket
	}
	conn.SetReadLimit(slackEnvelope)
	ctx, cancel := context.WithCancel(ctx)
	var beat sync.WaitGroup
	defer beat.Wait()
	defer cancel()
	defer conn.CloseNow() //nolint:errcheck // it is given up
	beat.Go(func() {      // if the other end is gone, reading would wait for ever
		for s.wait(ctx, slackBeat) == nil {
			ping, cancel := context.WithTimeout(ctx, 3*callTimeout) // it is answered while something is read, not while somebody is heard
			if conn.Ping(ping) != nil {
				_ = conn.CloseNow()
			} else {
				e.working()
			}
			cancel()
		}
	})
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("the connection for events was lost: %w", err)
		}
		var got slackEnvelopes
		_ = json.Unmarshal(data, &got) // what cannot be read has no type
		switch p := got.Payload; got.Type {
		case "hello":
			err = s.catchUp(ctx, e)
			e.working()
		case "disconnect":
			return errors.New("the connection for events was closed: " + got.Reason)
		case "events_api":
			err = s.heard(ctx, e, p.Event)
		case "interactive":
			for _, a := range p.Actions {
				id := p.Channel.ID + " " + p.User.ID + " " + a.TS
				e.hear(ctx, update{id: id, chat: p.Channel.ID, user: p.User.ID, name: p.User.Username, pressed: a.Value, message: p.Message.TS, query: a.TS})
			}
		}
		if err = cmp.Or(err, ctx.Err()); err == nil && got.ID != "" { // what was cut off comes again, and Write may still write
			err = conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, `{"envelope_id":%q}`, got.ID))
		}
		if err != nil {
			return err
		}
	}
}

// heard hears a message. How far was read is stored once it was carried out.
func (s *slack) heard(ctx context.Context, e *ear, m slackEvent) error {
	isMessage := m.Type == "app_mention" || m.Type == "message" && (m.Subtype == "" || m.Subtype == "thread_broadcast")
	text, mentioned := strings.CutPrefix(strings.TrimSpace(m.Text), "<@"+s.user+">")
	ours, direct := slices.Contains(e.chats, m.Channel), mentioned || strings.HasPrefix(m.Channel, "D")
	// Programs do not count, nor that somebody edited a message, nor what people say to each other where the bot was added.
	if !isMessage || m.Bot != "" || m.User == "" || m.User == s.user || !ours && !direct {
		return nil
	}
	u := update{id: m.Channel + " " + m.TS, chat: m.Channel, user: m.User, message: m.TS, text: strings.TrimSpace(written(text)), direct: direct}
	if m.Thread != m.TS {
		u.reply = m.Thread
	}
	e.hear(ctx, u)
	if !ours || ctx.Err() != nil {
		return ctx.Err()
	}
	return e.saveCursor(ctx, m.Channel+" ts", m.TS)
}

// catchUp hears what was written since the last message that was heard: in the chats, and in the threads of what is open.
func (s *slack) catchUp(ctx context.Context, e *ear) error {
	for _, chat := range e.chats {
		since, err := e.cursor(ctx, chat+" ts", old)
		if err == nil && since == "" { // the bot is new here
			now := e.now()
			err = e.saveCursor(ctx, chat+" ts", fmt.Sprintf("%d.%06d", now.Unix(), now.Nanosecond()/1000))
		} else if err == nil {
			err = s.catchUpIn(ctx, e, chat, since)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *slack) catchUpIn(ctx context.Context, e *ear, chat, since string) error {
	missed, err := s.history(ctx, "conversations.history", map[string]string{"channel": chat, "oldest": since})
	posts, perr := e.openPosts(ctx, chat)
	for _, p := range posts {
		replies, rerr := s.history(ctx, "conversations.replies", map[string]string{"channel": chat, "oldest": since, "ts": p.message})
		missed, err = append(missed, replies...), errors.Join(err, unlessRefused(rerr))
	}
	if err := errors.Join(err, perr); err != nil {
		return err
	}
	slices.SortFunc(missed, func(a, b slackEvent) int { return strings.Compare(a.TS, b.TS) })
	for _, m := range missed {
		if m.Type, m.Channel = "message", chat; m.TS > since { // the first of a thread always comes with it
			if err := s.heard(ctx, e, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *slack) history(ctx context.Context, method string, in map[string]string) (list []slackEvent, err error) {
	in["limit"] = "200"
	for range slackPages {
		var page struct {
			Messages []slackEvent
			Metadata struct {
				Next string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		err = s.method(ctx, method, in, &page)
		list = append(list, page.Messages...)
		if in["cursor"] = page.Metadata.Next; err != nil || page.Metadata.Next == "" {
			break
		}
	}
	return list, err
}

// send sends a message in which all that Slack could take for markup is escaped.
func (s *slack) send(ctx context.Context, chat string, m message) (string, error) {
	s = &slack{s.impatient(), s.bot, s.user}
	text := escape.Replace(fit(m.text, slackText, escapedUnits))
	blocks := []any{map[string]any{"type": "section", "text": map[string]any{"type": "mrkdwn", "text": text, "verbatim": true}}}
	var elements []any
	for i, b := range m.buttons {
		label := map[string]any{"type": "plain_text", "emoji": false, "text": strings.NewReplacer("<", "‹", ">", "›", "&", "+").Replace(b.label)}
		elements = append(elements, map[string]any{"type": "button", "action_id": fmt.Sprint("b", i), "value": b.data, "text": label})
	}
	if len(elements) > 0 {
		blocks = append(blocks, map[string]any{"type": "actions", "elements": elements})
	}
	data, _ := json.Marshal(blocks) // which always can be
	method, body := "chat.postMessage", map[string]string{"channel": chat, "text": text, "blocks": string(data), "unfurl_links": "false", "unfurl_media": "false"}
	switch {
	case m.edits != "":
		method, body["ts"] = "chat.update", m.edits
	case m.to.query != "":
		method, body["user"] = "chat.postEphemeral", m.to.user
	case m.to.reply != "":
		body["thread_ts"] = m.to.reply
	}
	var sent struct{ TS string }
	err := s.method(ctx, method, body, &sent)
	return sent.TS, err
}
