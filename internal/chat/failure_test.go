package chat_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"ralph/internal/chat"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/jsonval"
	"ralph/internal/testing/chatserver"
	"ralph/internal/testing/check"
)

func TestFiveTriesThenAReport(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		fault chatserver.Fault
		want  string
	}{
		"a server that fails": {chatserver.Fault{Status: 500, Body: "oh"}, "getUpdates: the answer was 500 Internal Server Error"},
		"a dropped call":      {chatserver.Fault{}, "EOF"},
		"another program":     {chatserver.Fault{Status: 409, Body: `{"ok":false,"description":"Conflict: terminated by other getUpdates request"}`}, "another program uses this bot, too"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := alone(t)
			w.waits = make(chan time.Duration)
			w.telegram.Break(func(c chatserver.Call) *chatserver.Fault {
				if c.Method == "getUpdates" {
					return &tc.fault
				}
				return nil
			})
			end := w.bots()
			for _, want := range []time.Duration{1, 2, 4, 8, 16} {
				check.Equal(t, "wait", want*time.Second, <-w.waits)
				check.Equal(t, "warnings", 0, len(w.warned))
			}
			for range 3 {
				check.Equal(t, "wait", time.Minute, <-w.waits)
			}
			warning := w.warning()
			check.Equal(t, "warnings besides", 0, len(w.warned))
			check.Contains(t, "warning", "telegram ($TELEGRAM_TOKEN): receive: ", warning)
			check.Contains(t, "warning", tc.want, warning)
			check.Contains(t, "warning", "it is tried again every minute", warning)
			check.That(t, !strings.Contains(warning, "s3cr3t"), "the token is in %s", warning)
			w.telegram.Break(nil)
			w.telegram.Say(room, ann, "/status", nil)
			go func() {
				for range w.waits { // there may be failures on their way
				}
			}()
			defer close(w.waits)
			defer end()
			w.telegram.Await("sendMessage", "printed by status")
		})
	}
}

func TestATokenThatIsWrong(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waits = make(chan time.Duration)
	telegram, slack, app := w.telegramBot(), w.slackBot(), w.slackBot()
	telegram.Token, slack.Token, app.AppToken = "1:wrong", "xoxb-wrong", "xapp-wrong"
	for _, tc := range []struct {
		bot  chat.Bot
		want string
	}{
		{telegram, "telegram ($TELEGRAM_TOKEN): connect: the token in TELEGRAM_TOKEN is not accepted (401 Unauthorized): set the variable to the token of the bot and restart ralph serve"},
		{slack, "slack ($SLACK_TOKEN): connect: the token in SLACK_TOKEN is not accepted (invalid_auth)"},
		{app, "slack ($SLACK_TOKEN): receive: the token in SLACK_APP_TOKEN is not accepted (invalid_auth)"},
	} {
		w.opts.Bots = []chat.Bot{tc.bot}
		end := w.bots()
		check.Equal(t, "wait", time.Minute, <-w.waits)
		end()
		check.Contains(t, "warning", tc.want, w.warning())
	}
}

func TestOneBotDoesNotAffectAnother(t *testing.T) {
	t.Parallel()
	for name, fail := range map[string]func(w *world){
		"its token is wrong": func(w *world) { w.opts.Bots[0].Token = "1:wrong" },
		"a part of one panics": func(w *world) {
			open := w.opts.Open
			var n atomic.Int32
			w.opts.Open = func(ctx context.Context) (chat.Project, error) {
				if n.Add(1) == 1 {
					panic("out of order")
				}
				return open(ctx)
			}
		},
		"its server hangs": func(w *world) {
			w.telegram.Break(func(chatserver.Call) *chatserver.Fault { <-w.t.Context().Done(); return nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.opts.Bots = append(w.opts.Bots, w.slackBot())
			fail(w)
			q := w.ask(inbox.Request{Text: "Tabs?", Options: []string{"tabs"}})
			w.bots()
			w.slack.Await("chat.postMessage", q.ID)
			w.slack.Connected()
			w.slack.Press("C1", "U7", "1.2", q.ID+" 1")
			w.slack.Await("chat.postEphemeral", q.ID+" answered")
		})
	}
}

// A person is told of a bug, without what it is about, and the next update is heard.
func TestAPanicInAnAnswer(t *testing.T) {
	t.Parallel()
	w := alone(t)
	w.opts.Command = func(context.Context, string, string, ...string) (string, error) { panic("out of order") }
	w.bots()
	w.telegram.Say(room, ann, "/status", nil)
	check.Equal(t, "told", "this is a bug in ralph: the log of the server has more", w.telegram.Await("sendMessage", "bug").Text("text"))
	check.Contains(t, "warning", "out of order", w.warning())
	w.telegram.Say(room, ann, "/help", nil)
	w.telegram.Await("sendMessage", "how the project stands")
	w.telegram.Confirmed()
}

func TestALimitIsObeyed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.Bots = append(w.opts.Bots[:1], w.slackBot())
	w.opts.Bots[0].Chats, w.opts.Bots[1].Chats = []string{"1234"}, []string{"C1"}
	w.waits = make(chan time.Duration)
	var telegram, slack atomic.Int32
	w.telegram.Break(func(c chatserver.Call) *chatserver.Fault {
		if c.Method == "sendMessage" && telegram.Add(1) == 1 {
			return &chatserver.Fault{Status: 429, Body: `{"ok":false,"error_code":429,"description":"Too Many Requests: retry after 35","parameters":{"retry_after":35}}`}
		}
		return nil
	})
	w.slack.Break(func(c chatserver.Call) *chatserver.Fault {
		if c.Method == "chat.postMessage" && slack.Add(1) == 1 {
			return &chatserver.Fault{Status: 429, Header: map[string]string{"Retry-After": "40"}, Body: `{"ok":false,"error":"ratelimited"}`}
		}
		return nil
	})
	q := w.ask(inbox.Request{Text: "Tabs?"})
	w.bots()
	for asked := map[time.Duration]bool{}; !asked[35*time.Second] || !asked[40*time.Second]; { // besides tries that failed
		asked[<-w.waits] = true
	}
	w.telegram.Await("sendMessage", q.ID)
	w.telegram.Await("sendMessage", q.ID)
	w.slack.Await("chat.postMessage", q.ID)
	w.slack.Await("chat.postMessage", q.ID)
	check.Equal(t, "warnings", 0, len(w.warned))
}

// One chat is in its limit. In the other people are told and heard meanwhile, and so they are in the first, as far as they can be told.
func TestALimitOfOneChat(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.waits = make(chan time.Duration)
	w.telegram.Break(func(c chatserver.Call) *chatserver.Fault {
		if c.Method == "sendMessage" && c.Text("chat_id") == "1234" {
			return &chatserver.Fault{Status: 429, Body: `{"ok":false,"error_code":429,"parameters":{"retry_after":35}}`}
		}
		return nil
	})
	q := w.ask(inbox.Request{Text: "Tabs?"})
	w.bots()
	for w.telegram.Await("sendMessage", q.ID).Text("chat_id") != "1234" { // whose limit nobody waits for
	}
	w.telegram.Say(room, ann, "/inbox", nil)
	w.telegram.Say(group, bob, "/status", nil)
	w.telegram.Confirmed()
	check.Equal(t, "chat", "-99", w.telegram.Await("sendMessage", "printed by status").Text("chat_id"))
	w.telegram.Break(nil)
	for range 2 { // the question and the reply
		check.Equal(t, "wait", 35*time.Second, <-w.waits)
	}
	for w.telegram.Await("sendMessage", q.ID).Text("chat_id") != "1234" {
	}
	w.telegram.Await("sendMessage", "printed by inbox")
	w.telegram.Await("sendMessage", "printed by inbox")
	check.Equal(t, "warnings", 0, len(w.warned))
}

// A message that is refused for what it says is replaced by a note, once, and does not hold up what comes after it.
func TestAMessageThatIsRefused(t *testing.T) {
	t.Parallel()
	w := alone(t)
	w.telegram.Break(func(c chatserver.Call) *chatserver.Fault {
		if c.Method == "sendMessage" && strings.Contains(c.Text("text"), "odd") {
			return &chatserver.Fault{Status: 400, Body: `{"ok":false,"error_code":400,"description":"Bad Request: message text is odd"}`}
		}
		return nil
	})
	odd, q := w.ask(inbox.Request{Text: "An odd question?"}), w.ask(inbox.Request{Text: "Tabs?"})
	w.bots()
	w.telegram.Await("sendMessage", "An odd question?")
	note := w.telegram.Await("sendMessage", odd.ID+" cannot be shown here: see it with ralph inbox")
	w.telegram.Await("sendMessage", q.ID)
	check.Contains(t, "warning", "in chat 1234 a note is in place of "+odd.ID+": it was refused: 400 Bad Request: message text is odd", w.warning())
	events := filepath.Join(filepath.Dir(w.path), w.run.ID, "events.jsonl")
	for _, text := range []string{"odd", "even"} {
		w.pass(time.Second)
		data, err := jsonval.Marshal(event.Event{Type: event.AttemptEnded, Run: w.run.ID, At: w.clock(), Task: "t-1", Title: text, Status: event.TaskFailed, Outcome: "failed"})
		check.OK(t, err)
		touch(t, events, string(data)+"\n")
	}
	w.telegram.Await("sendMessage", "a notice cannot be shown here")
	w.telegram.Await("sendMessage", "even")
	w.telegram.Say(room, ann, "blue", note.ID)
	w.telegram.Await("sendMessage", odd.ID+" answered: blue")
}

// Connections that end as soon as they were opened are no reason to open one every second.
func TestAConnectionThatDoesNotLast(t *testing.T) {
	t.Parallel()
	w := inSlack(t)
	w.waits = make(chan time.Duration)
	w.bots()
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 60} {
		w.settle()
		w.slack.Drop()
		check.Equal(t, "wait", want*time.Second, <-w.waits)
	}
	check.Contains(t, "warning", "receive: the connection for events was lost", w.warning())
	w.settle()
	w.pass(time.Minute)
	w.slack.Drop()
	check.Equal(t, "wait after one that lasted", time.Second, <-w.waits)
	check.Contains(t, "warning", "receive: it works again", w.warning())
}

// A chat that does not want the bot is reported; the other one gets everything.
func TestAChatThatRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.Bots[0].Chats = []string{"1234", "-99"}
	q := w.ask(inbox.Request{Text: "Tabs?"})
	w.waits = make(chan time.Duration)
	w.telegram.Break(func(c chatserver.Call) *chatserver.Fault {
		if c.Method == "sendMessage" && c.Text("chat_id") == "1234" {
			return &chatserver.Fault{Status: 403, Body: `{"ok":false,"error_code":403,"description":"Forbidden: bot was blocked by the user"}`}
		}
		return nil
	})
	w.bots()
	for _, want := range []time.Duration{1, 2, 4, 8, 16, 60} {
		check.Equal(t, "wait", want*time.Second, <-w.waits)
	}
	check.Contains(t, "warning", "write to 1234: it was refused: 403 Forbidden: bot was blocked by the user", w.warning())
	for w.telegram.Await("sendMessage", q.ID).Text("chat_id") != "-99" {
	}
}

// Somebody deletes the database and restores another. The bots go on with that one.
func TestADatabaseThatIsReplaced(t *testing.T) {
	t.Parallel()
	w := alone(t)
	first := w.ask(inbox.Request{Text: "Tabs?"})
	w.bots()
	w.telegram.Await("sendMessage", first.ID)
	w.telegram.Say(room, ann, "/help", nil) // nobody is heard before the post is stored
	w.telegram.Confirmed()
	other := alone(t)
	second := other.ask(inbox.Request{Text: "Spaces?"})
	check.OK(t, other.db.Close()) // all that was written is in the file
	data, err := os.ReadFile(other.path)
	check.OK(t, err)
	check.OK(t, os.WriteFile(w.path+".new", data, 0o600))
	for _, end := range []string{"-wal", "-shm"} {
		check.OK(t, os.Remove(w.path+end))
	}
	check.OK(t, os.Rename(w.path+".new", w.path)) // at once: nobody can make an empty one meanwhile
	w.telegram.Await("sendMessage", second.ID)
}

func TestNotices(t *testing.T) {
	t.Parallel()
	w := alone(t)
	w.opts.Bots[0].Events = []string{"task_failed", "run_end", "question"}
	events := filepath.Join(filepath.Dir(w.path), w.run.ID, "events.jsonl")
	line := func(e event.Event) {
		w.pass(time.Second)
		e.Run, e.At = w.run.ID, w.clock()
		data, err := jsonval.Marshal(e)
		check.OK(t, err)
		touch(t, events, string(data)+"\n")
	}
	failed := func(n int) event.Event {
		return event.Event{Type: event.AttemptEnded, Task: fmt.Sprint("t-", n), Title: fmt.Sprint("Task ", n), Status: event.TaskFailed, Outcome: "failed", Reason: "no hunter2"}
	}
	w.now = start.Add(-time.Hour)
	line(failed(1)) // before there was a chat
	w.now = start
	end := w.bots()
	told := func() { // all that happened before
		w.telegram.Await("sendMessage", w.ask(inbox.Request{Text: "Tabs?"}).ID)
	}
	told()
	line(failed(2))
	line(event.Event{Type: event.Asked, Task: "t-2", Text: "Tabs?"})
	line(event.Event{Type: event.Waiting, Reason: "not asked for"})
	check.Equal(t, "text", "ralph: shop: task failed: Task 2\nno •••\nnext: ralph logs t-2", w.telegram.Await("sendMessage", "t-2").Text("text"))
	line(failed(3))
	w.telegram.Await("sendMessage", "Task 3")
	told()
	w.telegram.Say(room, ann, "/help", nil) // nobody is heard before the post is stored
	w.telegram.Confirmed()
	end()
	line(failed(4))
	line(event.Event{Type: event.RunEnded, Outcome: string(event.OutcomeFailure), Reason: "over"})
	w.bots()
	w.telegram.Await("sendMessage", "task failed: Task 4")
	check.Contains(t, "text", "failed: Task 1 (t-1): no •••\nfailed: Task 2", w.telegram.Await("sendMessage", "ralph report").Text("text"))
	check.Equal(t, "messages", 1+2+4, len(w.telegram.Calls("sendMessage")))
}
