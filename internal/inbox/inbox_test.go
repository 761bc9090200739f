package inbox_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/inbox"
	"ralph/internal/testing/check"
)

func TestAQuestionKeepsItsTaskOutOfTheQueueUntilItIsAnswered(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("paint")
	c := w.claim(task)
	q := w.ask(c, question("Which colour?", "red", "blue"))
	w.release(c)
	w.sound()
	got := w.task(task)
	check.Equal(t, "state and ready", [2]any{"asks", false}, [2]any{got.State(start), got.Ready(start)})
	why := get(w, func(g *dag.Graph) ([]dag.Reason, error) { return g.Tasks.Why(got) })
	check.Equal(t, "why", []dag.Reason{{Kind: "asks", Text: "it waits for an answer (ralph inbox answer " + q.ID + "): Which colour?"}}, why)
	if _, ok := w.tryClaim(task); ok {
		t.Error("it was claimed while nobody had answered")
	}
	w.pass(9 * time.Hour)
	check.OK(t, w.answer(q.ID, inbox.Reply{Option: 2}))
	w.sound()
	w.claim(task)
	answers := get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Answers(g, w.trust, task) })
	q.State, q.Answer, q.AnsweredAt, q.AnsweredBy, q.AnsweredVia = inbox.Answered, "blue", start.Add(9*time.Hour), "ann", "test"
	check.Equal(t, "answers", []inbox.Request{q}, answers)
	audits := get(w, func(g *dag.Graph) ([]dag.AuditEntry, error) { return g.History.Audits(1) })
	check.Equal(t, "audit", []dag.AuditEntry{{
		At: start.Add(9 * time.Hour), Actor: dag.Actor{Who: "ann", Via: "test", Action: "answer"}, Task: task, Request: q.ID, Text: "blue",
	}}, audits)
}

// TestTheFirstAnswerCounts answers at once from two processes.
func TestTheFirstAnswerCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	q := w.ask(w.claim(w.add("paint")), question("Which colour?"))
	goA, saidA := answering(t, w.path, "bob")
	goB, saidB := answering(t, w.path, "eve")
	goA()
	goB()
	said := map[string]string{"bob": saidA(), "eve": saidB()}
	got := w.request(q.ID)
	check.Equal(t, "answer", "by "+got.AnsweredBy, got.Answer)
	for who, text := range said {
		if who == got.AnsweredBy {
			check.Equal(t, who, "", text)
		} else {
			check.Contains(t, who, q.ID+" was answered already, by "+got.AnsweredBy, text)
			check.Contains(t, who, got.Answer, text)
		}
	}
	check.Equal(t, "audit", 1, len(get(w, func(g *dag.Graph) ([]dag.AuditEntry, error) { return g.History.Audits(10) })))
	w.sound()
}

func TestLateAnswersAreRefusedWithWhatBecameOfTheTask(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		do   func(*dag.Graph, string) error
		want string
	}{
		"done":    {func(g *dag.Graph, id string) error { return g.Tasks.Finish(id) }, "the task is done"},
		"failed":  {func(g *dag.Graph, id string) error { return g.Tasks.GiveUp(id, "no") }, "the task is failed"},
		"reset":   {func(g *dag.Graph, id string) error { return g.Tasks.Reset(id) }, "the task was reset"},
		"tree":    {func(g *dag.Graph, id string) error { _, err := g.Tasks.ResetTree(id); return err }, "the task was reset"},
		"deleted": {func(g *dag.Graph, id string) error { return g.Plan.Delete(id) }, "the task was deleted"},
	}
	for name, test := range tests {
		for _, running := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", running: ", running), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				task := w.add("paint")
				c := w.claim(task)
				q := w.ask(c, question("Which colour?"))
				if !running {
					w.release(c)
				}
				w.update(func(g *dag.Graph) error { return test.do(g, task) })
				w.sound()
				err := w.answer(q.ID, inbox.Reply{Text: "red"})
				check.That(t, errors.Is(err, dag.ErrRefused), "got %v", err)
				check.Err(t, "a late answer", test.want, err)
				if running {
					err = w.try(func(g *dag.Graph) error { _, err := inbox.Ask(g, w.trust, c, question("Again?")); return err })
					check.That(t, errors.Is(err, dag.ErrLost), "got %v, want a lost claim", err)
				}
			})
		}
	}
}

func TestAnswersAreForgottenWithTheResetOfTheirTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("paint")
	c := w.claim(task)
	q := w.ask(c, question("Which colour?"))
	w.release(c)
	check.OK(t, w.answer(q.ID, inbox.Reply{Text: "red"}))
	answers := func() int {
		return len(get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Answers(g, w.trust, task) }))
	}
	check.Equal(t, "answers", 1, answers())
	w.update(func(g *dag.Graph) error { return g.Tasks.Reset(task) })
	check.Equal(t, "answers after a reset", 0, answers())
	check.Equal(t, "what is on record", inbox.Answered, w.request(q.ID).State)
}

// TestOnlyWhatAsksForTheSameIsTheSameRequest: the words may be equal, and what they are about another.
func TestOnlyWhatAsksForTheSameIsTheSameRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.claim(w.add("pay"))
	may := func(detail string) inbox.Request {
		return inbox.Request{Kind: inbox.Permission, Text: "May it?", Detail: detail}
	}
	for name, two := range map[string][2]inbox.Request{
		"credentials": {inbox.NewCredential("STRIPE_API_KEY", "for the tests"), inbox.NewCredential("GITHUB_TOKEN", "for the tests")},
		"details":     {may(`{"subject":"rm a"}`), may(`{"subject":"rm b"}`)},
	} {
		first, second := w.ask(c, two[0]), w.ask(c, two[1])
		check.That(t, first.ID != second.ID, "%s: one request for both: %+v", name, second)
		check.Equal(t, name+": asked again", [2]string{first.ID, second.ID}, [2]string{w.ask(c, two[0]).ID, w.ask(c, two[1]).ID})
	}
}

func TestWhatNobodyAnswersExpiresToItsDefault(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("paint")
	c := w.claim(task)
	q := question("Which colour?", "red", "blue")
	q.Default, q.ExpiresAt = "red", start.Add(time.Hour)
	asked := w.ask(c, q)
	w.release(c)
	expire := func() (n int) {
		w.update(func(g *dag.Graph) error { list, _, err := inbox.Expire(g, w.trust); n = len(list); return err })
		return n
	}
	w.pass(time.Hour - time.Millisecond)
	check.Equal(t, "expired before its time", 0, expire())
	w.pass(time.Millisecond)
	check.Equal(t, "expired", 1, expire())
	got := w.request(asked.ID)
	check.Equal(t, "answer", [2]any{inbox.Expired, "red"}, [2]any{got.State, got.Answer})
	check.Err(t, "a late answer", "expired at 2026-01-03 00:00 UTC: nobody had answered; the answer is now red", w.answer(asked.ID, inbox.Reply{Text: "blue"}))
	w.claim(task)
}

func TestRequestsHaveLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("paint")
	c := w.claim(task)
	long := w.ask(c, question(strings.Repeat("€", 1<<20)))
	check.That(t, len(long.Text) <= inbox.MaxText, "%d bytes are stored", len(long.Text))
	check.That(t, strings.HasSuffix(long.Text, "€\n(cut here: it was 3.0 MiB long, and 16 KiB is the limit)"), "%q", long.Text[len(long.Text)-100:])
	check.Equal(t, "no secrets", "log in with •••?", w.ask(c, question("log in with hunter2?\n")).Text)
	refused := func(want string, r inbox.Request) {
		t.Helper()
		check.Err(t, want, want, w.try(func(g *dag.Graph) error { _, err := inbox.Ask(g, w.trust, c, r); return err }))
	}
	refused("needs a text", question(" \n"))
	refused("at most 20 options, not 21", question("?", strings.Split(strings.Repeat("o ", 21), " ")[:21]...))
	refused("option 2 is empty", question("?", "a", " "))
	check.Equal(t, "asked again", long.ID, w.ask(c, question(strings.Repeat("€", 1<<20))).ID)
	for i := 2; i < inbox.MaxAsked; i++ {
		w.ask(c, question(fmt.Sprint("question ", i)))
	}
	refused("an attempt may ask 20 times", question("one more"))
	check.Equal(t, "asks", inbox.MaxAsked, w.task(task).Asks)
	check.Err(t, "an option", "has no option 3", w.answer(long.ID, inbox.Reply{Option: 3}))
	check.Err(t, "nothing", "is empty", w.answer(long.ID, inbox.Reply{Text: " "}))
	check.Err(t, "too much", "at most 16 KiB", w.answer(long.ID, inbox.Reply{Text: strings.Repeat("x", inbox.MaxText+1)}))
	w.sound()
}

// TestMessagesStayUntilAnAttemptHasThem: one that is killed first has not.
func TestMessagesStayUntilAnAttemptHasThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task, other, idle := w.add("paint"), w.add("varnish"), w.add("sweep")
	c := w.claim(task)
	w.release(w.claim(other))
	var all []inbox.Request
	w.update(func(g *dag.Graph) (err error) {
		begun, err := inbox.Begun(g, "")
		if err == nil {
			all, err = inbox.SendEach(g, begun, "ann", "the shop closes at six")
		}
		return err
	})
	check.Equal(t, "told", []string{task, other}, []string{all[0].Task, all[1].Task})
	var m inbox.Request
	w.update(func(g *dag.Graph) (err error) { m, err = inbox.Send(g, task, "ann", "use two coats"); return err })
	unread := func() (texts []string) {
		for _, r := range get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Unread(g, task, "") }) {
			texts = append(texts, r.Text)
		}
		return texts
	}
	check.Equal(t, "unread", []string{"the shop closes at six", "use two coats"}, unread())
	w.update(func(g *dag.Graph) error { return inbox.Receive(g, c.Attempt, all[0].ID) })
	check.Equal(t, "after one was received", []string{"use two coats"}, unread())
	w.update(func(g *dag.Graph) error { return g.Tasks.Reset(task) })
	check.Equal(t, "after a reset", []string{"use two coats"}, unread())
	check.Err(t, "an answer", "is a message and cannot be answered", w.answer(m.ID, inbox.Reply{Text: "no"}))
	w.update(func(g *dag.Graph) error { return g.Tasks.Finish(task) })
	check.Equal(t, "of a task that is done", inbox.Withdrawn, w.request(m.ID).State)
	check.Err(t, "to a task that is done", "is done: nobody would read it", w.try(func(g *dag.Graph) error { _, err := inbox.Send(g, task, "ann", "x"); return err }))
	check.Equal(t, "a task that was not begun", 0, len(get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Unread(g, idle, "") })))
}

// TestWhatARunNoticesIsForOneAttempt, and so is the request to end it.
func TestWhatARunNoticesIsForOneAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("paint")
	first := w.claim(task)
	w.update(func(g *dag.Graph) error { return inbox.Notice(g, first, "the target has moved") })
	stop := func() (ids []string) {
		w.update(func(g *dag.Graph) error {
			stopped, err := inbox.Interrupt(g, task)
			for _, at := range stopped {
				ids = append(ids, at.ID)
			}
			return err
		})
		return ids
	}
	told := func(c dag.Claim) (texts []string) {
		for _, r := range get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Unread(g, task, c.Attempt) }) {
			texts = append(texts, r.Text)
		}
		return texts
	}
	interrupted := func(c dag.Claim) bool {
		return get(w, func(g *dag.Graph) (inbox.Request, error) { return inbox.Interrupted(g, c) }).ID != ""
	}
	check.Equal(t, "stopped", []string{first.Attempt}, stop())
	check.Equal(t, "the first", [2]any{"the target has moved", true}, [2]any{strings.Join(told(first), "; "), interrupted(first)})
	check.Equal(t, "what waits for a person", 0, len(get(w, inbox.Waiting)))
	w.release(first)
	states := map[inbox.Kind]inbox.State{}
	for _, r := range get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Last(g, 0) }) {
		states[r.Kind] = r.State
	}
	check.Equal(t, "after its end", map[inbox.Kind]inbox.State{inbox.Message: inbox.Withdrawn, inbox.Stop: inbox.Received}, states)
	check.Equal(t, "nobody is at work", 0, len(stop()))
	second := w.claim(task)
	check.Equal(t, "the second", [2]any{"", false}, [2]any{strings.Join(told(second), "; "), interrupted(second)})
	err := w.try(func(g *dag.Graph) error { return inbox.Notice(g, first, "too late") })
	check.That(t, errors.Is(err, dag.ErrLost), "got %v, want a lost claim", err)
	w.update(func(g *dag.Graph) error { return inbox.Notice(g, second, "the target has moved") })
	check.Equal(t, "the same again", []string{"the target has moved"}, told(second))
	check.Equal(t, "stopped again", []string{second.Attempt}, stop())
	check.That(t, interrupted(second), "the second is not asked to end")
}

// TestAPermissionOutlivesItsTask: a late answer still makes a rule.
func TestAPermissionOutlivesItsTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("paint")
	q := w.ask(w.claim(task), inbox.Request{Kind: inbox.Permission, Text: "execute: rm -rf brushes"})
	check.Equal(t, "asks", 0, w.task(task).Asks)
	w.update(func(g *dag.Graph) error { return g.Tasks.Finish(task) })
	w.update(func(g *dag.Graph) error { return g.Plan.Delete(task) })
	check.Equal(t, "waiting", 1, len(get(w, inbox.Waiting)))
	check.OK(t, w.answer(q.ID, inbox.Reply{Text: "always"}))
	found := get(w, func(g *dag.Graph) (inbox.Request, error) { return inbox.Resolve(g, q.ID[2:6]) })
	check.Equal(t, "found by its prefix", q.ID, found.ID)
}

func TestCredentialsAreNamedLikeCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.claim(w.add("pay"))
	for _, name := range []string{"", "A", "PATH", "LD_PRELOAD", "RALPH_RUN", "GIT_DIR", "NODE_OPTIONS", "api_key", "API KEY", "A=B", "X\x00Y", strings.Repeat("A", 101)} {
		err := w.try(func(g *dag.Graph) error {
			_, err := inbox.Ask(g, w.trust, c, inbox.NewCredential(name, "please"))
			return err
		})
		check.Err(t, name, "cannot be the name of a credential", err)
	}
	q := w.ask(c, inbox.NewCredential("STRIPE_API_KEY", "to charge the test card"))
	check.Equal(t, "variable", "STRIPE_API_KEY", q.Variable())
	check.OK(t, w.answer(q.ID, inbox.Reply{}))
	check.Equal(t, "needed", []string{q.ID}, get(w, inbox.Credentials))
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
	check.Equal(t, "needed when the task is done", []string(nil), get(w, inbox.Credentials))
}

// TestOnlyWhatIsLongOverIsPruned: a task that may still run needs all that it was told, and an open request somebody.
func TestOnlyWhatIsLongOverIsPruned(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	day := 24 * time.Hour
	tasks := map[string]string{} // by what becomes of them
	for _, name := range []string{"done", "failed", "deleted", "pending", "done late"} {
		tasks[name] = w.add(name)
	}
	asked := map[string]string{}
	for name, task := range tasks {
		c := w.claim(task)
		q := w.ask(c, inbox.Request{Kind: inbox.Question, Text: "Which colour?", Parks: true})
		asked[name] = q.ID
		check.OK(t, w.answer(q.ID, inbox.Reply{Text: "blue"}))
		if name == "done" {
			asked["open"] = w.ask(c, inbox.Request{Kind: inbox.Permission, Text: "rm -r build"}).ID
		}
		w.release(c)
	}
	w.update(func(g *dag.Graph) error {
		return errors.Join(g.Tasks.Finish(tasks["done"]), g.Tasks.GiveUp(tasks["failed"], "no"), g.Plan.Delete(tasks["deleted"]))
	})
	w.pass(10 * day)
	w.update(func(g *dag.Graph) error { return g.Tasks.Finish(tasks["done late"]) })
	w.pass(day)

	left := func(keep time.Duration) (names []string) {
		w.update(func(g *dag.Graph) error {
			cutoffs := dag.Cutoffs{Others: w.now.Add(-keep), Failures: w.now.Add(-3 * keep)}
			_, err := inbox.Prune(g, cutoffs)
			_, err2 := g.History.PruneAudit(cutoffs)
			return errors.Join(err, err2)
		})
		all := get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Last(g, 0) })
		audit := get(w, func(g *dag.Graph) ([]dag.AuditEntry, error) { return g.History.Audits(0) })
		for name, id := range asked {
			stored := slices.ContainsFunc(all, func(r inbox.Request) bool { return r.ID == id })
			audited := slices.ContainsFunc(audit, func(e dag.AuditEntry) bool { return e.Request == id })
			if name != "open" { // which nobody answered
				check.Equal(t, "its answer is on record: "+name, stored, audited)
			}
			if stored {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		return names
	}
	check.Equal(t, "of 11 days, after 12", []string{"deleted", "done", "done late", "failed", "open", "pending"}, left(12*day))
	check.Equal(t, "after 7", []string{"done late", "failed", "open", "pending"}, left(7*day))
	check.Equal(t, "after none", []string{"open", "pending"}, left(0))
	check.Equal(t, "the last entry", 1, len(get(w, func(g *dag.Graph) ([]dag.AuditEntry, error) { return g.History.Audits(1) })))
	w.sound()
}

func TestAChoiceTakesOnlyItsOptionsUnlessAnotherAnswerIsGiven(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		reply inbox.Reply
		want  string // "" if it is refused
	}{
		"a number":               {inbox.Reply{Option: 2}, "blue"},
		"its text":               {inbox.Reply{Text: " Blue\n"}, "blue"},
		"another text":           {inbox.Reply{Text: "green"}, ""},
		"the number as text":     {inbox.Reply{Text: "2"}, ""},
		"another answer":         {inbox.Reply{Text: "green", Other: true}, "green"},
		"typed, a number":        {inbox.Typed(question("", "red", "blue"), "1"), "red"},
		"typed, another text":    {inbox.Typed(question("", "red", "blue"), "green"), ""},
		"typed, another answer":  {inbox.Typed(question("", "red", "blue"), "Other: green"), "green"},
		"a no, with the reason":  {inbox.Reply{Text: "no paint", Denied: true}, "no paint"},
		"another answer, empty":  {inbox.Reply{Other: true}, ""},
		"nothing":                {inbox.Reply{}, ""},
		"a number that is wrong": {inbox.Reply{Option: 3}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			q := w.ask(w.claim(w.add("paint")), question("Which colour?", "red", "blue"))
			err := w.answer(q.ID, test.reply)
			check.Equal(t, "refused", test.want == "", errors.Is(err, dag.ErrRefused))
			check.Equal(t, "answer", test.want, w.request(q.ID).Answer)
		})
	}
}

func TestAnAnswerCanBeChangedUntilItsTaskIsClaimed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("paint")
	c := w.claim(task)
	q := w.ask(c, question("Which colour?", "red", "blue"))
	may := w.ask(c, inbox.Request{Kind: inbox.Permission, Text: "May I?"})
	over := func(id string, a inbox.Reply) {
		t.Helper()
		before := w.request(id)
		err := w.answer(id, a)
		check.That(t, errors.As(err, new(*inbox.OverError)), "got %v", err)
		check.Equal(t, "what a refusal leaves", before, w.request(id))
	}
	check.OK(t, w.answer(q.ID, inbox.Reply{Option: 1}))
	over(q.ID, inbox.Reply{Option: 2, Change: true}) // the agent that asked may have read it
	w.release(c)
	over(q.ID, inbox.Reply{Option: 2})
	check.OK(t, w.answer(q.ID, inbox.Reply{Option: 2, Change: true}))
	w.sound()
	check.OK(t, w.answer(may.ID, inbox.Reply{Text: "yes"}))
	over(may.ID, inbox.Reply{Text: "no", Change: true}) // it may have become a rule
	c = w.claim(task)
	answers := get(w, func(g *dag.Graph) ([]inbox.Request, error) { return inbox.Answers(g, w.trust, task) })
	check.Equal(t, "what the agent reads", []string{"blue"}, []string{answers[0].Answer})
	over(q.ID, inbox.Reply{Option: 1, Change: true})
	w.update(func(g *dag.Graph) error { return inbox.Receive(g, c.Attempt, q.ID) })
	w.release(c)
	over(q.ID, inbox.Reply{Option: 1, Change: true})
}
