package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/render"
	"ralph/internal/term"
)

// Message is a notification. Commands get it as JSON.
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

// News makes messages of the events of a run. It is fed with all of them, by one goroutine at a time.
type News struct {
	Project   string              // as messages name it
	Hide      func(string) string // removes secrets
	failed    []failure           // the last word on each task that failed
	recovered []string            // tasks, until the summary comes
}

type failure struct{ task, words string }

// Bounds of what a message tells.
const (
	maxListed = 5 // tasks
	maxLine   = 300
	maxTitle  = 120
)

// Of returns the message of an event, and whether anybody needs to know.
func (n *News) Of(e event.Event) (Message, bool) {
	m := Message{Project: n.Project, Run: e.Run, Task: e.Task, At: e.At, Reason: n.line(e.Reason)}
	needed := len(e.Notices()) > 0
	switch e.Type {
	case event.AttemptEnded:
		n.failed = slices.DeleteFunc(n.failed, func(f failure) bool { return f.task == e.Task })
		if needed {
			n.failed = append(n.failed, failure{e.Task, fmt.Sprintf("%s (%s): %s", n.line(e.Title), e.Task, m.Reason)})
		}
		m.Outcome = e.Outcome
		return n.write(m, "task failed: "+n.line(e.Title), m.Reason, "next: ralph logs "+e.Task), needed
	case event.Waiting:
		until := ""
		if e.Until != nil {
			until = " until " + e.Until.Format("15:04:05 MST")
		}
		return n.write(m, "waiting"+until, m.Reason), needed
	case event.AgentAsked:
		m.Reason = "the agent asked for what nobody could answer: " + n.line(e.Text)
		return n.write(m, "needs input", m.Reason, "next: ralph logs "+e.Task), needed
	case event.Asked:
		m.Reason = n.line(e.Text)
		title, options := "question of ", ""
		if e.Question != nil {
			options = n.line(strings.Join(e.Question.Options, ", "))
			if e.Question.Again {
				title = "asked again by "
			}
		}
		return n.write(m, title+e.Task+human.Lead(": ", n.line(e.Title)), m.Reason, human.Lead("options: ", options), "next: "+e.Command), needed
	case event.Recovered:
		n.recovered = append(n.recovered, fmt.Sprintf("%s (%s): %s", n.line(e.Title), e.Task, m.Reason))
	case event.RecoveryDone:
		lines := append([]string{m.Reason}, shorten(n.recovered)...)
		n.recovered = nil
		return n.write(m, "recovered", append(lines, "next: ralph status")...), needed
	case event.Notified:
		title, rest, _ := strings.Cut(strings.TrimSpace(n.Hide(e.Text)), "\n")
		return n.write(m, n.line(title), term.Block(strings.TrimSpace(rest))), needed
	case event.RunEnded:
		return n.ended(e, m), needed
	}
	return m, needed
}

func (n *News) ended(e event.Event, m Message) Message {
	m.Outcome = e.Outcome
	failedCount, lines := 0, []string{m.Reason}
	if c := e.Counts; c != nil {
		failedCount = c.Failed
		text := render.Counts(*c) + " in " + render.Took(e.Duration/1000*1000)
		if e.Usage != nil {
			text += human.Lead(", ", render.Cost(*e.Usage))
		}
		lines = append(lines, text)
	}
	words, _ := render.Outcome(e.RunOutcome(), failedCount)
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
		lines = append(lines, "continue: "+render.Continue(e.Run))
	}
	return n.write(m, words, lines...)
}

// shorten keeps the first few lines of a list, and says how many there are beyond.
func shorten(list []string) []string {
	if more := len(list) - maxListed; more > 0 {
		return append(slices.Clone(list[:maxListed]), fmt.Sprintf("and %d more", more))
	}
	return list
}

func (n *News) write(m Message, title string, lines ...string) Message {
	m.Title = term.Cut("ralph: "+n.Project+": "+title, maxTitle)
	m.Text = strings.Join(human.Parts(append([]string{m.Title}, lines...)...), "\n")
	return m
}

// line hides before anything is cut: half a secret is still one.
func (n *News) line(s string) string { return line(n.Hide(s)) }

// line is the first line of foreign text, harmless and not too long.
func line(s string) string {
	first, _ := render.First(s)
	return term.Cut(first, maxLine)
}
