package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

// Message is what people are told. Commands get it as JSON.
type Message struct {
	Event   string    `json:"event"`
	Title   string    `json:"title"` // one line
	Text    string    `json:"text"`
	Project string    `json:"project"`
	Run     string    `json:"run"`
	Task    string    `json:"task,omitempty"`
	Outcome string    `json:"outcome,omitempty"`
	Reason  string    `json:"reason,omitempty"` // one line
	At      time.Time `json:"at"`
}

// news makes messages of events. It is fed by one goroutine at a time.
type news struct {
	project string
	hide    func(string) string
	failed  []failure // the last word on each task that failed
	rescued []string  // tasks that were recovered, until the summary comes
}

// failure is a task that failed, in words.
type failure struct{ task, words string }

// Bounds of what a message tells.
const (
	maxListed = 5 // tasks
	maxLine   = 300
	maxTitle  = 120
)

// of returns the message of an event and the kinds of news that it is, the most
// telling first; no kinds means that nobody needs to know.
func (n *news) of(e event.Event) (Message, []string) {
	m := Message{Project: n.project, Run: e.Run, Task: e.Task, At: e.At, Reason: n.line(e.Reason)}
	switch e.Type {
	case event.AttemptEnded:
		n.failed = slices.DeleteFunc(n.failed, func(f failure) bool { return f.task == e.Task })
		if e.Status != event.TaskFailed {
			return m, nil
		}
		n.failed = append(n.failed, failure{e.Task, fmt.Sprintf("%s (%s): %s", n.line(e.Title), e.Task, n.line(e.Reason))})
		m.Outcome = e.Outcome
		return n.write(m, "task failed: "+n.line(e.Title), n.line(e.Reason), "next: ralph logs "+e.Task), []string{TaskFailed}
	case event.Waiting:
		until := ""
		if e.Until != nil {
			until = " until " + e.Until.Format("15:04:05 MST")
		}
		return n.write(m, "waiting"+until, m.Reason), []string{Waiting}
	case event.AgentAsked:
		if e.Outcome != "cancelled" {
			return m, nil
		}
		m.Reason = "the agent asked for what nobody could answer: " + n.line(e.Text)
		return n.write(m, "needs input", m.Reason, "next: ralph logs "+e.Task), []string{NeedsInput}
	case event.Recovered:
		n.rescued = append(n.rescued, fmt.Sprintf("%s (%s): %s", n.line(e.Title), e.Task, m.Reason))
		return m, nil
	case event.RecoveryDone:
		lines := append([]string{m.Reason}, shorten(n.rescued)...)
		n.rescued = nil
		if e.Recovery == nil || *e.Recovery == (event.Recovery{}) {
			return m, nil
		}
		return n.write(m, "recovered", append(lines, "next: ralph status")...), []string{Recovered}
	case event.RunEnded:
		return n.ended(e, m)
	default:
		return m, nil
	}
}

// ended is the message about the end of a run.
func (n *news) ended(e event.Event, m Message) (Message, []string) {
	m.Outcome = e.Outcome
	kinds, words := []string{RunEnd}, strings.ReplaceAll(e.Outcome, "_", " ")
	switch e.RunOutcome() {
	case event.OutcomeBlocked:
		kinds = []string{Blocked, RunEnd}
	case event.OutcomeLimit:
		kinds, words = []string{Budget, RunEnd}, "a limit was reached"
	case event.OutcomeUnavailable:
		kinds, words = []string{NeedsInput, RunEnd}, "no usable agent"
	case event.OutcomeComplete:
		if e.Counts != nil && e.Counts.Failed > 0 {
			words = "complete, with failed tasks"
		}
	}
	lines := []string{m.Reason}
	if c := e.Counts; c != nil {
		text := fmt.Sprintf("%d done, %d failed, %d remaining of %d", c.Done, c.Failed, c.Remaining, c.Total)
		text += " in " + human.Span((time.Duration(e.Duration) * time.Millisecond).Round(time.Second))
		if e.Usage != nil && e.Usage.CostUSD != nil {
			text += ", " + human.Roughly(e.Usage.Unknown, e.Usage.Estimated) + human.Dollars(*e.Usage.CostUSD)
		}
		lines = append(lines, text)
	}
	var failed []string
	for i, f := range n.failed {
		failed = append(failed, "failed: "+f.words)
		if i < maxListed && strings.HasPrefix(m.Reason, f.task+" failed") {
			lines[0] = "" // the run ended because of it: once is enough
		}
	}
	lines = append(lines, shorten(failed)...)
	lines = append(lines, "next: ralph report "+e.Run)
	if e.Counts != nil && e.Counts.Remaining > 0 {
		lines = append(lines, "continue: "+event.ContinueCommand(e.Run))
	}
	return n.write(m, words, lines...), kinds
}

// shorten keeps the first few lines of a list, and says how many there are beyond.
func shorten(list []string) []string {
	if more := len(list) - maxListed; more > 0 {
		return append(slices.Clone(list[:maxListed]), fmt.Sprintf("and %d more", more))
	}
	return list
}

// write puts a message together; empty lines are left out.
func (n *news) write(m Message, title string, lines ...string) Message {
	m.Title = term.Cut("ralph: "+n.project+": "+title, maxTitle)
	text := []string{m.Title}
	for _, l := range lines {
		if l != "" {
			text = append(text, l)
		}
	}
	m.Text = strings.Join(text, "\n")
	return m
}

// line hides before anything is cut: half a secret is still one.
func (n *news) line(s string) string { return line(n.hide(s)) }

// line is the first line of foreign text, harmless and not too long.
func line(s string) string {
	first, _, _ := strings.Cut(strings.TrimSpace(strings.ToValidUTF8(s, "?")), "\n")
	return term.Cut(term.Line(term.Strip(first)), maxLine)
}

func firstWord(s string) string {
	word, _, _ := strings.Cut(strings.TrimSpace(s), " ")
	return line(word)
}
