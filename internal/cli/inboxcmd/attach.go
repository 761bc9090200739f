package inboxcmd

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/inbox"
	"ralph/internal/render/transcript"
)

// Attach is the command "ralph attach".
var Attach = cli.Command{
	Name: "attach", Args: "TASK", Short: "follow the agent at work on a task, and talk to it",
	Long: `Prints what the agent says and does until its attempt ends. Each line that you type is sent to it, as by ralph send:
it reads that when its turn ends. Lines that begin with / are commands:

  /stop     end its work and pause the task, as ralph stop TASK
  /pause    let it finish, and do not start the task again, as ralph pause TASK
  /retry    end its work; a run starts the task again at once
  /context  say what it has used, done and said, as ralph query TASK
  /detach   leave; so does Ctrl-D. The agent works on

If stdin is not a terminal, its end does not end this: the attempt does.`,
	Flags:   []cli.Flag{cli.Bool("full", "show prompts, thoughts and the output of tools in full")},
	Example: "ralph attach 1f0c\necho \"use the test server\" | ralph attach 1f0c",
	Exits:   "1 refused (no agent is at work on it), 3 not found, " + cli.Interrupted, Run: cli.InProject(runAttach),
}

type attachOptions struct {
	Args []string
	Full bool
}

// attached is a person who follows one attempt.
type attached struct {
	a    *cli.App
	s    *cli.Session
	task dag.Task
	at   dag.Attempt
	run  dag.Run

	out   transcript.Printer
	held  []transcript.Line // what happened before
	live  bool
	ended bool
}

// backlog is how many lines are printed of what happened before.
const backlog = 20

func runAttach(ctx context.Context, a *cli.App, s *cli.Session, o attachOptions) error {
	if err := a.RefuseAgent(); err != nil {
		return err
	}
	t := &attached{a: a, s: s, out: transcript.Printer{Out: a.Stdout, Palette: a.Palette(), Full: o.Full, Zone: time.Local}}
	err := s.Store.View(ctx, func(g *dag.Graph) (err error) {
		if t.task, err = cli.ResolveTask(g, o.Args[0]); err != nil {
			return err
		}
		if t.task.Status != dag.InProgress {
			err := fmt.Errorf("attach: %w: no agent is at work on %s", dag.ErrRefused, t.task.ID)
			return cli.Hint(err, "see what was said with: ralph logs %s", t.task.ID)
		}
		if t.at, err = lastAttempt(g, t.task); err == nil {
			t.run, err = g.History.RunOf(t.at.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	a.Note("attached to %s; type to tell its agent something, /detach to leave", t.task.ID)
	return t.follow(ctx)
}

// follow prints what happens and does what is typed, until the attempt ends or the person leaves.
func (t *attached) follow(ctx context.Context) error {
	r := &transcript.Reader{
		Folder: filepath.Join(t.s.Project.Runs(), t.run.ID), Task: t.task.ID,
		Brief: func(attempt string) bool { return attempt != t.at.ID }, Emit: t.print,
	}
	typed := t.lines(ctx)
	ticker := time.NewTicker(time.Second / 4)
	defer ticker.Stop()
	for {
		died := !t.ended && cli.Life(t.run.Process) == dag.Dead
		over, err := r.Poll()
		t.goLive()
		switch {
		case err != nil || t.out.Err() != nil || t.ended:
			_ = r.Close() // what it says is printed, and only that
			return cmp.Or(err, t.out.Err())
		case died && !over:
			t.a.Note("%s: %s", t.task.ID, dag.DiedText)
			return r.Close()
		case over:
			t.a.Note("run %s has ended", t.run.ID)
			return r.Close()
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		case line, more := <-typed:
			if !more {
				typed = nil
			}
			if !more && t.a.Asks || more && t.act(ctx, line) {
				return r.Close()
			}
		}
	}
}

func (t *attached) print(l transcript.Line) {
	if l.Attempt != t.at.ID {
		return
	}
	t.ended = t.ended || l.Kind == transcript.Ended
	if t.live {
		t.out.Print(l)
		return
	}
	t.held = append(t.held, l)
}

// goLive prints the end of what happened before, and from then on all.
func (t *attached) goLive() {
	if t.live {
		return
	}
	t.live = true
	if n := len(t.held) - backlog; n > 0 {
		t.a.Note("%d earlier lines; see them with: ralph logs %s", n, t.task.ID)
		t.held = t.held[n:]
	}
	for _, l := range t.held {
		t.out.Print(l)
	}
	t.held = nil
}

// lines are what is typed, until its end.
func (t *attached) lines(ctx context.Context) <-chan string {
	typed := make(chan string)
	go func() { // it may wait for a line for ever, and ends with the process then
		defer close(typed)
		for {
			text, end, err := cli.ReadLine(ctx, t.a)
			select {
			case typed <- strings.TrimSpace(text):
			case <-ctx.Done():
				return
			}
			if end || err != nil {
				return
			}
		}
	}()
	return typed
}

// act does what a line says, and reports whether the person leaves.
func (t *attached) act(ctx context.Context, line string) (leave bool) {
	id := t.task.ID
	var err error
	switch line {
	case "":
	case "/detach":
		return true
	case "/stop":
		err = stopTask(ctx, t.a, id)
	case "/pause":
		err = runPause(ctx, t.a, cli.PlainOptions{Args: []string{id}})
	case "/retry":
		err = cli.RecordIn(ctx, t.a, t.s, func(g *dag.Graph) error {
			_, err := inbox.Interrupt(g, id)
			return err
		})
		if err == nil {
			t.a.Note("%s is stopped, and starts again", id)
		}
	case "/context":
		p, perr := progressOf(ctx, t.a, t.s, id)
		if err = perr; err == nil {
			_, err = fmt.Fprint(t.a.Stdout, progressText(t.a, p))
		}
	default:
		if strings.HasPrefix(line, "/") {
			t.a.Note("%s is none of /stop, /pause, /retry, /context and /detach", line)
			return false
		}
		err = cli.RecordIn(ctx, t.a, t.s, func(g *dag.Graph) error {
			_, err := inbox.Send(g, id, g.Actor().Who, line)
			return err
		})
		if err == nil {
			t.a.Note("sent: it reads that when its turn ends")
		}
	}
	if err != nil {
		t.a.Fail(err)
	}
	return false
}
