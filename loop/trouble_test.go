package loop

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

// reopen gives the stage another handle on the same file.
func (s *stage) reopen(t *testing.T, path string, opts db.Options) {
	t.Helper()
	opts.Conns = 6
	d, err := db.Open(t.Context(), path, opts)
	check.OK(t, err)
	t.Cleanup(func() { _ = d.Close() })
	s.store = dag.New(d, dag.Options{})
	s.opts.Graph.Store = s.store
}

// finishLater runs again when the trouble is over, as the next start does, and wants all done.
func (s *stage) finishLater(t *testing.T, tasks int) {
	t.Helper()
	s.opts.Recovery.Life = func(dag.Process) dag.Life { return dag.Dead }
	r := s.start(t)
	s.opts.Recovery.Life = nil
	if out := s.finish(t, r, t.Context()); out.Outcome != event.OutcomeComplete || out.Counts.Done != tasks || out.Counts.Total != tasks {
		t.Errorf("got %+v, want all %d done", out, tasks)
	}
	s.update(t, func(g *dag.Graph) error {
		for _, check := range []func() ([]dag.Fault, error){g.Integrity, g.Verify} {
			faults, err := check()
			if err != nil {
				return err
			}
			for _, f := range faults {
				t.Errorf("%s: %s", f.Task, f.Text)
			}
		}
		return nil
	})
}

// kindOf is what the database says is wrong.
func kindOf(err error) db.Kind {
	var e *db.Error
	if !errors.As(err, &e) {
		return 0
	}
	return e.Kind
}

// TestAFullDiskInTheMiddleOfARunLosesNothing: the run ends and says so; when there
// is room again the next one finishes the work.
func TestAFullDiskInTheMiddleOfARunLosesNothing(t *testing.T) {
	t.Parallel()
	notes := ""
	for range 400 {
		notes += "this is a note that takes room, and there is none. "
	}
	s := newStage(t, say(fakeagent.Step{Do: "say", Text: "<journal>" + notes + "</journal>\n"}, done()))
	path := filepath.Join(t.TempDir(), "full.db")
	made, err := db.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	check.OK(t, made.Close())
	empty, err := os.Stat(path)
	check.OK(t, err)
	const page, room = 4096, 30
	s.reopen(t, path, db.Options{MaxPages: int(empty.Size()/page) + room})
	const tasks = 12
	for range tasks {
		s.add(t, dag.NewTask{Detail: dag.Detail{Title: "x"}})
	}
	r := s.start(t)
	out, err := r.Run(t.Context())
	if kindOf(err) != db.Full || out.Outcome != event.OutcomeError {
		t.Fatalf("got %s, %v; want that the disk is full", out.Outcome, err)
	}
	s.wantNothingLeft(t)
	s.reopen(t, path, db.Options{})
	s.wantReportedAsStored(t)
	s.finishLater(t, tasks)
}

// wantReportedAsStored compares the last word on each task with what is stored: an end
// that is not stored must not be reported.
func (s *stage) wantReportedAsStored(t *testing.T) {
	t.Helper()
	unstored := 0
	for _, e := range s.all(ofType(event.AttemptEnded)) {
		stored := s.task(t, e.Task).Status
		check.That(t, e.Status == stored, "%s was reported as %s (%s), but is %s", e.Task, e.Status, e.Outcome, stored)
		if e.Outcome == "error" && strings.Contains(e.Reason, "could not be stored") {
			unstored++
		}
	}
	check.That(t, unstored == 1, "got %d ends that could not be stored, want 1", unstored)
}

// TestABusyDatabaseInTheMiddleOfARunLosesNothing has another program hold the file
// for longer than anybody waits.
func TestABusyDatabaseInTheMiddleOfARunLosesNothing(t *testing.T) {
	t.Parallel()
	s := newStage(t, say(fakeagent.Step{Do: "mark", Text: "at work"}, fakeagent.Step{Do: "await", Path: "go"}, done()))
	path := filepath.Join(t.TempDir(), "busy.db")
	s.reopen(t, path, db.Options{BusyTimeout: 50 * time.Millisecond})
	s.add(t, dag.NewTask{Detail: dag.Detail{Title: "x"}}, dag.NewTask{Detail: dag.Detail{Title: "y"}})
	other, err := db.Open(t.Context(), path, db.Options{})
	check.OK(t, err)
	defer other.Close()
	r := s.start(t)
	ended := make(chan error, 1)
	go func() { _, err := r.Run(t.Context()); ended <- err }()
	s.awaitMark(t, "at work")
	err = other.Update(t.Context(), func(*db.Tx) error {
		s.write(t, "go", "")
		if err := <-ended; kindOf(err) != db.Busy {
			t.Errorf("got %v, want that the database is busy", err)
		}
		return nil
	})
	check.OK(t, err)
	s.wantNothingLeft(t)
	s.finishLater(t, 2)
}
