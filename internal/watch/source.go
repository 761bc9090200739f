package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/render/transcript"
)

type wish struct {
	task    string // that is looked at
	request string // the same
	reread  bool   // the database, whatever its version says
}

// news is what became known. What is nil is as it was.
type news struct {
	at      time.Time
	task    string // that was wished for
	request string // the same
	snap    *snapshot
	detail  *detail
	stream  *stream
	doing   map[string]string // what is done in an attempt beside the agent's work: a gate, the verifier
	warned  string            // the newest warning of the run
	err     error
	took    time.Duration // reading the database
}

// refresh is how often the database is read again though nobody changed it: a run
// that died reports nothing.
const refresh = 5 * time.Second

// source reads what there is to know. It is used by one goroutine at a time.
type source struct {
	opts    Options
	version int64
	read    time.Time // when the database was last read
	task    string    // that was studied last
	request string    // the same
	attempt *dag.Attempt

	run    string // whose events are followed
	events *transcript.Events
	doing  map[string]string
	warned string
	ticker *ticker // of the attempt
}

func (s *source) poll(ctx context.Context, w wish) news {
	n := news{at: s.opts.Now(), task: w.task, request: w.request}
	n.err = s.readDatabase(ctx, w, &n)
	if s.events != nil {
		n.err = cmp.Or(n.err, s.events.Poll())
		n.doing, n.warned = s.doing, s.warned
	}
	n.stream = &stream{}
	if s.ticker != nil {
		n.err = cmp.Or(n.err, s.ticker.poll())
		n.stream = s.ticker.take()
	}
	return n
}

func (s *source) readDatabase(ctx context.Context, w wish, n *news) error {
	if !s.opts.Intact() {
		return errors.New("the database is gone: it was moved or deleted")
	}
	version, err := s.opts.Version(ctx)
	if err != nil {
		return err
	}
	if !w.reread && version == s.version && w.task == s.task && w.request == s.request && n.at.Sub(s.read) < refresh {
		return nil
	}
	err = s.opts.Store.View(ctx, func(g *dag.Graph) error {
		snap, err := look(g, s.opts.Run, s.opts.Life)
		if err != nil {
			return fmt.Errorf("read the graph: %w", err)
		}
		if snap.questions, err = questions(g, w.request); err != nil {
			return fmt.Errorf("read the questions: %w", err)
		}
		n.snap = &snap
		if w.task == "" {
			return nil
		}
		d, err := study(g, w.task)
		if errors.Is(err, dag.ErrNotFound) {
			return nil // it was deleted: the next snapshot has another one
		}
		n.detail = &d
		return err
	})
	if err != nil {
		return err
	}
	s.version, s.task, s.request, s.read, n.took = version, w.task, w.request, n.at, s.opts.Now().Sub(n.at)
	s.follow(n)
	return nil
}

// follow turns to the files of the run and the attempt that are looked at now.
func (s *source) follow(n *news) {
	if id := n.snap.run.ID; id != s.run {
		s.run, s.doing, s.warned = id, map[string]string{}, ""
		s.events = &transcript.Events{Path: filepath.Join(s.opts.Folder, id, "events.jsonl"), Emit: s.happened}
	}
	var next *dag.Attempt
	if n.detail != nil {
		next = n.detail.attempt
	}
	switch {
	case next == nil:
		s.ticker = nil
	case s.ticker == nil || s.attempt.ID != next.ID:
		path := filepath.Join(s.opts.Folder, next.Run, next.ID, "transcript.jsonl")
		s.ticker = newTicker(path, s.opts.Palette)
	}
	s.attempt = next
}

// happened applies an event of the run. The map is copied at each change, because
// the view has the old one.
func (s *source) happened(e event.Event) {
	set := func(text string) {
		doing := maps.Clone(s.doing)
		delete(doing, e.Attempt)
		if text != "" {
			doing[e.Attempt] = text
		}
		s.doing = doing
	}
	switch e.Type {
	case event.GateStarted:
		if e.Gate != nil {
			set(strings.TrimSpace("gate " + e.Gate.Command + " " + e.Reason))
		}
	case event.VerifierStarted:
		set("verifier")
	case event.GateEnded, event.VerifierEnded, event.AttemptEnded:
		set("")
	case event.MergeWaiting:
		s.warned = "landing waits: " + e.Reason
	case event.MergeLanded:
		s.warned = human.Lead("the branch ", e.Reason)
	case event.Warned:
		s.warned = e.Text + " " + e.Reason
	}
}

type snapshot struct {
	run      dag.Run // the zero Run if there is none yet
	state    state   // of the run
	others   int     // runs that are under way beside it
	paused   time.Time
	tally    dag.Tally
	tasks    []dag.Outline
	attempts []dag.Attempt // under way, of all runs
	queue    []dag.Merge   // work that is to land, in its order
	spent    dag.Usage     // by the run

	questions []inbox.Request // that wait for an answer, and the one that is looked at
}

type state string

// The states of a run.
const (
	none     state = ""
	running  state = "running"
	stopping state = "stopping"
	died     state = "died"
	ended    state = "ended"
)

// look reads a snapshot. A run that was asked for is kept to; else it is the one
// under way that began last, or the last one.
func look(g *dag.Graph, wanted string, life func(dag.Process) dag.Life) (s snapshot, err error) {
	open, _ := g.History.OpenRuns() // the first error of the database is that of the transaction
	if s.run, err = which(g, wanted, open); err != nil {
		return s, err
	}
	control, _ := g.Queue.Control(s.run.ID)
	s.paused, s.state = control.PausedAt, stateOf(s.run, control, life)
	alive := map[string]bool{}
	for _, r := range open {
		if life(r.Process) != dag.Dead {
			alive[r.ID] = true
			if r.ID != s.run.ID {
				s.others++
			}
		}
	}
	s.tasks, _ = g.Tasks.Outline(s.run.Scope)
	if len(s.tasks) > 0 { // the scope may be gone by now
		if s.tally, err = g.Tasks.Tally(s.run.Scope); err != nil {
			return s, err
		}
	}
	attempts, _ := g.History.OpenAttempts()
	for _, a := range attempts {
		if alive[a.Run] && (wanted == "" || a.Run == wanted) {
			s.attempts = append(s.attempts, a)
		}
	}
	slices.SortStableFunc(s.attempts, func(a, b dag.Attempt) int { return a.Slot - b.Slot }) // a lane stays where it is
	s.queue, _ = g.Queue.OpenMerges("")
	if s.run.ID != "" {
		s.spent, _ = g.History.RunUsage(s.run.ID)
	}
	return s, g.Tx().Err()
}

// questions lists what waits for an answer, oldest first. The one that is looked at stays, so that whoever reads it learns
// what became of it.
func questions(g *dag.Graph, looked string) ([]inbox.Request, error) {
	list, err := inbox.Waiting(g)
	if err != nil || looked == "" || slices.ContainsFunc(list, func(r inbox.Request) bool { return r.ID == looked }) {
		return list, err
	}
	r, err := inbox.Get(g, looked)
	if errors.Is(err, dag.ErrNotFound) {
		return list, nil
	}
	at, _ := slices.BinarySearchFunc(list, r.N, func(r inbox.Request, n int64) int { return cmp.Compare(r.N, n) })
	return slices.Insert(list, at, r), err
}

func which(g *dag.Graph, wanted string, open []dag.Run) (dag.Run, error) {
	if wanted != "" {
		return g.History.ResolveRun(wanted)
	}
	if len(open) > 0 {
		return open[len(open)-1], nil
	}
	last, err := g.History.RunOrLast("")
	if errors.Is(err, dag.ErrNoRun) {
		err = nil
	}
	return last, err
}

func stateOf(r dag.Run, c dag.Control, life func(dag.Process) dag.Life) state {
	switch {
	case r.ID == "":
		return none
	case !r.EndedAt.IsZero():
		return ended
	case life(r.Process) == dag.Dead:
		return died
	case c.Stop != "":
		return stopping
	default:
		return running
	}
}

type detail struct {
	task     string
	about    string       // its description
	attempt  *dag.Attempt // the newest one, if there is one
	attempts int          // so far
	reasons  []dag.Reason // why it does not run
	wish     string       // what a person last noted on it
}

func study(g *dag.Graph, id string) (detail, error) {
	d := detail{task: id}
	t, err := g.Tasks.Get(id)
	if err != nil {
		return d, err
	}
	d.about = t.Description
	if d.reasons, err = g.Tasks.Why(t); err != nil {
		return d, err
	}
	attempts, _ := g.History.Attempts(t)
	if d.attempts = len(attempts); d.attempts > 0 {
		d.attempt = &attempts[d.attempts-1]
	}
	logs, err := g.Tasks.Logs(t)
	for _, l := range logs {
		if l.Kind == dag.LogUser {
			d.wish = l.Text
		}
	}
	return d, err
}
