package watch

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/inbox"
)

type verb int

// The verbs.
const (
	pauseOrResume verb = iota
	stopAfter
	stopNow
	hold  // one task, or let it go
	end   // its agent
	skip  // a task, or take that back
	retry // it as if it had never run
	guide // its next agent
	answer
)

type deed struct {
	verb verb
	task dag.Outline
	text string

	request string // that is answered
	secret  bool   // with a credential
	reply   inbox.Reply
}

type did struct {
	text    string
	err     error
	request string // that was answered
}

// act does it by the command that a person would type: so hooks, the audit and what is refused are the same.
func act(ctx context.Context, opts Options, d deed) did {
	var args []string
	stdin := d.reply.Text
	err := opts.Store.View(ctx, func(g *dag.Graph) (err error) {
		args, err = d.command(g, opts.Run)
		return err
	})
	if err != nil {
		return did{err: err, request: d.request}
	}
	if d.verb == guide {
		stdin = strings.TrimSpace(d.text)
	}
	said, err := opts.Command(ctx, stdin, args...)
	return did{said, err, d.request}
}

// command goes by what is stored, not by what was on the screen. Texts are read from stdin.
func (d deed) command(g *dag.Graph, run string) ([]string, error) {
	switch d.verb {
	case pauseOrResume:
		control, err := g.Queue.Control("")
		if control.PausedAt.IsZero() {
			return []string{"pause"}, err
		}
		return []string{"resume"}, err
	case stopAfter, stopNow:
		args := []string{"stop"}
		if d.verb == stopNow {
			args = append(args, "--now")
		}
		if run != "" {
			args = append(args, "--run="+run)
		}
		return args, nil
	case answer:
		return d.answers(), nil
	}
	t, err := g.Tasks.Get(d.task.ID)
	if err != nil {
		return nil, err
	}
	switch d.verb {
	case hold:
		if t.Paused {
			return []string{"resume", t.ID}, nil
		}
		return []string{"pause", t.ID}, nil
	case end:
		return []string{"stop", t.ID}, nil
	case skip:
		if t.Status == dag.Blocked {
			return []string{"task", "unblock", t.ID}, nil
		}
		return []string{"task", "block", "--now", "--reason=skipped in ralph watch", t.ID}, nil
	case retry:
		if t.Children > 0 {
			return []string{"task", "reset", "--failed", t.ID}, nil
		}
		return []string{"task", "reset", t.ID}, nil
	default: // guide
		if why := unread(t.ID, t.Status, t.Children); why != "" {
			return nil, errors.New(why)
		}
		return []string{"task", "log", "--message=-", t.ID}, nil
	}
}

func (d deed) answers() []string {
	args := []string{"inbox", "answer", d.request}
	switch {
	case d.reply.Option > 0:
		return append(args, "--option="+strconv.Itoa(d.reply.Option))
	case d.secret:
		args = append(args, "--credential")
	case d.reply.Other:
		args = append(args, "--other")
	case d.reply.Denied && d.reply.Text == "":
		return append(args, "--deny")
	case d.reply.Denied:
		args = append(args, "--deny")
	}
	return append(args, "-")
}

// unread says why no agent would ever read what is said to a task, if that is so.
func unread(id string, status dag.Status, children int) string {
	switch {
	case children > 0:
		return id + " is a group, which no agent works on: guide a task in it"
	case status == dag.Done:
		return id + " is done: no agent would read it; r resets it"
	default:
		return ""
	}
}
