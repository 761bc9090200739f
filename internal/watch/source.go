package watch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/render/transcript"
)

type wish struct {
	task   string // that is looked at
	reread bool   // the database, whatever its version says
}

// news is what became known. What is nil is as it was.
type news struct {
	at     time.Time
	task   string // that was wished for
	snap   *snapshot
	detail *detail
	stream *stream
	doing  map[string]string // what is done in an attempt beside the agent's work: a gate, the verifier
	warned string            // the newest warning of the run
	err    error
	took   time.Duration // reading the database
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
	attempt *dag.Attempt

	run    string // whose events are followed
	events *transcript.Events
	doing  map[string]string
	warned string
	ticker *ticker // of the attempt
}

func (s *source) poll(ctx context.Context, w wish) news {
	n := news{at: s.opts.Now(), task: w.task}
	n.err = s.readDatabase(ctx, w, &n)
	if s.events != nil {
		if err := s.events.Poll(); n.err == nil {
			n.err = err
		}
		n.doing, n.warned = s.doing, s.warned
	}
	if s.ticker != nil {
		if err := s.ticker.poll(); n.err == nil {
			n.err = err
		}
		n.stream = s.ticker.take()
	} else {
		n.stream = &stream{}
	}
	return n
}

func (s *source) readDatabase(ctx context.Context, w wish, n *news) error {
	if s.opts.Intact != nil && !s.opts.Intact() {
		return errors.New("the database is gone: it was moved or deleted")
	}
	version, err := s.opts.Version(ctx)
	if err != nil {
		return err
	}
	if !w.reread && version == s.version && w.task == s.task && n.at.Sub(s.read) < refresh {
		return nil
	}
	err = s.opts.Store.View(ctx, func(g *dag.Graph) error {
		snap, err := look(g, s.opts.Run, s.opts.Life)
		if err != nil {
			return fmt.Errorf("read the graph: %w", err)
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
	s.version, s.task, s.read, n.took = version, w.task, n.at, s.opts.Now().Sub(n.at)
	s.follow(n)
	return nil
}

// follow turns to the files of the run and the attempt that are looked at now.
func (s *source) follow(n *news) {
	if id := n.snap.run.ID; id != s.run {
		s.run, s.doing, s.warned = id, map[string]string{}, ""
		s.events = &transcript.Events{Path: filepath.Join(s.opts.Folder, id, "events.jsonl"), Tell: s.happened}
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
		doing := map[string]string{}
		for k, v := range s.doing {
			doing[k] = v
		}
		delete(doing, e.Attempt)
		if text != "" {
			doing[e.Attempt] = text
		}
		s.doing = doing
	}
	switch e.Type {
	case event.GateStarted:
		if e.Gate != nil {
			set("gate " + e.Gate.Command)
		}
	case event.VerifierStarted:
		set("verifier")
	case event.GateEnded, event.VerifierEnded, event.AttemptEnded:
		set("")
	case event.Warned:
		s.warned = e.Text + " " + e.Reason
	}
}
