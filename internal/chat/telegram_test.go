package chat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/inbox"
	"ralph/internal/testing/chatserver"
	"ralph/internal/testing/check"
)

// alone is a world with one chat.
func alone(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.opts.Bots[0].Chats = []string{"1234"}
	return w
}

func TestAQuestionIsAnsweredByAButton(t *testing.T) {
	t.Parallel()
	w := alone(t)
	q := w.ask(inbox.Request{Text: "Tabs or spaces? The password is hunter2.", Options: []string{"tabs", "spaces"}, Default: "tabs", ExpiresAt: start.Add(72 * 3600e9)})
	w.bots()
	sent := w.telegram.Await("sendMessage", q.ID)
	check.Equal(t, "text", q.ID+" question of "+q.Task+": Parser\n\nTabs or spaces? The password is •••.\n1  tabs\n2  spaces\n\n"+
		"answer by a button, or by a reply to this message; for another answer, begin it with other:\nif nobody answers until 2027-01-18 08:00 UTC, the answer is: tabs", sent.Text("text"))
	check.Equal(t, "buttons", []string{"1 tabs", q.ID + " 1", "2 spaces", q.ID + " 2"}, sent.Buttons())
	w.telegram.Press(room, ann, 102, q.ID+" 2")
	check.Equal(t, "told", q.ID+" answered: spaces", w.telegram.Await("answerCallbackQuery", q.ID).Text("text"))
	r := w.request(q.ID)
	check.That(t, r.Answer == "spaces" && r.AnsweredBy == "telegram:7 (@userh)" && r.AnsweredVia == "serve", "got %+v", r)
	edited := w.telegram.Await("editMessageText", q.ID)
	check.Contains(t, "text", q.ID+" was answered already, by telegram:7 (@userh) at 2027-01-15 08:00 UTC: spaces\n\n"+q.ID, edited.Text("text"))
	check.Equal(t, "buttons", []string(nil), edited.Buttons())
	w.telegram.Confirmed()
	check.Equal(t, "posts", 1, len(w.telegram.Calls("sendMessage")))
}

func TestAQuestionIsAnsweredByAReply(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ typed, want string }{
		"a text":          {"Spaces", "spaces"},
		"a number":        {"2", "spaces"},
		"another answer":  {"Other: use the test server", "use the test server"},
		"what is no file": {"other: @/etc/passwd", "@/etc/passwd"},
		"what is no flag": {"other: --option=1", "--option=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := alone(t)
			q := w.ask(inbox.Request{Text: "Tabs?", Options: []string{"tabs", "spaces"}})
			w.bots()
			w.telegram.Await("sendMessage", q.ID)
			w.telegram.Say(room, ann, "what is this?", nil) // until it is answered, the post is stored
			w.telegram.Await("sendMessage", "how the project stands")
			w.telegram.Say(room, ann, tc.typed, w.posted())
			w.telegram.Await("sendMessage", q.ID+" answered: ")
			check.Equal(t, "answer", tc.want, w.request(q.ID).Answer)
			w.telegram.Await("editMessageText", q.ID)
		})
	}
}

// The second press is told who was first, whoever it is.
func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	w := alone(t)
	w.opts.Bots[0].Chats = []string{"-99"}
	q := w.ask(inbox.Request{Text: "Tabs?", Options: []string{"tabs", "spaces"}})
	w.bots()
	w.telegram.Await("sendMessage", q.ID)
	w.telegram.Press(group, ann, 102, q.ID+" 1")
	w.telegram.Press(group, bob, 102, q.ID+" 2")
	w.telegram.Press(group, ann, 102, q.ID+" 1")
	w.telegram.Await("answerCallbackQuery", q.ID+" answered: tabs")
	for range 2 {
		check.Contains(t, "told", q.ID+" was answered already, by telegram:7 (@userh)", w.telegram.Await("answerCallbackQuery", "already").Text("text"))
	}
	check.Equal(t, "answer", "tabs", w.request(q.ID).Answer)
	check.Equal(t, "commands", []string{"telegram:7 (@userh): inbox answer " + q.ID + " --option=1"}, w.given())
}

// Two bots of two servers see the question open, and both answer: the inbox refuses the second.
func TestTheInboxRefusesASecondAnswer(t *testing.T) {
	t.Parallel()
	w := alone(t)
	q := w.ask(inbox.Request{Text: "Tabs?", Options: []string{"tabs", "spaces"}})
	w.bots()
	w.telegram.Await("sendMessage", q.ID)
	_, err := w.command(t.Context(), "carl", "", "inbox", "answer", q.ID, "--option=2")
	check.OK(t, err)
	_, err = w.command(t.Context(), "ann", "", "inbox", "answer", q.ID, "--option=1")
	check.Err(t, "second", "was answered already, by carl", err)
	check.Contains(t, "edited", "by carl", w.telegram.Await("editMessageText", q.ID).Text("text"))
}

func TestWhatIsOverIsEdited(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		end  func(g *dag.Graph, q inbox.Request) error
		want string
	}{
		"the task was reset":   {func(g *dag.Graph, q inbox.Request) error { return g.Tasks.Reset(q.Task) }, "was withdrawn"},
		"the task was deleted": {func(g *dag.Graph, q inbox.Request) error { return g.Tx().Exec(`DELETE FROM requests;`) }, "is gone"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := alone(t)
			q := w.ask(inbox.Request{Text: "Tabs?"})
			w.bots()
			w.telegram.Await("sendMessage", q.ID)
			w.update(func(g *dag.Graph) error { return tc.end(g, q) })
			check.Contains(t, "edited", q.ID+" "+tc.want, w.telegram.Await("editMessageText", q.ID).Text("text"))
		})
	}
}

// Each of these comes from elsewhere, or is no message of a person in a chat.
func TestStrangersAreIgnored(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q := w.ask(inbox.Request{Text: "Tabs?", Options: []string{"tabs"}})
	w.bots()
	for range w.opts.Bots[0].Chats {
		w.telegram.Await("sendMessage", q.ID)
	}
	forwarded := w.telegram.Message(room, ann, "/status", nil)
	forwarded["forward_origin"] = map[string]any{"type": "user"}
	mallory := int64(666)
	for _, push := range []func(){
		func() { w.telegram.Say(mallory, mallory, "/status", nil) },
		func() { w.telegram.Press(mallory, mallory, 102, q.ID+" 1") },
		func() { w.telegram.Press(mallory, ann, 102, q.ID+" 1") }, // a member elsewhere
		func() { w.telegram.Push(map[string]any{"message": forwarded}) },
		func() {
			w.telegram.Push(map[string]any{"edited_message": w.telegram.Message(room, ann, "/status", nil)})
		},
		func() { w.telegram.Push(map[string]any{"channel_post": w.telegram.Message(room, ann, "/status", nil)}) },
		func() {
			w.telegram.Push(map[string]any{"callback_query": map[string]any{"id": "x", "inline_message_id": "y", "from": map[string]any{"id": ann}, "data": q.ID + " 1"}})
		},
	} {
		push()
	}
	w.telegram.Confirmed()
	check.Contains(t, "warning", `telegram ($TELEGRAM_TOKEN): ignored 1 message that does not come from a configured chat, the last from chat "666"`, w.warning())
	w.pass(25 * 3600e9)
	w.telegram.Say(mallory, mallory, "hello?", nil)
	check.Contains(t, "warning", `ignored 7 messages`, w.warning())
	w.telegram.Confirmed()
	check.That(t, w.request(q.ID).State == inbox.Open && len(w.given()) == 0, "got %+v, %v", w.request(q.ID), w.given())
	for _, method := range []string{"sendMessage", "answerCallbackQuery", "editMessageText"} {
		for _, c := range w.telegram.Calls(method) {
			check.That(t, c.Text("chat_id") == "1234" || c.Text("chat_id") == "-99", "a stranger was sent %v", c)
		}
	}
	w.telegram.Press(group, mallory, 102, q.ID+" 1") // a member of the group: the group counts
	w.telegram.Await("answerCallbackQuery", "answered: tabs")
	check.Equal(t, "warnings", 2, len(w.warnings))
}

// The server is killed after the answer was carried out and before the offset was stored. Telegram delivers it again.
func TestAnAnswerThatIsDeliveredAgainCountsOnce(t *testing.T) {
	t.Parallel()
	w := alone(t)
	q := w.ask(inbox.Request{Text: "Tabs?", Options: []string{"tabs", "spaces"}})
	carryOut, carried := w.opts.Command, make(chan func(), 1)
	var end func()
	ready := make(chan struct{})
	w.opts.Command = func(ctx context.Context, who, stdin string, args ...string) (string, error) {
		printed, err := carryOut(ctx, who, stdin, args...)
		<-ready
		carried <- end
		<-ctx.Done() // it is killed here
		return printed, err
	}
	end = w.bots()
	close(ready)
	w.telegram.Await("sendMessage", q.ID)
	w.telegram.Press(room, ann, 102, q.ID+" 1")
	(<-carried)()
	check.Equal(t, "answer", "tabs", w.request(q.ID).Answer)
	check.Equal(t, "told", 0, len(w.telegram.Calls("answerCallbackQuery")))
	w.opts.Command = carryOut
	end = w.bots()
	check.Contains(t, "told", "was answered already, by telegram:7 (@userh)", w.telegram.Await("answerCallbackQuery", q.ID).Text("text"))
	w.telegram.Confirmed()
	w.telegram.Await("editMessageText", q.ID)
	end()
	check.Equal(t, "commands", 1, len(w.given()))
	audit := get(w, func(g *dag.Graph) (int, error) { list, err := g.History.Audits(10); return len(list), err })
	check.Equal(t, "entries of the audit", 1, audit)
	// And what is confirmed is not asked for again.
	before := len(w.telegram.Calls("getUpdates"))
	w.bots()
	w.telegram.Await("getMe", "")
	w.telegram.Say(room, ann, "/help", nil)
	w.telegram.Confirmed()
	offset := w.telegram.Calls("getUpdates")[before].Values["offset"].(float64)
	check.That(t, offset > 100, "got the offset %v, want the stored one", offset)
	check.Equal(t, "posts of the question", 1, len(w.telegram.Calls("sendMessage"))-1)
}

func TestButtonsOfBeforeARestartWork(t *testing.T) {
	t.Parallel()
	w := alone(t)
	q := w.ask(inbox.Request{Text: "Tabs?", Options: []string{"tabs", "spaces"}})
	end := w.bots()
	w.telegram.Await("sendMessage", q.ID)
	w.telegram.Say(room, ann, "/help", nil) // nobody is heard before the post is stored
	w.telegram.Confirmed()
	end()
	w.telegram.Press(room, ann, 102, q.ID+" 2") // while nobody listens
	w.bots()
	w.telegram.Await("answerCallbackQuery", q.ID+" answered: spaces")
	w.telegram.Await("editMessageText", q.ID)
	check.Equal(t, "posts", 1, len(w.telegram.Calls("sendMessage"))-1)
}

func TestOrders(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		chat int64
		text string
		want string // "" if nothing is said
	}{
		"status":                {room, "/status", "printed by status"},
		"without a slash":       {room, "Status", "printed by status"},
		"inbox":                 {room, "/inbox now", "printed by inbox"},
		"help":                  {room, "/help", "status: how the project stands"},
		"nonsense":              {room, "how are you?", "status: how the project stands"},
		"in a group":            {group, "/status", "printed by status"},
		"to us":                 {group, "/status@RalphBot", "printed by status"},
		"to another bot":        {group, "/status@otherbot", ""},
		"not to anybody":        {group, "what is the status?", ""},
		"an order of ralph":     {group, "/run --now", ""},
		"an order that is none": {room, "/run --now", "status: how the project stands"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.bots()
			w.telegram.Say(tc.chat, ann, tc.text, nil)
			w.telegram.Confirmed()
			if tc.want != "" {
				check.Contains(t, "said", tc.want, w.telegram.Await("sendMessage", "").Text("text"))
			}
			check.Equal(t, "messages", map[bool]int{true: 1}[tc.want != ""], len(w.telegram.Calls("sendMessage")))
		})
	}
}

func TestStoppingIsConfirmedOnce(t *testing.T) {
	t.Parallel()
	w := alone(t)
	w.bots()
	w.telegram.Say(room, ann, "/stop", nil)
	asked := w.telegram.Await("sendMessage", "Stop all runs of shop")
	check.Equal(t, "buttons", []string{"stop", "stop"}, asked.Buttons())
	w.telegram.Confirmed()
	check.Equal(t, "commands", 0, len(w.given()))
	id := w.posted()
	w.telegram.Press(room, bob, id, "stop")
	w.telegram.Await("answerCallbackQuery", "printed by stop")
	check.Equal(t, "text", "stop, by telegram:8 (@useri): printed by stop", w.telegram.Await("editMessageText", "stop").Text("text"))
	w.telegram.Press(room, ann, id, "stop")
	w.telegram.Await("answerCallbackQuery", "confirmed already")
	w.telegram.Press(room, ann, 4, "stop") // of a message that was never ours
	w.telegram.Await("answerCallbackQuery", "confirmed already")
	w.telegram.Say(room, ann, "/stop", nil)
	w.telegram.Await("sendMessage", "Stop all runs of shop")
	w.telegram.Confirmed()
	w.telegram.Break(func(c chatserver.Call) *chatserver.Fault { // so that the button stays
		if c.Method == "editMessageText" {
			return &chatserver.Fault{Status: 500}
		}
		return nil
	})
	w.pass(11 * 60e9)
	w.telegram.Await("editMessageText", "Nobody confirmed")
	w.telegram.Press(room, ann, w.posted(), "stop")
	w.telegram.Await("answerCallbackQuery", "too old")
	check.Equal(t, "commands", []string{"telegram:8 (@useri): stop"}, w.given())
}

func TestACredentialIsNotTakenInAChat(t *testing.T) {
	t.Parallel()
	w := alone(t)
	q := w.ask(inbox.NewCredential("STRIPE_KEY", "for the tests"))
	w.bots()
	sent := w.telegram.Await("sendMessage", q.ID)
	check.Contains(t, "text", "never write it here; on the machine: ralph inbox answer "+q.ID+" --credential (for STRIPE_KEY)", sent.Text("text"))
	check.Equal(t, "buttons", []string{"deny", q.ID + " deny"}, sent.Buttons())
	w.telegram.Press(room, ann, 102, q.ID+" deny")
	w.telegram.Await("answerCallbackQuery", q.ID)
	check.That(t, w.request(q.ID).Denied, "it is not denied")
}

func TestHostileAndLongText(t *testing.T) {
	t.Parallel()
	hostile := "\x1b[31m<!channel> <https://evil.example|click> &amp; *bold* `x` \u202egnp.exe\x00 "
	w := newWorld(t)
	w.opts.Bots = append(w.opts.Bots, w.slackBot())
	q := w.ask(inbox.Request{Text: hostile + strings.Repeat("😀<", 4000), Options: []string{"<!channel> " + strings.Repeat("w", 900), "no"}})
	w.bots()
	sent := w.telegram.Await("sendMessage", q.ID)
	text := sent.Text("text")
	check.That(t, !strings.ContainsAny(text, "\x1b\u202e\x00") && strings.Contains(text, "<!channel>"), "got %q", text[:200])
	check.Contains(t, "text", "(the rest is too long for this chat: see ralph inbox, or ralph report)", text)
	check.That(t, len(sent.Buttons()[0]) < 50, "got the label %s", sent.Buttons()[0])
	slack := w.slack.Await("chat.postMessage", q.ID)
	for _, part := range []string{slack.Text("text"), slack.Text("blocks"), strings.Join(slack.Buttons(), " ")} {
		check.That(t, !strings.Contains(part, "<!channel") && !strings.Contains(part, "<https"), "got %q", part)
	}
	check.Contains(t, "text", "&lt;!channel&gt; &lt;https://evil.example|click&gt; &amp;amp;", slack.Text("text"))
	check.Contains(t, "text", "too long for this chat", slack.Text("text"))
}

func TestHeldWorkIsAccepted(t *testing.T) {
	t.Parallel()
	w := alone(t)
	c := w.claim("Parser")
	var n int64
	w.update(func(g *dag.Graph) (err error) {
		m, err := g.Queue.Enter(c, dag.NewMerge{Target: "refs/heads/main", Base: "b", Work: "w", Patch: "p"})
		if err != nil {
			return err
		}
		n = m.N
		return g.Tx().Exec(`UPDATE merges SET state = 'held';`)
	})
	w.bots()
	about := fmt.Sprintf("m-%d", n)
	sent := w.telegram.Await("sendMessage", "waits for review: Parser")
	check.Equal(t, "buttons", []string{"accept", about + " accept", "reject", about + " reject"}, sent.Buttons())
	w.update(func(g *dag.Graph) error {
		return g.Tx().Exec(`UPDATE merges SET state = 'dropped', reason = 'rejected', ended_at = 1;`)
	})
	check.Contains(t, "edited", "does not wait any more: it is dropped: rejected", w.telegram.Await("editMessageText", "").Text("text"))
	w.telegram.Press(room, ann, 102, about+" accept")
	w.telegram.Await("answerCallbackQuery", "does not wait any more")
	check.Equal(t, "commands", 0, len(w.given()))
}
