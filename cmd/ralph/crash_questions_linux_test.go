package main

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"ralph/internal/cli"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	"ralph/internal/testing/raced"
)

// asks is an agent that asks about its task until its prompt has the answer, or the tool gives it.
func asks() fakeagent.Script {
	verify := false
	return fakeagent.Script{Capabilities: json.RawMessage(`{"loadSession":true}`), Conversations: []fakeagent.Conversation{
		{When: fakeagent.When{Verify: &verify, Contains: "The answer is blue"}, Steps: []step{{Do: "file", Path: "{{task}}.txt", Text: "blue"}, saysDone()}},
		{When: fakeagent.When{Verify: &verify}, Steps: []step{
			{Do: "mcp", Method: "ask", Params: json.RawMessage(`{"question":"Which colour for {{task}}?"}`)},
			{Do: "say", Text: "I wait for an answer.\n"},
		}},
	}}
}

// asked is a request as ralph inbox prints it.
type asked struct {
	ID, Task, State, Answer string
	AnsweredBy              string `json:"answered_by"`
	ReceivedBy              string `json:"received_by"`
}

func (p *place) asked() (list []asked) {
	p.Helper()
	p.json(&list, "inbox", "list", "--all", "--limit", "0")
	return list
}

func (p *place) reply(q asked) {
	p.Helper()
	p.want(0, "inbox", "answer", q.ID, "The answer is blue")
}

// wantAnswered wants that each task has asked once, was answered once, and is done.
func (p *place) wantAnswered() {
	p.Helper()
	var audit []struct{ Action, Request string }
	p.json(&audit, "audit", "--limit", "0")
	answers := map[string]int{}
	for _, e := range audit {
		if e.Action == "inbox answer" {
			answers[e.Request]++
		}
	}
	questions := map[string]int{}
	for _, q := range p.asked() {
		questions[q.Task]++
		check.Equal(p, q.ID, [4]any{"answered", "The answer is blue", 1, true}, [4]any{q.State, q.Answer, answers[q.ID], q.ReceivedBy != ""})
	}
	for n := 1; n <= p.tasks; n++ {
		p.wantStatus(number(n), "done")
		check.Equal(p, "questions of "+number(n), 1, questions[number(n)])
	}
	p.want(0, "doctor")
}

// TestAKillBetweenAskingAndReceivingLosesNothing dies at every point between the two.
func TestAKillBetweenAskingAndReceivingLosesNothing(t *testing.T) {
	notRaced(t)
	for point, then := range map[string]func(p *place){
		"before-question": func(p *place) { p.want(cli.ExitBlocked, "run") }, // it was not stored: it is asked again
		"after-question":  func(p *place) { p.want(cli.ExitBlocked, "run") },
		"in-give-back":    func(p *place) { p.want(cli.ExitBlocked, "run") },
		"before-reply":    nil,
		"after-reply":     nil,
	} {
		t.Run(point, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, asks())
			p.plan("paint")
			switch point {
			case "before-reply": // the answer comes while the agent waits for it
				env := p.env
				p.env = append(slices.Clone(env), "RALPH_INBOX_WAIT=5m")
				r := p.dying(point, "run")
				p.env = env
				eventually(p, "it asks", func() bool { return len(p.asked()) == 1 })
				p.reply(p.asked()[0])
				r.wait(-1)
			case "after-reply": // the agent was told, and nobody has stored that
				p.want(cli.ExitBlocked, "run")
				p.reply(p.asked()[0])
				p.dying(point, "run").wait(-1)
			default:
				p.dying(point, "run").wait(-1)
				p.awaitGone()
				then(p)
				p.reply(p.asked()[0])
			}
			p.awaitGone()
			p.want(0, "run")
			p.wantAnswered()
		})
	}
}

// TestSoakQuestions kills runs at random times while agents ask and a person answers: no question is lost or asked twice, and no
// answer counts twice.
func TestSoakQuestions(t *testing.T) {
	raced.Skip(t, "the program is killed here")
	t.Parallel()
	s := &soak{left: soakKills(t, "RALPH_SOAK_QUESTIONS", 25)}
	total := s.left
	p := newPlace(t, asks(), "max_attempts = 1000", "[recovery]", "max_interruptions = 1000000000")
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 1))
	answer := func() (open int) {
		for _, q := range p.asked() {
			if q.State != "open" {
				continue
			}
			if open++; random.IntN(2) == 0 {
				p.reply(q)
				if random.IntN(4) == 0 {
					p.want(cli.ExitRefused, "inbox", "answer", q.ID, "The answer is red")
				}
			}
		}
		return open
	}
	for s.take(2) {
		if status := p.overview(); status.Total-status.Counts["done"] < 3 {
			p.plan("paint", "varnish", "sweep")
		}
		how := death{after: time.Duration(random.IntN(700)) * time.Millisecond, working: random.IntN(2) == 0, size: p.booked()}
		other := p.start("run")
		s.kill(p, p.start("run"), how)
		s.kill(p, other, how)
		answer()
	}
	for range 100 {
		r := p.start("run")
		<-r.ended
		if r.cmd.ProcessState.ExitCode() == cli.ExitOK {
			break
		}
		answer()
	}
	t.Logf("%d kills, %d tasks, %d questions", s.kills, p.tasks, len(p.asked()))
	check.That(t, s.kills >= total, "got %d kills, want %d", s.kills, total)
	p.wantAnswered()
	p.awaitGone()
}
