package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"sync/atomic"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/testing/failpoint"
	"ralph/loop/attempt"
)

// recorder stores the records of one attempt: in the graph, in its folder, and in memory until the next heartbeat.
type recorder struct {
	shared
	claim  dag.Claim
	folder string
	priced func(event.Usage)
	sent   atomic.Int64
}

// record stores a record.
func (r *recorder) record(ctx context.Context, rec attempt.Record) error {
	return r.store(ctx, rec, nil)
}

// store stores a record, together with a mark that it is stored, if there is one.
func (r *recorder) store(ctx context.Context, rec attempt.Record, mark func(*dag.Graph) error) (err error) {
	inGraph := false
	switch {
	case rec.Event != nil:
		r.bus.emit(*rec.Event)
	case rec.Used != nil:
		r.live.used(r.claim.Attempt, rec.Used.Usage, rec.Used.SessionUSD)
		if rec.Used.Usage.AllTokens() > 0 { // before, an agent may still tell
			r.priced(rec.Used.Usage)
		}
	case rec.Finished != nil:
		err = writeFinished(r.opts.Inbox.Trust, r.folder, rec.Finished)
	case rec.Asked != nil:
		return r.ask(ctx, rec.Asked, mark)
	default:
		inGraph = true
	}
	if err != nil || !inGraph && mark == nil {
		return err
	}
	err = r.update(ctx, mark, func(g *dag.Graph) error { return r.apply(g, rec) })
	if errors.Is(err, attempt.ErrSent) {
		r.bus.warnOnce("sent\x00"+r.claim.Attempt, r.claim.Task.ID+": "+err.Error())
	}
	return err
}

// update makes a change and the mark in one transaction.
func (r *recorder) update(ctx context.Context, mark, change func(*dag.Graph) error) error {
	return r.opts.Graph.Store.Update(ctx, func(g *dag.Graph) error {
		err := change(g)
		if err == nil && mark != nil {
			err = mark(g)
		}
		return err
	})
}

// apply changes the graph, if a record does.
func (r *recorder) apply(g *dag.Graph, rec attempt.Record) error {
	switch {
	case rec.Note != nil:
		n := *rec.Note
		if n.Transcript != "" { // on whatever machine it was written, its files are here
			n.Transcript = filepath.Join(r.folder, filepath.Base(n.Transcript))
		}
		return g.History.NoteAttempt(r.claim.Attempt, n)
	case rec.Base != nil:
		b, err := json.Marshal(rec.Base)
		if err != nil {
			return err
		}
		return g.Queue.SetBase(r.claim, string(b))
	case rec.Proofs != nil:
		return g.Plan.SetProofs(r.claim, rec.Proofs)
	case rec.Allowed != nil:
		return changeAllowed(g, func(a attempt.Allowed) { a.Allow(rec.Allowed) })
	case rec.Accepted != nil:
		return changeAllowed(g, func(a attempt.Allowed) { a.Accept(rec.Accepted) })
	case rec.Sent != nil:
		return r.send(g, *rec.Sent)
	case rec.Received != nil:
		if err := g.Queue.Holds(r.claim); err != nil {
			return err
		}
		return inbox.Receive(g, r.claim.Attempt, rec.Received...)
	}
	return nil
}

// ask stores what the agent asks, and tells people.
func (r *recorder) ask(ctx context.Context, asked *inbox.Request, mark func(*dag.Graph) error) error {
	if why := r.opts.Inbox.NoCredentials; asked.Kind == inbox.Credential && why != "" {
		return fmt.Errorf("%w: %s", dag.ErrRefused, why)
	}
	failpoint.Hit("before-question")
	fresh := false
	err := r.update(context.WithoutCancel(ctx), mark, func(g *dag.Graph) (err error) {
		q := *asked
		if q.Run = r.run.ID; r.opts.Inbox.Expire > 0 {
			q.ExpiresAt = g.Now().Add(r.opts.Inbox.Expire)
		}
		if q, err = inbox.Ask(g, r.opts.Inbox.Trust, r.claim, q); err == nil {
			*asked = q
		}
		fresh = q.At.Equal(g.Now().Truncate(time.Millisecond))
		return err
	})
	failpoint.Hit("after-question")
	if err != nil {
		if errors.Is(err, dag.ErrRefused) {
			r.bus.warnOnce("asked\x00"+r.claim.Attempt, r.claim.Task.ID+": "+err.Error())
		}
		return err
	}
	if again := asked.Run != r.run.ID; fresh || again && r.bus.first("again\x00"+asked.ID) { // an earlier run may have died before it told people
		e := questionEvent(event.Asked, *asked, asked.Text)
		e.Title, e.Question.Again = r.claim.Task.Title, again
		r.bus.emit(e)
	}
	return nil
}

func (r *recorder) send(g *dag.Graph, m attempt.Message) error {
	err := g.Queue.Holds(r.claim)
	if err != nil {
		return err
	}
	var to []string
	if m.Task == "" {
		to, err = inbox.Begun(g, r.claim.Task.ID)
	} else {
		var t dag.Task
		t, err = g.Tasks.Resolve(m.Task)
		to = []string{t.ID}
	}
	if sent := r.sent.Load(); err == nil && sent+int64(len(to)) > attempt.MaxSent {
		err = fmt.Errorf("%w; this one has sent %d, and this would be %d", attempt.ErrSent, sent, len(to))
	}
	if err == nil {
		_, err = inbox.SendEach(g, to, r.claim.Task.ID, m.Text)
	}
	if err == nil {
		r.sent.Add(int64(len(to)))
	}
	return err
}

// replayed is how far the records of a result are stored. A result that arrives again goes on there.
type replayed struct {
	Of    string            // the try and its commit
	Count int               // of its records
	Names map[string]string // what its questions are called here
}

// replay stores the records of a result that another machine delivered, each once, and returns what its questions are called here. What
// is refused is warned of, as the agent is gone.
func (r *recorder) replay(ctx context.Context, of string, records []attempt.Record) (names map[string]string, err error) {
	var at replayed
	err = r.opts.Graph.Store.View(ctx, func(g *dag.Graph) error {
		text, err := g.History.Replayed(r.claim.Attempt)
		if err == nil && text != "" {
			err = json.Unmarshal([]byte(text), &at)
		}
		return err
	})
	if at.Of != of {
		at = replayed{Of: of}
	}
	for err == nil && at.Count < len(records) {
		rec, next, name := records[at.Count], at, ""
		if next.Count++; rec.Asked != nil {
			asked := *rec.Asked
			rec.Asked, name = &asked, asked.ID
		}
		mark := func(g *dag.Graph) error {
			if name != "" {
				next.Names = maps.Clone(at.Names)
				if next.Names == nil {
					next.Names = map[string]string{}
				}
				next.Names[name] = rec.Asked.ID
			}
			b, err := json.Marshal(next)
			if err != nil {
				return err
			}
			return g.History.SetReplayed(r.claim.Attempt, string(b))
		}
		if rec.Event != nil && next.Count < len(records) {
			mark = nil // what follows marks it, too
		}
		err = r.store(ctx, rec, mark)
		switch {
		case errors.Is(err, dag.ErrLost): // whoever ends the attempt says so
			err = nil
		case errors.Is(err, dag.ErrRefused), errors.Is(err, dag.ErrNotFound):
			r.bus.warn(r.claim.Task.ID, "the agent cannot be told that this was refused: "+err.Error())
			err = nil
		}
		at = next
		failpoint.Hit("after-replay")
	}
	return at.Names, err
}
