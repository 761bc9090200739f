package chat_test

import (
	"context"
	"slices"
	"testing"

	"ralph/dag"
	"ralph/internal/chat"
	"ralph/internal/db"
	"ralph/internal/inbox"
	"ralph/internal/testing/check"
)

// inSlack is a world whose only bot is one of Slack, in channel C1.
func inSlack(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.opts.Bots = []chat.Bot{w.slackBot()}
	w.opts.Bots[0].Chats = []string{"C1"}
	return w
}

// thread is the post about a request.
func (w *world) thread(about string) string {
	w.t.Helper()
	list := get(w, func(g *dag.Graph) ([]string, error) {
		return db.All(g.Tx(), `SELECT message FROM chat_posts WHERE about = :about;`, (*db.Row).Text, ":about", about)
	})
	check.That(w.t, len(list) == 1, "got %d posts of %s", len(list), about)
	return list[0]
}

// settle waits until what was sent before is stored: nobody is heard meanwhile.
func (w *world) settle() {
	w.t.Helper()
	w.slack.Connected()
	w.slack.Say("C1", "U7", "<@UBOT> help", "")
	w.slack.Acknowledged()
}

func TestSlackAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.opts.Bots = []chat.Bot{w.slackBot()}
	q := w.ask(inbox.Request{Text: "Tabs & spaces?", Options: []string{"tabs", "spaces"}})
	free := w.ask(inbox.Request{Text: "Which server?"})
	w.bots()
	sent, again := w.slack.Await("chat.postMessage", q.ID), w.slack.Await("chat.postMessage", q.ID)
	channels := []string{sent.Text("channel"), again.Text("channel")}
	slices.Sort(channels)
	check.Equal(t, "channels", []string{"C1", "DU7"}, channels) // U7 by their conversation with the bot
	check.Contains(t, "text", "Tabs &amp; spaces?", sent.Text("text"))
	check.Equal(t, "buttons", []string{"1 tabs", q.ID + " 1", "2 spaces", q.ID + " 2"}, sent.Buttons())
	w.slack.Await("chat.postMessage", free.ID)
	w.slack.Await("chat.postMessage", free.ID)
	w.settle()
	w.slack.Press("C1", "U7", "1.2", q.ID+" 2")
	told := w.slack.Await("chat.postEphemeral", q.ID+" answered: spaces")
	check.That(t, told.Text("user") == "U7" && told.Text("channel") == "C1", "got %v", told)
	check.Equal(t, "by", "slack:U7 (@u7)", w.request(q.ID).AnsweredBy)
	for range 2 {
		check.Equal(t, "buttons", []string(nil), w.slack.Await("chat.update", q.ID).Buttons())
	}
	w.slack.Press("C1", "U8", "1.2", q.ID+" 1")
	w.slack.Await("chat.postEphemeral", "was answered already, by slack:U7")
	posts := get(w, func(g *dag.Graph) ([]string, error) {
		return db.All(g.Tx(), `SELECT message FROM chat_posts WHERE about = :about AND chat = 'C1';`, (*db.Row).Text, ":about", free.ID)
	})
	w.slack.Say("C1", "U8", "<https://test.example|test.example> &amp; &lt;b&gt;", posts[0])
	check.Equal(t, "in the thread", posts[0], w.slack.Await("chat.postMessage", free.ID+" answered").Text("thread_ts"))
	check.Equal(t, "answer", "https://test.example & <b>", w.request(free.ID).Answer)
	w.slack.Acknowledged()
}

func TestSlackOrders(t *testing.T) {
	t.Parallel()
	w := inSlack(t)
	w.bots()
	w.slack.Connected()
	w.slack.Say("C1", "U7", "what is the status?", "") // people talk to each other
	w.slack.Say("C9", "U7", "status", "")              // also where the bot was added by somebody
	w.slack.Say("C1", "U7", "<@UBOT> status", "")
	w.slack.Await("chat.postMessage", "printed by status")
	// Slack sends a mention twice, as a message and as a mention.
	m := w.slack.Write("C1", "U7", "<@UBOT> inbox", "")
	w.slack.Push("events_api", map[string]any{"event": m})
	m["type"] = "app_mention"
	w.slack.Push("events_api", map[string]any{"event": m})
	w.slack.Say("C1", "U7", "<@UBOT> stop", "")
	w.slack.Await("chat.postMessage", "Stop all runs of shop")
	w.slack.Acknowledged()
	w.slack.Press("C1", "U8", w.thread("stop"), "stop")
	w.slack.Await("chat.update", "stop, by slack:U8 (@u8): printed by stop")
	check.Equal(t, "commands", []string{"slack:U7: status", "slack:U7: inbox", "slack:U8 (@u8): stop"}, w.given())
}

func TestSlackIgnoresStrangers(t *testing.T) {
	t.Parallel()
	w := inSlack(t)
	q := w.ask(inbox.Request{Text: "Tabs?", Options: []string{"tabs"}})
	w.bots()
	w.slack.Await("chat.postMessage", q.ID)
	w.settle()
	w.slack.Say("DU9", "U9", "status", "")
	w.slack.Say("C9", "U9", "<@UBOT> status", "")
	w.slack.Press("C9", "U7", "1.2", q.ID+" 1")
	edited := w.slack.Write("C1", "U7", "<@UBOT> status", "")
	edited["subtype"] = "message_changed"
	robot := w.slack.Write("C1", "U7", "<@UBOT> status", "")
	robot["bot_id"] = "B2"
	for _, m := range []map[string]any{edited, robot} {
		w.slack.Push("events_api", map[string]any{"event": m})
	}
	w.slack.Acknowledged()
	check.Contains(t, "warning", `slack ($SLACK_TOKEN): ignored 1 message that does not come from a configured chat, the last from chat "DU9", user "U9"`, w.warning())
	check.That(t, w.request(q.ID).State == inbox.Open && len(w.given()) == 0 && len(w.warnings) == 1, "got %+v, %v, %v", w.request(q.ID), w.given(), w.warnings)
	for _, c := range append(w.slack.Calls("chat.postMessage"), w.slack.Calls("chat.postEphemeral")...) {
		check.Equal(t, "channel", "C1", c.Text("channel"))
	}
}

// The connection is lost. What was written meanwhile is read, and what was not acknowledged comes again.
func TestSlackCatchesUp(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(w *world, end func()){
		"the connection was lost": func(w *world, _ func()) { w.slack.Drop() },
		"Slack closes it": func(w *world, _ func()) {
			w.slack.Send(map[string]any{"type": "disconnect", "reason": "refresh_requested"})
		},
		"the server was restarted": func(w *world, end func()) { end(); w.slack.Drop(); w.bots() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := inSlack(t)
			q := w.ask(inbox.Request{Text: "Which server?"})
			w.slack.Write("C1", "U7", "<@UBOT> inbox", "") // before there was a bot
			end := w.bots()
			w.slack.Await("chat.postMessage", q.ID)
			w.settle()
			w.slack.Write("C1", "U7", "the test server", w.thread(q.ID))
			w.slack.Write("C1", "U7", "<@UBOT> status", "")
			w.slack.Write("C1", "U8", "nothing for bots", "")
			lose(w, end)
			w.slack.Await("chat.postMessage", q.ID+" answered")
			w.slack.Await("chat.postMessage", "printed by status")
			w.slack.Await("chat.update", q.ID)
			check.Equal(t, "answer", "the test server", w.request(q.ID).Answer)
			check.Equal(t, "commands", []string{"slack:U7: inbox answer " + q.ID + " -", "slack:U7: status"}, w.given())
		})
	}
}

// The server is killed after an answer was carried out and before it was acknowledged.
func TestSlackDeliversAgain(t *testing.T) {
	t.Parallel()
	w := inSlack(t)
	q := w.ask(inbox.Request{Text: "Tabs?", Options: []string{"tabs"}})
	carryOut, carried := w.opts.Command, make(chan struct{})
	w.opts.Command = func(ctx context.Context, who, stdin string, args ...string) (string, error) {
		printed, err := carryOut(ctx, who, stdin, args...)
		close(carried)
		<-ctx.Done()
		return printed, err
	}
	end := w.bots()
	w.slack.Await("chat.postMessage", q.ID)
	w.settle()
	w.slack.Press("C1", "U7", "1.2", q.ID+" 1")
	<-carried
	end()
	w.opts.Command = carryOut
	w.bots()
	w.slack.Await("chat.postEphemeral", "was answered already, by slack:U7 (@u7)")
	w.slack.Acknowledged()
	check.Equal(t, "commands", 1, len(w.given()))
}
