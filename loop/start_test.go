package loop

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/testing/check"
	"ralph/loop/attempt"
)

// flaky is a night in which the agent can be started once, and then so many times not.
type flaky struct {
	night
	opened, failures int
	err              error
	firstToo         bool // the agent has never answered
}

func (f *flaky) start(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
	f.mu.Lock()
	f.opened++
	n := f.opened
	f.mu.Unlock()
	if !f.firstToo {
		n--
	}
	if n >= 1 && n <= f.failures {
		return nil, f.err
	}
	return f.night.start(ctx, op)
}

// begin is a run of two tasks in simulated time.
func (f *flaky) begin(t *testing.T, with func(*Options)) (*Runner, *dag.Store) {
	t.Helper()
	f.prompts, f.quick = map[string]int{}, true
	opts := f.project(t, f.start, 2)
	if with != nil {
		with(&opts)
	}
	r, err := Start(t.Context(), opts)
	check.OK(t, err)
	return r, opts.Graph.Store
}

func TestAnAgentThatHasAnsweredIsStartedAgain(t *testing.T) {
	t.Parallel()
	missing := &acp.Error{Kind: acp.NotFound, Op: "start", Text: "no such command"}
	noProcess := &acp.Error{Kind: acp.CannotStart, Op: "start", Text: "resource temporarily unavailable"}
	dies := &acp.Error{Kind: acp.Died, Op: "initialize", Text: "exit status 1"}
	noLogin := &acp.Error{Kind: acp.AuthRequired, Op: "session/new"}
	tests := map[string]struct {
		flaky              *flaky
		want               event.RunOutcome
		opened, iterations int
		least, most        time.Duration // that the run waits
	}{
		"missing for a moment":          {&flaky{failures: 1, err: missing}, event.OutcomeComplete, 3, 2, time.Second, 5 * time.Second},
		"no process left for a minute":  {&flaky{failures: 5, err: noProcess}, event.OutcomeComplete, 7, 2, 50 * time.Second, 70 * time.Second},
		"it starts and dies at once":    {&flaky{failures: 2, err: dies}, event.OutcomeComplete, 4, 2, time.Second, 10 * time.Second},
		"gone: the breaker ends it":     {&flaky{failures: 100, err: missing}, event.OutcomeUnavailable, 1 + 3*6, 1, 150 * time.Second, 210 * time.Second},
		"never there":                   {&flaky{failures: 100, err: missing, firstToo: true}, event.OutcomeUnavailable, 1, 0, 0, time.Second},
		"what trying again cannot help": {&flaky{failures: 100, err: noLogin}, event.OutcomeUnavailable, 2, 1, 0, time.Second},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := tt.flaky
				r, store := f.begin(t, nil)
				began := time.Now()
				out, err := r.Run(t.Context())
				check.That(t, err == nil && out.Outcome == tt.want && out.Iterations == tt.iterations,
					"got %s (%s) after %d iterations, %v; want %s after %d", out.Outcome, out.Reason, out.Iterations, err, tt.want, tt.iterations)
				if took := time.Since(began); f.opened != tt.opened || took < tt.least || took > tt.most {
					t.Errorf("the agent was started %d times in %s; want %d times in %s to %s", f.opened, took, tt.opened, tt.least, tt.most)
				}
				wantUncharged(t, store)
			})
		})
	}
}

// wantUncharged wants that no task that is not done has been charged an attempt.
func wantUncharged(t *testing.T, store *dag.Store) {
	t.Helper()
	check.OK(t, store.View(t.Context(), func(g *dag.Graph) error {
		tasks, err := g.Tasks.List(dag.Filter{})
		for _, task := range tasks {
			check.That(t, task.Status == dag.Done || task.Status == dag.Pending && task.Attempts == 0,
				"%s is %s with %d attempts, want pending with none", task.ID, task.Status, task.Attempts)
		}
		return err
	}))
}

func TestAStartThatIsTriedAgainCanBeInterrupted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{failures: 100, err: &acp.Error{Kind: acp.NotFound, Op: "start"}}
		ctx, cancel := context.WithCancelCause(t.Context())
		var warned int
		r, store := f.begin(t, func(o *Options) {
			o.Host.Observe = func(e event.Event) {
				if e.Type == event.Warned {
					warned++
					cancel(errors.New("caught a signal"))
				}
			}
		})
		began := time.Now()
		out, err := r.Run(ctx)
		check.That(t, err == nil && out.Outcome == event.OutcomeInterrupted && warned == 1 && f.opened == 2,
			"got %s after %d starts and %d warnings, %v; want interrupted in the first wait", out.Outcome, f.opened, warned, err)
		took := time.Since(began)
		check.That(t, took <= time.Second, "the wait went on for %s", took)
		wantUncharged(t, store)
	})
}

// TestAVerifierThatHasAnsweredIsStartedAgain: the finished work is kept meanwhile, and
// is not paid for twice.
func TestAVerifierThatHasAnsweredIsStartedAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &flaky{failures: 5, err: &acp.Error{Kind: acp.CannotStart, Op: "start"}}
		verdicts := 0
		r, _ := f.begin(t, func(o *Options) {
			o.Verify.Skip, o.Verify.AgentVerdict = false, true
			open := o.Agents.Open
			o.Agents.Open = func(ctx context.Context, op attempt.Opening) (attempt.Session, error) {
				if op.Verifier {
					s, err := open(ctx, op)
					if err != nil {
						return nil, err
					}
					verdicts++
					return &approving{s}, nil
				}
				return f.night.start(ctx, op)
			}
		})
		f.opened = 1 // the first start of a verifier fails already
		out, err := r.Run(t.Context())
		check.That(t, err == nil && out.Outcome == event.OutcomeComplete && out.Iterations == 2 && verdicts == 2,
			"got %+v, %v with %d verdicts; want two tasks done at the first try", out, err, verdicts)
		for id, times := range f.prompts {
			check.That(t, times == 1, "%s was worked on %d times, want once", id, times)
		}
	})
}

// approving is a verifier that finds nothing wrong.
type approving struct{ attempt.Session }

func (approving) Prompt(context.Context, string) (acp.Turn, error) {
	return acp.Turn{Stop: acp.StopEnd, Segments: []string{"<verify-pass/>\n"}}, nil
}
