package inbox

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/provenance"
)

// The answers to what is asked about a call that may have happened.
const (
	Retry = "retry"
	Skip  = "skip"
	Fail  = "fail"
)

// Cut is a tool call that was under way when its attempt died.
type Cut struct {
	Text string // what it was
	Ask  bool   // a person decides
}

// CutOff records a call of an attempt that died: nobody knows whether it happened. Either a person is asked what to
// do about it, and the task waits, or its next attempt is told. What nobody answers until it expires fails the task:
// to repeat the call and to leave it out may both be wrong, and this can be seen.
func CutOff(g *dag.Graph, t provenance.Store, last dag.Attempt, c Cut, expires time.Time) (Request, error) {
	text := limited(c.Text)
	if !c.Ask {
		return add(g, t, Request{
			Kind: Message, Task: last.Task, Sender: "run",
			Text: "The attempt before was cut off while this was under way, and it may or may not have happened: " + text + "\nFind out before you do it again.",
		})
	}
	return add(g, t, Request{
		Kind: Call, Task: last.Task, Attempt: last.ID, Run: last.Run, Sender: "run", Options: []string{Retry, Skip, Fail}, Default: Fail, Parks: true, ExpiresAt: expires,
		Text: fmt.Sprintf("The run died while the agent was doing this: %s\nIt may have happened: retry, skip or fail?", text),
	})
}

// Repeated records that an attempt has begun what a person told it to do again, so that no later one does.
func Repeated(g *dag.Graph, last dag.Attempt, began []string) error {
	asked, err := Settled(g, last.Task) // whoever answered: it has begun
	for _, r := range asked {
		about := func(call string) bool { return strings.Contains(r.Text, ": "+limited(call)+"\n") }
		if r.Repeats() && slices.ContainsFunc(began, about) {
			err = Receive(g, last.ID, r.ID)
		}
	}
	return err
}

// Repeats says that the answer is to do a call again.
func (r Request) Repeats() bool { return r.choice() == Retry }

// choice is what was decided about a call, or "".
func (r Request) choice() string {
	switch {
	case r.Kind != Call:
		return ""
	case r.Denied:
		return Fail
	}
	return strings.ToLower(strings.TrimSpace(r.Answer))
}

// Told is the answer as the agent is told it.
func (r Request) Told() string {
	switch r.choice() {
	case Retry:
		return "Do it again."
	case Skip:
		return "Treat it as done: do not do it again."
	}
	switch {
	case r.allows():
		return "You may change " + strings.Join(r.Files(), ", ") + "."
	case r.Kind == Change:
		return strings.TrimSuffix("Leave these files as they are: "+strings.TrimPrefix(r.Answer, Refuse), ": ")
	}
	return r.Answer
}

// carryOut does what an answer is about, beyond that the task gets it.
func carryOut(g *dag.Graph, r Request) error {
	switch {
	case r.Task == "":
		return nil
	case r.allows():
		return allowChange(g, r)
	case r.choice() != Fail:
		return nil
	}
	return g.Tasks.GiveUp(r.Task, "a call was under way when its run died, and it is not to be repeated or left out ("+r.ID+")")
}
