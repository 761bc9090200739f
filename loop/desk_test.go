package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/seq"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/loop/attempt"
)

// withTool gives every session a tool that its agent calls once, while the first prompt of the attempt is answered.
func (s *stage) withTool(call func(ctx context.Context, op attempt.Opening)) {
	open := s.opts.Agents.Open
	s.opts.Agents.Open = func(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
		session, err := open(ctx, op)
		if err != nil {
			return nil, err
		}
		return &toolSession{Session: session, call: func(ctx context.Context) { call(ctx, op) }}, nil
	}
}

type toolSession struct {
	attempt.Session
	once sync.Once
	call func(context.Context)
}

func (s *toolSession) Prompt(ctx context.Context, text string) (acp.Turn, error) {
	called := make(chan struct{})
	go func() {
		defer close(called)
		s.once.Do(func() { s.call(ctx) })
	}()
	turn, err := s.Session.Prompt(ctx, text)
	<-called
	return turn, err
}

// resumable is what an agent says that can continue a session.
const resumable = `{"loadSession":true}`

var colour = inbox.Request{Kind: inbox.Question, Text: "Which colour?", Options: []string{"red", "blue"}, Parks: true}

// asker is a stage on which the tasks with that title ask, and then wait until they are cut short, unless they were answered
// before; the others are done.
func asker(t *testing.T, title string, ask inbox.Request) *stage {
	t.Helper()
	s := newStage(t, fakeagent.Script{Capabilities: json.RawMessage(resumable), Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Contains: "The answer of a person"}, Steps: []fakeagent.Step{done()}},
		{When: fakeagent.When{Contains: title}, Steps: []fakeagent.Step{{Do: "say", Text: "I asked.\n"}, {Do: "hang"}}},
		{Steps: []fakeagent.Step{done()}},
	}})
	s.opts.Workers.Poll, s.opts.Agents.ResumeSession = 10*time.Millisecond, true
	s.withTool(func(ctx context.Context, op attempt.Opening) {
		var known []inbox.Request
		s.update(t, func(g *dag.Graph) (err error) {
			known, err = inbox.Answers(g, s.opts.Inbox.Trust, op.Task.ID)
			return err
		})
		if strings.Contains(op.Task.Title, title) && len(known) == 0 {
			got, err := op.Inbox.Ask(ctx, ask)
			check.That(t, err == nil && got.State == inbox.Open, "got %+v, %v; want a question that is open", got, err)
		}
	})
	return s
}

func (s *stage) waiting(t *testing.T) []inbox.Request {
	t.Helper()
	var list []inbox.Request
	s.update(t, func(g *dag.Graph) (err error) { list, err = inbox.Waiting(g); return err })
	return list
}

func (s *stage) reply(t *testing.T, id, text string) {
	t.Helper()
	s.update(t, func(g *dag.Graph) error {
		_, err := inbox.Answer(g, s.opts.Inbox.Trust, id, inbox.Reply{Text: text, Other: true})
		return err
	})
}

func (s *stage) prompt(t *testing.T, a dag.Attempt) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(s.opts.Place.Runs, a.Run, a.ID, "prompt.md"))
	check.OK(t, err)
	return string(data)
}

// TestATaskThatAsksIsParkedAndContinuesWithTheAnswer, in its session, after two restarts; the others do not wait for it.
func TestATaskThatAsksIsParkedAndContinuesWithTheAnswer(t *testing.T) {
	t.Parallel()
	s := asker(t, "paint", colour)
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}}, dag.NewTask{Detail: dag.Detail{Title: "sweep"}}, dag.NewTask{Detail: dag.Detail{Title: "mow"}})
	out := s.run(t)
	check.Equal(t, "outcome", event.OutcomeBlocked, out.Outcome)
	check.Contains(t, "why", "1 of 3 tasks remain, and none of them can run; 1 waits for an answer: ralph inbox", out.Reason)
	s.wantUncharged(t, ids[0])
	check.Equal(t, "iterations", 2, out.Iterations)
	check.Equal(t, "the others", []dag.Status{dag.Done, dag.Done}, []dag.Status{s.task(t, ids[1]).Status, s.task(t, ids[2]).Status})
	first := s.attempts(t, ids[0])[0]
	q := s.waiting(t)[0]
	check.Equal(t, "attempt", [2]any{event.AttemptAsked, "it waits for the answer to " + q.ID}, [2]any{first.Outcome, first.Reason})
	asked := s.await(t, ofType(event.Asked))
	check.Equal(t, "event", [4]any{ids[0], "Which colour?", "ralph inbox answer " + q.ID, q.ID}, [4]any{asked.Task, asked.Text, asked.Command, asked.Question.ID})

	check.Equal(t, "a restart without an answer", event.OutcomeBlocked, s.run(t).Outcome)
	check.Equal(t, "attempts", 1, len(s.attempts(t, ids[0])))

	s.reply(t, q.ID, "The answer of a person: blue")
	check.Equal(t, "with the answer", event.OutcomeComplete, s.run(t).Outcome)
	second := s.attempts(t, ids[0])[1]
	check.Equal(t, "session", first.Session, second.Session)
	check.Equal(t, "resumed", 1, len(s.all(ofType(event.AgentResumed))))
	prompt := s.prompt(t, second)
	check.Contains(t, "prompt", "Which colour?", prompt)
	check.Contains(t, "prompt", "The answer of a person: blue", prompt)
	s.update(t, func(g *dag.Graph) (err error) { q, err = inbox.Get(g, q.ID); return err })
	check.Equal(t, "received by", second.ID, q.ReceivedBy)
}

// TestTheSessionThatAskedContinuesAfterAnAttemptWithoutOne: the run that had the answer was stopped before its agent was
// started.
func TestTheSessionThatAskedContinuesAfterAnAttemptWithoutOne(t *testing.T) {
	t.Parallel()
	s := asker(t, "paint", colour)
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}})[0]
	s.run(t)
	s.reply(t, s.waiting(t)[0].ID, "The answer of a person: blue")

	open := s.opts.Agents.Open
	ctx, stop := context.WithCancel(t.Context())
	s.opts.Agents.Open = func(ctx context.Context, _ attempt.Opening) (attempt.Session, error) {
		stop()
		<-ctx.Done()
		return nil, ctx.Err()
	}
	_, ended := s.begin(t, ctx)
	check.Equal(t, "stopped", event.OutcomeInterrupted, (<-ended).Outcome)

	s.opts.Agents.Open = open
	check.Equal(t, "outcome", event.OutcomeComplete, s.run(t).Outcome)
	attempts := s.attempts(t, id)
	check.Equal(t, "attempts", 3, len(attempts))
	check.Equal(t, "sessions", [2]string{"", attempts[0].Session}, [2]string{attempts[1].Session, attempts[2].Session})
	check.Contains(t, "prompt", "The answer of a person: blue", s.prompt(t, attempts[2]))
}

// TestAnAnswerWithoutASealIsAskedForAgain before the task continues: the project was moved, or an agent wrote the answer.
func TestAnAnswerWithoutASealIsAskedForAgain(t *testing.T) {
	t.Parallel()
	s := asker(t, "paint", colour)
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}}, dag.NewTask{Detail: dag.Detail{Title: "sweep"}})
	check.Equal(t, "outcome", event.OutcomeBlocked, s.run(t).Outcome)
	q := s.waiting(t)[0]
	s.reply(t, q.ID, "The answer of a person: blue")
	s.opts.Inbox.Trust.Dir = filepath.Join(s.dir, "moved")
	check.Equal(t, "without a seal", event.OutcomeBlocked, s.run(t).Outcome)
	check.Equal(t, "attempts", 1, len(s.attempts(t, ids[0])))
	warned := seq.Map(s.all(ofType(event.Warned)), func(e event.Event) string { return e.Text })
	check.Contains(t, "warnings", q.ID+" is open again: its answer was not given by ralph inbox answer", strings.Join(warned, "\n"))
	again := s.waiting(t)
	check.That(t, len(again) == 1 && again[0].ID == q.ID && again[0].Answer == "" && again[0].AnsweredAt.IsZero(), "got %+v", again)
	s.reply(t, q.ID, "The answer of a person: red")
	check.Equal(t, "with a seal", event.OutcomeComplete, s.run(t).Outcome)
	check.Contains(t, "prompt", "The answer of a person: red", s.prompt(t, s.attempts(t, ids[0])[1]))
}

// TestTwelveTasksOfWhichThreeAsk: nobody answers, and nine finish.
func TestTwelveTasksOfWhichThreeAsk(t *testing.T) {
	t.Parallel()
	s := asker(t, "paint", colour)
	s.opts.Workers.Jobs = 3
	var tasks []dag.NewTask
	for i := range 12 {
		tasks = append(tasks, dag.NewTask{Detail: dag.Detail{Title: fmt.Sprint([]string{"paint ", "sweep ", "mow ", "rake "}[i%4], i)}})
	}
	s.add(t, tasks...)
	out := s.run(t)
	check.Equal(t, "outcome", event.OutcomeBlocked, out.Outcome)
	check.Equal(t, "tasks", event.Counts{Done: 9, Remaining: 3, Total: 12, Asks: 3}, out.Counts)
	check.Equal(t, "questions", 3, len(s.waiting(t)))
}

// TestAnAnswerInTimeIsTheResultOfTheTool, so that nothing is parked.
func TestAnAnswerInTimeIsTheResultOfTheTool(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	s.script = say(fakeagent.Step{Do: "await", Path: filepath.Join(s.dir, "answer")}, done())
	s.opts.Workers.Poll, s.opts.Inbox.Wait = 10*time.Millisecond, time.Hour
	s.withTool(func(ctx context.Context, op attempt.Opening) {
		got, err := op.Inbox.Ask(ctx, colour)
		check.OK(t, err)
		s.write(t, "answer", got.Answer)
	})
	s.on(func(e event.Event) {
		if e.Type == event.Asked {
			go s.reply(t, e.Question.ID, "red")
		}
	})
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}})
	check.Equal(t, "outcome", event.OutcomeComplete, s.run(t).Outcome)
	check.Equal(t, "attempts", 1, len(s.attempts(t, ids[0])))
	data, err := os.ReadFile(filepath.Join(s.dir, "answer"))
	check.That(t, err == nil && string(data) == "red", "got %q, %v", data, err)
	check.Equal(t, "answered", "red", s.await(t, ofType(event.Answered)).Text)
}

func TestNobodyAnswersUntilAQuestionExpires(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"The answer of a person: red": "Nobody answered in time, so the default applies: The answer of a person: red", "": "Nobody answered in time"} {
		t.Run("default: "+name, func(t *testing.T) {
			t.Parallel()
			ask := colour
			ask.Default = name
			s := asker(t, "paint", ask)
			s.script.Conversations[0].When.Contains = want
			late := time.Duration(0)
			s.clock = func() time.Time { return time.Now().Add(late) }
			s.opts.Inbox.Expire, s.opts.Host.Now = 72*time.Hour, s.clock
			id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}})[0]
			check.Equal(t, "outcome", event.OutcomeBlocked, s.run(t).Outcome)
			late = 71 * time.Hour
			check.Equal(t, "before its time", event.OutcomeBlocked, s.run(t).Outcome)
			late = 73 * time.Hour
			check.Equal(t, "after it", event.OutcomeComplete, s.run(t).Outcome)
			check.Contains(t, "prompt", want, s.prompt(t, s.attempts(t, id)[1]))
			check.Equal(t, "event", string(inbox.Expired), s.await(t, ofType(event.Answered)).Outcome)
		})
	}
}

// TestWhatCannotExpireHoldsUpNobodyElse: without a folder for its seal, a question stays open, and the run says so once.
func TestWhatCannotExpireHoldsUpNobodyElse(t *testing.T) {
	t.Parallel()
	s := asker(t, "paint", colour)
	late := time.Duration(0)
	s.clock = func() time.Time { return time.Now().Add(late) }
	s.opts.Inbox.Expire, s.opts.Host.Now = 72*time.Hour, s.clock
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}})
	s.run(t)
	sealed := s.opts.Inbox.Trust
	late, s.opts.Inbox.Trust.Dir = 73*time.Hour, ""
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "sweep"}}, dag.NewTask{Detail: dag.Detail{Title: "mow"}})
	out := s.run(t)
	check.Equal(t, "outcome", event.OutcomeBlocked, out.Outcome)
	check.Equal(t, "tasks", event.Counts{Done: 2, Remaining: 1, Total: 3, Asks: 1}, out.Counts)
	warned := s.all(func(e event.Event) bool {
		return e.Type == event.Warned && strings.Contains(e.Text, "no question expires in this run") && strings.Contains(e.Text, "HOME")
	})
	check.Equal(t, "warnings", 1, len(warned))

	s.opts.Inbox.Trust = sealed
	s.script.Conversations[0].When.Contains = "Nobody answered in time"
	check.Equal(t, "where it can", event.OutcomeComplete, s.run(t).Outcome)
}

// TestWhatIsAskedAgainIsToldOnceInARun, and said to be asked again: what notifies people would do so at every retry.
func TestWhatIsAskedAgainIsToldOnceInARun(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "say", Text: "<task-failed>{{task}}: not allowed</task-failed>\n"}))
	s.opts.Rules.RetryFailed, s.opts.Rules.MaxRetries, s.opts.Rules.MaxAttempts, s.opts.Workers.Breaker = 9, 9, 9, 9
	s.withTool(func(ctx context.Context, op attempt.Opening) {
		_, err := op.Inbox.Ask(ctx, inbox.Request{Kind: inbox.Permission, Text: "May the agent execute: make"})
		check.OK(t, err)
	})
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "build"}})[0]
	var again []bool
	for _, s.opts.Limits.Iterations = range []int{2, 3} {
		s.run(t)
	}
	for _, e := range s.all(ofType(event.Asked)) {
		again = append(again, e.Question.Again)
	}
	check.Equal(t, "attempts", 5, len(s.attempts(t, id)))
	check.Equal(t, "told, and whether again", []bool{false, true}, again)
}

// TestAnAgentThatEndsItsTurnAfterAskingIsParked, whatever it says, unless it is done.
func TestAnAgentThatEndsItsTurnAfterAskingIsParked(t *testing.T) {
	t.Parallel()
	failed := fakeagent.Step{Do: "say", Text: "<task-failed>{{task}}: I wait for an answer</task-failed>\n"}
	for name, test := range map[string]struct {
		step   fakeagent.Step
		status dag.Status
		state  inbox.State
	}{
		"says nothing": {fakeagent.Step{Do: "say", Text: "I wait.\n"}, dag.Pending, inbox.Open},
		"says failed":  {failed, dag.Pending, inbox.Open},
		"dies":         {fakeagent.Step{Do: "exit", Code: 1}, dag.Pending, inbox.Open},
		"is done":      {done(), dag.Done, inbox.Withdrawn},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fakeagent.Script{})
			s.script = say(fakeagent.Step{Do: "await", Path: filepath.Join(s.dir, "asked")}, test.step)
			s.opts.Workers.Lease, s.opts.Workers.Poll = 3*time.Hour, time.Hour // nobody cuts it
			var q inbox.Request
			s.withTool(func(ctx context.Context, op attempt.Opening) {
				var err error
				q, err = op.Inbox.Ask(ctx, colour)
				check.OK(t, err)
				s.write(t, "asked", "")
			})
			id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}})[0]
			s.run(t)
			task := s.task(t, id)
			s.update(t, func(g *dag.Graph) (err error) { q, err = inbox.Get(g, q.ID); return err })
			check.Equal(t, "task and question", [2]any{test.status, test.state}, [2]any{task.Status, q.State})
		})
	}
}

// TestAnAgentThatGivesUpWaitingIsParked: its client has a time limit of its own, and the agent would go on with a guess.
func TestAnAgentThatGivesUpWaitingIsParked(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "hang"}))
	s.opts.Workers.Poll, s.opts.Inbox.Wait = 10*time.Millisecond, time.Hour
	run, stop := context.WithCancel(t.Context())
	defer stop()
	asked := make(chan struct{})
	s.on(func(e event.Event) {
		if e.Type == event.Asked {
			close(asked)
		}
	})
	s.withTool(func(ctx context.Context, op attempt.Opening) {
		ctx, giveUp := context.WithCancel(ctx)
		defer giveUp()
		go func() { <-asked; giveUp() }()
		if _, err := op.Inbox.Ask(ctx, colour); err != nil {
			stop() // nobody would cut the turn
		}
	})
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}})[0]
	_, ended := s.begin(t, run)
	<-ended
	check.Equal(t, "attempt", event.AttemptAsked, s.attempts(t, id)[0].Outcome)
	check.Equal(t, "questions", 1, len(s.waiting(t)))
}

// TestAPersonIsWaitedForOnce in an attempt: an agent that repeats a call would hold up its worker each time.
func TestAPersonIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	s.script = say(fakeagent.Step{Do: "await", Path: filepath.Join(s.dir, "asked")}, done())
	s.opts.Workers.Poll, s.opts.Inbox.Wait = 10*time.Millisecond, 50*time.Millisecond
	permission := inbox.Request{Kind: inbox.Permission, Text: "May the agent execute: rm -rf build", Options: []string{"yes", "no"}}
	s.withTool(func(ctx context.Context, op attempt.Opening) {
		defer s.write(t, "asked", "")
		first, err := op.Inbox.Ask(ctx, permission)
		check.OK(t, err)
		over, cancel := context.WithCancel(ctx)
		cancel() // only who waits notices
		again, err := op.Inbox.Ask(over, permission)
		check.OK(t, err)
		check.Equal(t, "requests", []any{first.ID, inbox.Open}, []any{again.ID, again.State})
	})
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}})
	check.Equal(t, "outcome", event.OutcomeComplete, s.run(t).Outcome)
}

// TestAnAttemptThatLostItsTaskTalksToNobody: its agent still runs for a moment, and what is for the next one stays for it.
func TestAnAttemptThatLostItsTaskTalksToNobody(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "hang"}))
	s.opts.Workers.Lease, s.opts.Workers.Poll = 3*time.Hour, time.Hour // the run has not noticed
	var asked, sent, read error
	ctx, stop := context.WithCancel(t.Context())
	ids := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}}, dag.NewTask{Detail: dag.Detail{Title: "sweep"}})
	s.withTool(func(ctx context.Context, op attempt.Opening) {
		s.update(t, func(g *dag.Graph) error {
			_, err := inbox.Send(g, ids[0], "ann", "use two coats")
			return errors.Join(g.Tasks.Reset(ids[0]), err)
		})
		_, asked = op.Inbox.Ask(ctx, colour)
		sent = op.Inbox.Send(ctx, ids[1], "mind the paint")
		_, read = op.Inbox.Messages(ctx)
		stop()
	})
	_, ended := s.begin(t, ctx)
	<-ended
	for what, err := range map[string]error{"asking": asked, "sending": sent, "reading": read} {
		check.Err(t, what, "claim lost", err)
	}
	check.Equal(t, "questions", 0, len(s.waiting(t)))
	var unread []inbox.Request
	s.update(t, func(g *dag.Graph) (err error) { unread, err = inbox.Unread(g, ids[0], ""); return err })
	check.Equal(t, "messages for the next", 1, len(unread))
}

// TestAMessageIsForTheAttemptThatHasTheTask, also if one that has lost it ends its turn properly.
func TestAMessageIsForTheAttemptThatHasTheTask(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{})
	s.script.Conversations = []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: []fakeagent.Step{{Do: "await", Path: filepath.Join(s.dir, "reset")}, done()}},
		{Steps: []fakeagent.Step{done()}},
	}
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}})[0]
	s.update(t, func(g *dag.Graph) error { _, err := inbox.Send(g, id, "ann", "use two coats"); return err })
	taken := sync.OnceFunc(func() {
		s.update(t, func(g *dag.Graph) error { return g.Tasks.Reset(id) })
		s.write(t, "reset", "")
	})
	s.withTool(func(context.Context, attempt.Opening) { taken() })
	check.Equal(t, "outcome", event.OutcomeComplete, s.run(t).Outcome)
	attempts := s.attempts(t, id)
	check.Equal(t, "attempts", 2, len(attempts))
	check.Contains(t, "prompt", "use two coats", s.prompt(t, attempts[1]))
}

// TestMessagesAreToldInPromptsUntilTheyAreReceived: an agent that dies has not received them.
func TestMessagesAreToldInPromptsUntilTheyAreReceived(t *testing.T) {
	t.Parallel()
	s := newStage(t, fakeagent.Script{Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Attempt: 1}, Steps: []fakeagent.Step{{Do: "say", Text: "I begin"}, {Do: "exit", Code: 1}}},
		{Steps: []fakeagent.Step{done()}},
	}})
	s.opts.Workers.Poll = 10 * time.Millisecond
	id := s.add(t, dag.NewTask{Detail: dag.Detail{Title: "paint"}})[0]
	send := func(text string) {
		s.update(t, func(g *dag.Graph) error { _, err := inbox.Send(g, id, "ann", text); return err })
	}
	send("use two coats")
	later := sync.OnceFunc(func() { send("and sand it before") })
	s.withTool(func(ctx context.Context, op attempt.Opening) {
		if len(s.attempts(t, id)) == 2 {
			later() // while the second works
			list, err := op.Inbox.Messages(ctx)
			check.That(t, err == nil && len(list) == 1 && list[0].Text == "and sand it before", "got %+v, %v; want what the prompt does not have", list, err)
		}
	})
	check.Equal(t, "outcome", event.OutcomeComplete, s.run(t).Outcome)
	attempts := s.attempts(t, id)
	check.Equal(t, "attempts", 2, len(attempts))
	for _, a := range attempts {
		check.Contains(t, "prompt of "+a.ID, "use two coats", s.prompt(t, a))
	}
	prompts := s.all(ofType(event.Prompted))
	check.Equal(t, "the last prompt", "messages came while it worked", prompts[len(prompts)-1].Reason)
	var all []inbox.Request
	s.update(t, func(g *dag.Graph) (err error) { all, err = inbox.Last(g, 0); return err })
	for _, m := range all {
		check.Equal(t, m.Text, [2]any{inbox.Received, attempts[1].ID}, [2]any{m.State, m.ReceivedBy})
	}
}

// TestAFloodOfMessagesIsBounded by what is stored, and reported once: one to everybody is one for each task.
func TestAFloodOfMessagesIsBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(done()))
	s.opts.Limits.Iterations = 1
	ids := s.add(t, slices.Repeat([]dag.NewTask{{Detail: dag.Detail{Title: "paint"}}}, 41)...)
	s.update(t, func(g *dag.Graph) error { // all of them were begun
		run, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1, Start: 1, BootID: "elsewhere"})
		for _, id := range ids {
			c, _, claimed := g.Queue.Claim(dag.ClaimOptions{Run: run, Scope: dag.Scope{Task: id}, Lease: time.Minute})
			if err = errors.Join(err, claimed); err == nil {
				err = g.Queue.Release(c, dag.Release{Uncounted: true})
			}
		}
		return err
	})
	var sent []error
	s.withTool(func(ctx context.Context, op attempt.Opening) {
		for _, to := range []string{"", "", "", "", ids[1]} {
			sent = append(sent, op.Inbox.Send(ctx, to, fmt.Sprint("message ", len(sent))))
		}
	})
	s.run(t)
	check.OK(t, errors.Join(sent[0], sent[1], sent[4]))
	for _, err := range sent[2:4] {
		check.Err(t, "too many", "an attempt may send 100 messages, one for each task that gets it; this one has sent 80, and this would be 40", err)
	}
	var stored []inbox.Request
	s.update(t, func(g *dag.Graph) (err error) { stored, err = inbox.Last(g, 0); return err })
	check.Equal(t, "stored", 81, len(stored))
	warned := s.all(func(e event.Event) bool { return e.Type == event.Warned && strings.Contains(e.Text, "may send") })
	check.Equal(t, "warnings", 1, len(warned))
}

// TestCredentialsAreRefusedWhereEveryProcessCouldReadThem, and so are names that would change how programs behave.
func TestCredentialsAreRefusedWhereEveryProcessCouldReadThem(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(done()))
	s.opts.Inbox.NoCredentials = "there is no sandbox"
	var refused error
	s.withTool(func(ctx context.Context, op attempt.Opening) {
		_, refused = op.Inbox.Ask(ctx, inbox.NewCredential("API_KEY", "to log in"))
	})
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "pay"}})
	s.run(t)
	check.Err(t, "asking", "there is no sandbox", refused)
	check.Equal(t, "questions", 0, len(s.waiting(t)))
}
