package loop

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
	_ "ralph/internal/testing/seeded"
	"ralph/loop/attempt"
	"ralph/verify"
)

// recording is a stage with a run whose attempts a test records.
type recording struct {
	*stage
	run   *Runner
	tasks []string
}

func newRecording(t *testing.T) *recording {
	s := newStage(t, fakeagent.Script{})
	began, passed := time.Now(), atomic.Int64{}
	s.clock = func() time.Time { return began.Add(time.Duration(passed.Add(1)) * time.Millisecond) } // no two things happen at once
	s.update(t, func(g *dag.Graph) error { _, err := g.Plan.AddFeature("proven"); return err })
	return &recording{stage: s, run: s.start(t)}
}

// attempt claims a new task.
func (r *recording) attempt(t *testing.T) dag.Claim {
	t.Helper()
	r.tasks = append(r.tasks, r.add(t, dag.NewTask{Detail: dag.Detail{Title: fmt.Sprint("task ", len(r.tasks))}, Feature: "proven"})...)
	next, ok := r.run.claimer.next(t.Context())
	if !ok {
		t.Fatal("nothing can be claimed")
	}
	r.run.live.add(next.claim.Attempt, next.claim.Task, time.Now())
	return next.claim
}

// recorder is that of a process: another one knows only what is stored.
func (r *recording) recorder(c dag.Claim) *recorder {
	return &recorder{shared: r.run.shared, claim: c, folder: filepath.Join(r.opts.Place.Runs, c.Attempt), priced: func(event.Usage) {}}
}

// stored is all that records of an attempt may have changed. IDs and times are left out.
func (r *recording) stored(t *testing.T, c dag.Claim) []string {
	t.Helper()
	var at dag.Attempt
	var asked []inbox.Request
	var proofs []dag.Proof
	var allowed map[string]string
	var base string
	r.update(t, func(g *dag.Graph) error {
		var errs [5]error
		at, errs[0] = g.History.Attempt(c.Attempt)
		asked, errs[1] = inbox.Last(g, 10000)
		proofs, errs[2] = g.Plan.Proofs("proven")
		allowed, errs[3] = g.Plan.AllowedFailures()
		base, errs[4] = g.Queue.Base(c.Task.ID)
		return errors.Join(errs[:]...)
	})
	at.ID, at.Run, at.Task, at.StartedAt, at.Heartbeat = "", "", "", time.Time{}, time.Time{}
	at.Transcript = strings.TrimPrefix(at.Transcript, r.opts.Place.Runs+"/"+c.Attempt)
	list := []string{fmt.Sprintf("%+v", at), fmt.Sprint(base, allowed), fmt.Sprintf("%+v", *r.run.live.note(c.Attempt).Usage)}
	for _, q := range asked {
		list = append(list, fmt.Sprint(q.Kind, r.index(q.Task), r.index(q.Sender), q.Text, q.Options, q.Parks, q.State, q.ReceivedBy == c.Attempt))
	}
	for _, p := range proofs {
		list = append(list, fmt.Sprint(p.Criterion, p.Text, p.Kind, r.index(p.Task), p.Gate, p.Shown))
	}
	for _, e := range r.all(func(e event.Event) bool { return e.Attempt == c.Attempt }) {
		list = append(list, fmt.Sprint(e.Type, e.Text, e.Reason))
	}
	finished, err := os.ReadFile(filepath.Join(r.opts.Place.Runs, c.Attempt, finishedFile))
	check.That(t, err == nil || errors.Is(err, os.ErrNotExist), "%v", err)
	return append(list, string(finished))
}

// index is a task's name in both stages.
func (r *recording) index(id string) string {
	if i := slices.Index(r.tasks, id); i >= 0 {
		return fmt.Sprint("task ", i)
	}
	return id
}

var texts = rapid.SampledFrom([]string{"one", "two", "three"})

// drawRecord draws what is recorded, for the stage that it is given later.
func drawRecord(rt *rapid.T) func(r *recording, c dag.Claim, message string) attempt.Record {
	text, n := texts.Draw(rt, "text"), rapid.IntRange(1, 5).Draw(rt, "n")
	result := verify.Result{Command: "test " + text, Passed: n == 1, Exit: "exit status 1", Failures: fmt.Sprint(text, n)}
	fixed := func(rec attempt.Record) func(*recording, dag.Claim, string) attempt.Record {
		return func(*recording, dag.Claim, string) attempt.Record { return rec }
	}
	switch rapid.IntRange(0, 12).Draw(rt, "kind") {
	case 0:
		return fixed(attempt.Record{Note: &dag.Note{Phase: dag.Prompted, Agent: text, Usage: &event.Usage{TokensIn: int64(n)}}})
	case 1:
		return fixed(attempt.Record{Note: &dag.Note{Phase: dag.Answered, StopReason: text, TreeAfter: text}})
	case 2:
		return fixed(attempt.Record{Note: &dag.Note{Gates: []dag.GateRecord{{Command: text, Exit: "x", Verdict: event.GateFailed}}, Verdict: text, Drift: []string{text}}})
	case 3:
		return func(r *recording, c dag.Claim, _ string) attempt.Record {
			return attempt.Record{Note: &dag.Note{Transcript: filepath.Join(r.opts.Place.Runs, c.Attempt, "transcript.jsonl")}}
		}
	case 4:
		return fixed(attempt.Record{Base: &attempt.Base{Gates: map[string]verify.Result{text: result}}})
	case 5:
		return fixed(attempt.Record{Finished: &attempt.Finished{Stop: text, Told: []string{text}}})
	case 6:
		return func(_ *recording, c dag.Claim, _ string) attempt.Record {
			return attempt.Record{Proofs: []dag.Proof{{Criterion: fmt.Sprint("C", n), Text: text, Kind: dag.ProofTest, Task: c.Task.ID, Attempt: c.Attempt, Gate: "test", Shown: text}}}
		}
	case 7:
		return fixed(attempt.Record{Allowed: []verify.Result{result}})
	case 8:
		return fixed(attempt.Record{Accepted: []verify.Check{{Result: result}}})
	case 9:
		return fixed(attempt.Record{Asked: &inbox.Request{ID: "q-asked-0", Kind: inbox.Question, Text: text, Options: []string{"yes", "no"}, Parks: true}})
	case 10:
		return func(r *recording, _ dag.Claim, _ string) attempt.Record {
			to := []string{"", "nothing", r.tasks[0]}[n%3]
			return attempt.Record{Sent: &attempt.Message{Task: to, Text: text}}
		}
	case 11:
		return func(_ *recording, _ dag.Claim, message string) attempt.Record {
			return attempt.Record{Received: []string{message}}
		}
	default:
		return func(_ *recording, c dag.Claim, _ string) attempt.Record {
			if n > 3 {
				return attempt.Record{Used: &attempt.Used{Usage: event.Usage{TokensOut: int64(n)}}}
			}
			return attempt.Record{Event: &event.Event{Type: event.GateEnded, Attempt: c.Attempt, Text: text}}
		}
	}
}

// TestRecordsAreStoredAloneAsTheyAreReplayed: what an attempt stores on its own machine, and what a run stores of one that was made on
// another machine, is the same, wherever the run died meanwhile and however often the result arrives.
func TestRecordsAreStoredAloneAsTheyAreReplayed(t *testing.T) {
	t.Parallel()
	local, far := newRecording(t), newRecording(t)
	for _, r := range []*recording{local, far} {
		r.attempt(t) // gets messages
	}
	rapid.Check(t, func(rt *rapid.T) {
		var drawn []func(*recording, dag.Claim, string) attempt.Record
		for range rapid.IntRange(1, 12).Draw(rt, "records") {
			drawn = append(drawn, drawRecord(rt))
		}
		dies := rapid.IntRange(0, len(drawn)).Draw(rt, "dies after")
		begin := func(r *recording) (c dag.Claim, records []attempt.Record) {
			c = r.attempt(t)
			check.OK(t, os.MkdirAll(filepath.Join(r.opts.Place.Runs, c.Attempt), 0o700))
			var m inbox.Request
			r.update(t, func(g *dag.Graph) (err error) { m, err = inbox.Send(g, c.Task.ID, "person", "hello"); return err })
			for _, d := range drawn {
				records = append(records, d(r, c, m.ID))
			}
			b, err := json.Marshal(records)
			check.OK(t, err)
			if r == far {
				records = nil
				check.OK(t, json.Unmarshal(b, &records))
			}
			return c, records
		}
		c, records := begin(local)
		at := local.recorder(c)
		for _, rec := range records {
			err := at.record(t.Context(), rec)
			check.That(t, err == nil || errors.Is(err, dag.ErrRefused) || errors.Is(err, dag.ErrNotFound), "record: %v", err)
		}
		want := local.stored(t, c)
		c, records = begin(far)
		for _, some := range [][]attempt.Record{records[:dies], records, records} {
			_, err := far.recorder(c).replay(t.Context(), "1 abc", some)
			check.OK(t, err)
		}
		check.Equal(rt, "what is stored", want, far.stored(t, c))
	})
}

// TestAResultThatArrivesAgainChangesNothing, though its question was answered and its message was read since.
func TestAResultThatArrivesAgainChangesNothing(t *testing.T) {
	t.Parallel()
	r := newRecording(t)
	other, c := r.attempt(t), r.attempt(t)
	records := []attempt.Record{
		{Asked: &inbox.Request{ID: "q-asked-0", Kind: inbox.Question, Text: "Which colour?", Parks: true}},
		{Sent: &attempt.Message{Task: other.Task.ID, Text: "mind the step"}},
		{Event: &event.Event{Type: event.GateEnded, Attempt: c.Attempt}},
	}
	names, err := r.recorder(c).replay(t.Context(), "1 abc", records)
	check.OK(t, err)
	r.update(t, func(g *dag.Graph) error {
		unread, err := inbox.Unread(g, other.Task.ID, other.Attempt)
		check.Equal(t, "messages", 1, len(unread))
		if err == nil {
			err = inbox.Receive(g, other.Attempt, unread[0].ID)
		}
		return err
	})
	r.update(t, func(g *dag.Graph) error {
		_, err := inbox.Answer(g, r.opts.Inbox.Trust, names["q-asked-0"], inbox.Reply{Text: "blue"})
		return err
	})
	want := r.stored(t, c)
	again, err := r.recorder(c).replay(t.Context(), "1 abc", records)
	check.OK(t, err)
	check.Equal(t, "what the question is called", names, again)
	check.Equal(t, "what is stored", want, r.stored(t, c))

	_, err = r.recorder(c).replay(t.Context(), "2 def", records[2:]) // another try is another result
	check.OK(t, err)
	check.Equal(t, "events", 2, len(r.all(ofType(event.GateEnded))))
}
