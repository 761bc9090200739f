package report

import (
	"errors"
	"path/filepath"
	"slices"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/plain"
	"ralph/internal/render/transcript"
)

// Progress is how the last attempt at a task stands, as its run has recorded it so far.
type Progress struct {
	Task    dag.Task
	Attempt dag.Attempt // without an ID if there was none
	Prompts int
	Calls   int            // of tools
	Kinds   map[string]int // the same by kind
	Doing   string         // the call that began last
	Files   []string       // that the agent said it changed
	Said    string         // the end of what it said
	Context int64          // tokens that its last request took, as far as it says so
	Died    bool           // its run has died, and nobody has recovered it
}

// maxSaid is how much of what an agent said last is told.
const maxSaid = 2 << 10

// ProgressOf reads how a task stands; runs is the folder of all runs.
func ProgressOf(g *dag.Graph, runs string, t dag.Task, life func(dag.Process) dag.Life) (Progress, error) {
	p := Progress{Task: t, Kinds: map[string]int{}}
	attempts, err := g.History.Attempts(t)
	if err != nil || len(attempts) == 0 {
		return p, err
	}
	p.Attempt = attempts[len(attempts)-1]
	if p.Attempt.EndedAt.IsZero() {
		run, err := g.History.RunOf(p.Attempt.ID)
		if err != nil {
			return p, err
		}
		p.Died = life(run.Process) == dag.Dead
	}
	r := &transcript.Reader{
		Folder: filepath.Join(runs, p.Attempt.Run), Task: t.ID, Brief: func(attempt string) bool { return attempt != p.Attempt.ID }, Emit: p.see,
	}
	_, err = r.Poll()
	p.Context = r.Context(p.Attempt.ID)
	err = errors.Join(err, r.Close())
	slices.Sort(p.Files)
	p.Files = slices.Compact(p.Files)
	return p, err
}

func (p *Progress) see(l transcript.Line) {
	if l.Attempt != p.Attempt.ID {
		return
	}
	switch l.Kind {
	case transcript.Prompt:
		p.Prompts++
	case transcript.Said:
		p.Said = plain.Tail(p.Said+l.Text, maxSaid)
	case transcript.ToolCall:
		if l.Tool.New {
			p.Calls++
			p.Kinds[l.Tool.Kind]++
			p.Doing = l.Tool.Title
		}
		p.Files = append(p.Files, l.Tool.Files...)
	case transcript.Wrote:
		p.Files = append(p.Files, l.Text)
	}
}

// Object is what machines read.
func (p Progress) Object(runs string) jsonval.Object {
	var attempt any
	if p.Attempt.ID != "" {
		attempt = ViewAttempts(runs, []dag.Attempt{p.Attempt})[0]
	}
	return jsonval.Object{
		"task", p.Task.ID, "title", p.Task.Title, "status", p.Task.Status, "phase", jsonval.Text(p.Attempt.Phase), "died", p.Died, "prompts", p.Prompts, "calls", p.Calls, "kinds", p.Kinds, "last_call", p.Doing,
		"files", jsonval.List(p.Files), "said", p.Said, "context_tokens", p.Context, "attempt", attempt,
	}
}
