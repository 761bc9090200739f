package reviewcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/decide"
	"ralph/internal/human"
	"ralph/internal/seq"
)

// morning is a person who goes through work, the riskiest first. What they decide is stored at once, so that whoever ends it in
// the middle, or whatever does, loses nothing.
type morning struct {
	a    *cli.App
	s    *cli.Session
	list []ReviewItem

	accepted, undone, back, others int
}

func askMorning(ctx context.Context, a *cli.App, s *cli.Session, list []ReviewItem) error {
	a.TakeSignals() // undoing is a run, which does that anyway; each question has its own
	m := &morning{a: a, s: s, list: list}
	landed := len(slices.DeleteFunc(slices.Clone(list), func(l ReviewItem) bool { return !l.landed() }))
	a.Note("%s to look at, the riskiest first: %d landed, %d held", human.Count(len(list), "task"), landed, len(list)-landed)
	for i, l := range list {
		if done, err := m.look(ctx, i, l); err != nil || done {
			m.sum()
			return err
		}
	}
	m.sum()
	return nil
}

// sum says what was done, and what comes next.
func (m *morning) sum() {
	left := len(m.list) - m.accepted - m.undone - m.back - m.others
	var parts []string
	for i, n := range []int{m.accepted, m.undone, m.back, m.others, left} {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, []string{"accepted", "taken back", "sent back", "decided by others", "left for the next ralph review --morning"}[i]))
		}
	}
	m.a.Note("%s", strings.Join(parts, ", "))
}

// pageLines is how much of a patch is shown at once.
const pageLines = 40

// look shows one piece of work and asks until something is decided about it. Done means that the person leaves.
func (m *morning) look(ctx context.Context, i int, l ReviewItem) (done bool, err error) {
	a := m.a
	if changed, err := m.changed(ctx, l); err != nil || changed != "" {
		if err == nil {
			a.Note("%s: %s", l.Task, changed)
			m.others++
		}
		return false, err
	}
	fmt.Fprintf(a.Stderr, "\n%s\n%s", a.StderrPalette().Dim(fmt.Sprintf("── %d of %d ──", i+1, len(m.list))), lookedText(a, m.s, l)+patchText(ctx, m.s, l, "--stat", "--stat-count=30"))
	var patch []string // what is left of it to show
	shown := false
	for {
		keys := m.keys(l, shown, len(patch))
		answer, end, err := m.ask(ctx, keys)
		if err != nil || end {
			return true, err
		}
		switch act := m.pick(answer, l); act {
		case "diff":
			if !shown {
				patch, shown = strings.SplitAfter(strings.TrimSuffix(patchText(ctx, m.s, l, "-p"), "\n")+"\n", "\n"), true
			}
			page := patch[:min(len(patch), pageLines)]
			patch = patch[len(page):]
			fmt.Fprint(a.Stderr, strings.Join(page, ""))
		case "next":
			return false, nil
		case "quit":
			return true, nil
		case "rest":
			return true, m.acceptRest(ctx, i)
		case "":
			a.Note("type one of the letters in brackets")
		default:
			decided, err := m.decide(ctx, act, l)
			if decided || err != nil {
				return false, err
			}
		}
	}
}

// keys are what can be typed about work.
func (m *morning) keys(l ReviewItem, shown bool, left int) string {
	list := []string{"[a]ccept"}
	if l.landed() && l.gone == "" {
		list = append(list, "[u]ndo")
	}
	if l.gone == "" {
		list = append(list, "[s]end back")
	}
	switch {
	case !shown:
		list = append(list, "[d]iff")
	case left > 1:
		list = append(list, fmt.Sprintf("[d]iff: %d more lines", left-1))
	}
	return strings.Join(append(list, "[n]ext", "accept the [r]est", "[q]uit"), ", ")
}

// pick is what an answer means: "" if nothing, or nothing that can be done with this work.
func (m *morning) pick(answer string, l ReviewItem) string {
	answer = strings.ToLower(strings.TrimSpace(answer))
	if answer == "" {
		return "next"
	}
	for _, act := range []string{"accept", "undo", "send back", "diff", "next", "rest", "quit"} {
		if strings.HasPrefix(act, answer) {
			if act == "undo" && (!l.landed() || l.gone != "") || act == "send back" && l.gone != "" {
				return ""
			}
			return act
		}
	}
	return ""
}

// ask puts a question on one line. A signal ends it, and with it the review.
func (m *morning) ask(ctx context.Context, keys string) (answer string, end bool, err error) {
	ctx, stop := cli.Interruptible(ctx, m.a, nil, cli.NoticeTimeout)
	defer stop()
	m.a.Complain(keys)
	fmt.Fprint(m.a.Stderr, "> ")
	answer, end, err = cli.ReadLine(ctx, m.a)
	if end {
		fmt.Fprintln(m.a.Stderr)
	}
	return answer, end && strings.TrimSpace(answer) == "", err
}

// decide does what a person decided. What was refused is said, and asked about again.
func (m *morning) decide(ctx context.Context, act string, l ReviewItem) (decided bool, err error) {
	a, count := m.a, &m.accepted
	message := ""
	if act == "send back" {
		asking, stop := cli.Interruptible(ctx, a, nil, cli.NoticeTimeout)
		message, err = cli.Ask(asking, a, "What should the next attempt know")
		stop()
		if err != nil {
			return false, err
		}
		if message == "" {
			a.Note("nothing was said, so nothing is sent back")
			return false, nil
		}
	}
	if changed, err := m.changed(ctx, l); err != nil || changed != "" { // while they read
		if err == nil {
			a.Note("%s: %s", l.Task, changed)
			m.others++
		}
		return err == nil, err
	}
	switch {
	case act == "accept":
		err = decide.AcceptTasks(ctx, a, []string{l.Task}, "")
	case l.landed():
		count = &m.undone
		if message != "" {
			count = &m.back
		}
		o := undoOptions{Message: message}
		o.Args = []string{l.Task}
		err = undoTask(ctx, a, o)
	default:
		count = &m.back
		o := decide.TaskStateOptions{Message: message}
		err = decide.ChangeTasks(ctx, a, a.Update, []string{l.Task}, "reject", "rejected", func(g *dag.Graph, t dag.Task) error { return decide.RejectTask(g, t, o) })
	}
	switch {
	case errors.As(err, new(cli.CaughtSignal)):
		return false, err
	case err != nil:
		a.Fail(err)
		return false, nil
	}
	*count++
	return true, nil
}

// acceptRest accepts what landed from here on. What is held would land: that is decided one by one.
func (m *morning) acceptRest(ctx context.Context, from int) error {
	rest := slices.DeleteFunc(slices.Clone(m.list[from:]), func(l ReviewItem) bool { return !l.landed() })
	ids := slices.DeleteFunc(seq.Map(rest, func(l ReviewItem) string {
		if changed, err := m.changed(ctx, l); changed != "" || err != nil {
			return ""
		}
		return l.Task
	}), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		m.a.Note("nothing is left that landed")
		return nil
	}
	if err := decide.AcceptTasks(ctx, m.a, ids, "with the rest"); err != nil {
		return err
	}
	m.accepted += len(ids)
	return nil
}

// changed says what somebody else has done to work since it was listed, or "".
func (m *morning) changed(ctx context.Context, l ReviewItem) (what string, err error) {
	err = m.s.Store.View(ctx, func(g *dag.Graph) error {
		t, err := g.Tasks.Get(l.Task)
		if errors.Is(err, dag.ErrNotFound) {
			what = "its task was deleted meanwhile"
			return nil
		}
		undoing, _ := g.Tasks.Undoing(t) // the first error of the database is that of all that follow
		now, err := g.Queue.Merge(l.N)
		switch {
		case err != nil:
		case l.landed() && t.Status != dag.Done:
			what = "it was taken back or opened again meanwhile"
		case l.landed() && undoing != "":
			what = "it is being taken back by " + undoing
		case l.landed() && !now.ReviewedAt.Equal(l.ReviewedAt):
			what = now.ReviewedBy + " accepted it meanwhile"
		case !l.landed() && (now.State != dag.MergeHeld || now.Accepted):
			what = "somebody decided about it meanwhile: it is " + now.String()
		}
		return err
	})
	return what, err
}
