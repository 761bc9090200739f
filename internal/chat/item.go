package chat

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/term"
)

// item is something that a person is to decide: a request, or work that waits for review.
type item struct {
	about   string
	text    string
	buttons []button
	over    string // what became of it; "" while it is open
	request inbox.Request
	merge   dag.Merge
}

// maxLabel is how much of an option is on its button; the text has all of it.
const maxLabel = 40

// waiting lists what is open, the oldest first.
func waiting(g *dag.Graph) (list []item, err error) {
	requests, err := inbox.Waiting(g)
	if err != nil {
		return nil, err
	}
	held, err := g.Queue.ToReview()
	for _, r := range requests {
		list = append(list, ofRequest(g, r))
	}
	for _, m := range held {
		list = append(list, ofMerge(m))
	}
	return list, err
}

// find is the item of that name, open or not.
func find(g *dag.Graph, about string) (item, error) {
	var err error
	if n, ok := strings.CutPrefix(about, "m-"); ok {
		var m dag.Merge
		number, _ := strconv.ParseInt(n, 10, 64) // what is no number is no entry either
		if m, err = g.Queue.Merge(number); err == nil {
			return ofMerge(m), nil
		}
	} else {
		var r inbox.Request
		if r, err = inbox.Get(g, about); err == nil {
			return ofRequest(g, r), nil
		}
	}
	if errors.Is(err, dag.ErrNotFound) {
		return item{about: about, text: about, over: about + " is gone"}, nil
	}
	return item{}, err
}

func ofRequest(g *dag.Graph, r inbox.Request) item {
	i := item{about: r.ID, request: r}
	title := ""
	if t, err := g.Tasks.Get(r.Task); err == nil {
		title = t.Title
	}
	what := map[inbox.Kind]string{inbox.Call: "a call may have happened"}[r.Kind]
	if what == "" {
		what = string(r.Kind)
	}
	lines := []string{fmt.Sprintf("%s %s%s%s", r.ID, what, human.Lead(" of ", r.Task), human.Lead(": ", term.Line(title))), "", r.Text}
	for n, option := range r.Options {
		lines = append(lines, fmt.Sprintf("%d  %s", n+1, term.Line(option)))
		i.buttons = append(i.buttons, button{term.Cut(fmt.Sprintf("%d %s", n+1, term.Line(option)), maxLabel), fmt.Sprintf("%s %d", r.ID, n+1)})
	}
	how := "answer by a button, or by a reply to this message; for another answer, begin it with " + inbox.OtherPrefix
	switch {
	case r.Kind == inbox.Credential:
		how = fmt.Sprintf("never write it here; on the machine: ralph inbox answer %s --credential (for %s)", r.ID, r.Variable())
		i.buttons = []button{{"deny", r.ID + " deny"}}
	case len(r.Options) == 0:
		how = "answer by a reply to this message"
	}
	if !r.ExpiresAt.IsZero() {
		answer := "the agent decides by itself"
		if r.Default != "" {
			answer = "the answer is: " + r.Default
		}
		how += "\nif nobody answers until " + r.ExpiresAt.Format("2006-01-02 15:04 MST") + ", " + answer
	}
	if r.State != inbox.Open {
		i.over, how = (&inbox.OverError{Request: r}).Error(), ""
	}
	i.text = strings.TrimSpace(strings.Join(append(lines, "", how), "\n"))
	return i
}

func ofMerge(m dag.Merge) item {
	i := item{about: fmt.Sprintf("m-%d", m.N), merge: m}
	i.buttons = []button{{"accept", i.about + " accept"}, {"reject", i.about + " reject"}}
	i.text = fmt.Sprintf("the work of %s waits for review%s\n", m.Task, human.Lead(": ", term.Line(m.Title)))
	if m.Rated {
		i.text += fmt.Sprintf("risk %.2f: %s\n", m.Risk.Risk, m.Risk)
	}
	i.text += "see it with: ralph review --morning " + m.Task + "\nto send it back with a reason, reply: reject REASON"
	switch {
	case m.State != dag.MergeHeld:
		i.over = fmt.Sprintf("the work of %s does not wait any more: it is %s%s", m.Task, m.State, human.Lead(": ", m.Reason))
	case m.Accepted:
		i.over = "the work of " + m.Task + " was accepted already"
	}
	return i
}

// command is the command of ralph that gives an answer: the choice of a button, or what a person typed.
func (i item) command(choice, typed string) (stdin string, args []string, err error) {
	if i.merge.N > 0 {
		if choice == "" {
			choice, typed, _ = strings.Cut(typed, " ")
		}
		switch strings.ToLower(choice) {
		case "accept":
			return "", []string{"task", "accept", i.merge.Task}, nil
		case "reject":
			return "", []string{"task", "reject", i.merge.Task, "--message=" + strings.TrimSpace(typed)}, nil
		}
		return "", nil, errors.New("reply with: accept, or: reject REASON")
	}
	answer := []string{"inbox", "answer", i.about}
	if choice == "deny" {
		return "", append(answer, "--deny"), nil
	}
	reply := inbox.Typed(i.request, typed)
	if choice != "" {
		reply.Option, err = strconv.Atoi(choice)
	}
	if reply.Option > 0 || err != nil {
		return "", append(answer, fmt.Sprintf("--option=%d", reply.Option)), err
	}
	if reply.Other {
		answer = append(answer, "--other")
	}
	return reply.Text, append(answer, "-"), nil // not as an argument, which could name a file
}
