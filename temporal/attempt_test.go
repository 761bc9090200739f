package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"ralph/internal/dispatch"
)

// bench is the activity with a ralph that is the test binary.
type bench struct {
	*testsuite.TestActivityEnvironment
	attempts *attempts
	log      string

	mu    sync.Mutex
	beats []Beat
	reply func(Beat) error
}

func newBench(t *testing.T) *bench {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("RALPH", self)
	t.Setenv("RALPH_TEST_BE", "ralph")
	t.Setenv("FAKE_BUILD", "b1")
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	b := &bench{TestActivityEnvironment: suite.NewTestActivityEnvironment(), log: filepath.Join(t.TempDir(), "log")}
	b.SetTestTimeout(time.Minute)
	b.attempts = &attempts{ralph: &ralph{}, dir: t.TempDir(), remote: "up", host: "here", say: func(string, ...any) {}}
	b.attempts.beat = func(_ context.Context, _ []byte, p Beat) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.beats = append(b.beats, p)
		if b.reply != nil {
			return b.reply(p)
		}
		return nil
	}
	b.attempts.limited = func(context.Context, string, string) (time.Duration, error) {
		return 0, errors.New("nobody is at home")
	}
	b.RegisterActivity(b.attempts.Attempt)
	return b
}

func (b *bench) run(work fakeWork) (d Made, err error) {
	work.Log = b.log
	o := order("1")
	o.Build = "b1"
	o.Body, _ = json.Marshal(work)
	v, err := b.ExecuteActivity(b.attempts.Attempt, Wanted{Order: o})
	if err == nil {
		err = v.Get(&d)
	}
	return d, err
}

// once answers when the agent works, which is when its process hears signals.
func once(err error) func(Beat) error {
	return func(p Beat) error {
		if p.Phase == "working" {
			return err
		}
		return nil
	}
}

func TestAnAttemptIsDelivered(t *testing.T) {
	b := newBench(t)
	d, err := b.run(fakeWork{})
	if err != nil || d.Attempt != "1" || string(d.Body) != `"done"` {
		t.Errorf("got %+v, %v", d, err)
	}
	if log, _ := os.ReadFile(b.log); !strings.HasPrefix(string(log), "begun attempt --remote up --try estrunid1\n") {
		t.Errorf("got %s", log)
	}
}

func TestWhatALostTryUsedIsPassedOn(t *testing.T) {
	b := newBench(t)
	lost := dispatch.Progress{Attempt: "1"}
	lost.Usage.TokensIn = 30
	b.SetHeartbeatDetails(lost)
	b.reply = once(&temporal.CanceledError{})
	if _, err := b.run(fakeWork{Sleep: time.Hour}); err != nil {
		t.Fatal(err)
	}
	if log, _ := os.ReadFile(b.log); !strings.Contains(string(log), `--lost-usage {"tokens_in":30}`) {
		t.Errorf("got %s", log)
	}
	// From then on the process says what all tries used.
	if last := b.beats[len(b.beats)-1]; b.beats[0].Usage.TokensIn != 30 || last.Usage.TokensIn != 7 || last.Host != "here" {
		t.Errorf("heartbeats %+v", b.beats)
	}
}

func TestAnAttemptThatNobodyWantsIsEnded(t *testing.T) {
	for name, err := range map[string]error{"cancelled": &temporal.CanceledError{}, "somebody else's": serviceerror.NewNotFound("timed out")} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.reply = once(err)
			if d, err := b.run(fakeWork{Sleep: time.Hour}); err != nil || string(d.Body) != `"interrupted"` {
				t.Errorf("got %+v, %v", d, err)
			}
		})
	}
}

func TestAServerThatIsAwayEndsNoAttempt(t *testing.T) {
	b := newBench(t)
	b.reply = func(Beat) error { return serviceerror.NewUnavailable("away") }
	if d, err := b.run(fakeWork{Sleep: 1500 * time.Millisecond}); err != nil || string(d.Body) != `"done"` {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestAnAttemptThatIsNotMade(t *testing.T) {
	for name, test := range map[string]struct {
		work fakeWork
		env  [2]string
		kind string
		want string
	}{
		"no delivery":                  {fakeWork{Refuse: 1}, [2]string{"FAKE_BUILD", "b1"}, errLost, "exit status 1\nthe disk is full"},
		"an order that makes no sense": {fakeWork{Refuse: 64}, [2]string{"FAKE_BUILD", "b1"}, errRefused, "exit status 64\nthe disk is full"},
		"another version":              {fakeWork{}, [2]string{"FAKE_BUILD", "b2"}, errVersion, `has ralph "b2" and the run has "b1"`},
		"no ralph":                     {fakeWork{}, [2]string{"RALPH", "/nowhere/ralph"}, errVersion, "cannot run ralph"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			t.Setenv(test.env[0], test.env[1])
			_, err := b.run(test.work)
			var app *temporal.ApplicationError
			if !errors.As(err, &app) || app.Type() != test.kind || app.NonRetryable() != (test.kind == errRefused) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestWhatFailsEachTimeIsToldInTheEnd(t *testing.T) {
	b := newBench(t)
	b.SetHeartbeatDetails(Beat{Fails: maxFails - 2})
	if _, err := b.run(fakeWork{Refuse: 1}); err == nil || b.beats[len(b.beats)-1].Fails != maxFails-1 {
		t.Errorf("got %v, heartbeats %+v", err, b.beats)
	}
	b.SetHeartbeatDetails(Beat{Fails: maxFails - 1})
	if d, err := b.run(fakeWork{Refuse: 1}); err != nil || !strings.Contains(d.Error, "tried 10 times: ralph attempt ended without a delivery: exit status 1\nthe disk is full") {
		t.Errorf("got %+v, %v", d, err)
	}
}

func TestAProcessThatDoesNotEndIsKilled(t *testing.T) {
	defer func(d time.Duration) { patience = d }(patience)
	patience = 400 * time.Millisecond
	b := newBench(t)
	b.reply = once(&temporal.CanceledError{})
	if _, err := b.run(fakeWork{Sleep: time.Hour, Deaf: true}); err == nil || !strings.Contains(err.Error(), "signal: killed") {
		t.Errorf("got %v", err)
	}
}

func TestTriesHaveNamesOfTheirOwn(t *testing.T) {
	seen := map[string]bool{}
	for _, run := range []string{"01a1eb97-2307-762b-a837-4547c9c7f2da", "01a1eb97-18c7-7b8e-91e2-e61d97386b44"} {
		for _, id := range []string{"t/a", "t/a/1", "t/a/11"} {
			for try := range int32(12) {
				seen[tryName(activity.Info{WorkflowExecution: workflow.Execution{RunID: run}, ActivityID: id, Attempt: try + 1})] = true
			}
		}
	}
	if len(seen) != 2*3*12 || !seen["c9c7f2da12h11"] {
		t.Errorf("got %v", seen)
	}
}

func TestADeliveryThatTheServerDoesNotTake(t *testing.T) {
	if d, err := newBench(t).run(fakeWork{Size: maxPayload}); err != nil || d.Body != nil || !strings.Contains(d.Error, "more than the Temporal server takes") {
		t.Errorf("got %d bytes, %q, %v", len(d.Body), d.Error, err)
	}
}

func TestTheTargetIsPartOfTheName(t *testing.T) {
	help := func() (string, error) {
		return "  --task TASK    run only TASK\n  --jobs N     agents\n  --agent, -a NAME  use it\n  --keep-going, -k   run the rest\n  --follow    WAIT\n", nil
	}
	for line, want := range map[string]string{
		"": "all", "login": "login", "login --agent shell": "login", "--follow": "all", "--feature login": "feature-login",
		"--tag=gpu --jobs 3": "tag-gpu", "--jobs 3 --task t-1": "task-t-1", "--agent shell login": "login", "--agent shell": "all",
		"--keep-going login": "login", "--jobs=3 -k login --follow": "login", "-a shell": "all", "login --tag ui": "", "login other": "",
	} {
		if got, err := target(strings.Fields(line), help); got != want || (err != nil) != (want == "") {
			t.Errorf("%q: got %q, %v", line, got, err)
		}
	}
}

func TestUnknownFlagsAreRefused(t *testing.T) {
	for _, line := range []string{"--bogus", "bogus", "worker --bogus", "worker --slots 0", "worker x", "status x"} {
		a := app()
		a.Writer = os.Stderr
		if err := a.Run(append([]string{"ralph-temporal"}, strings.Fields(line)...)); exitStatus(err) != 64 {
			t.Errorf("%q: got %v", line, err)
		}
	}
}
