package story

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

const workflowID = "ralph/project/all"

// history is what a history says of the time that a run took.
type history struct {
	events int
	took   time.Duration
	tasks  []lengths // in the order in which their Attempts were begun
}

// lengths are how long the two activities of a task took.
type lengths struct{ Attempt, Land time.Duration }

// read reads the last execution of a workflow. The names of the activities are those of two phases of each task.
func read(t *testing.T, c client.Client, id string) (h history) {
	t.Helper()
	var first, last time.Time
	kind, begun := map[int64]string{}, map[int64]time.Time{}
	var attempts, lands []time.Duration
	events := c.GetWorkflowHistory(context.Background(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		check(t, err)
		h.events++
		at := e.GetEventTime().AsTime()
		switch a := e.GetAttributes().(type) {
		case *historypb.HistoryEvent_ActivityTaskScheduledEventAttributes:
			if first.IsZero() {
				first = at
			}
			kind[e.GetEventId()] = a.ActivityTaskScheduledEventAttributes.GetActivityType().GetName()
		case *historypb.HistoryEvent_ActivityTaskStartedEventAttributes:
			begun[a.ActivityTaskStartedEventAttributes.GetScheduledEventId()] = at
		case *historypb.HistoryEvent_ActivityTaskCompletedEventAttributes:
			id := a.ActivityTaskCompletedEventAttributes.GetScheduledEventId()
			took := at.Sub(begun[id])
			if last = at; kind[id] == "Attempt" {
				attempts = append(attempts, took)
			} else {
				lands = append(lands, took)
			}
		}
	}
	for i := range min(len(attempts), len(lands)) {
		h.tasks = append(h.tasks, lengths{attempts[i], lands[i]})
	}
	h.took = last.Sub(first)
	return h
}

// outside is the time that was neither in Attempt nor in Land: each of the jobs was always in one of them, or on the way from
// one to the next.
func (h history) outside(jobs int) time.Duration {
	var inside time.Duration
	for _, l := range h.tasks {
		inside += l.Attempt + l.Land
	}
	return h.took - inside/time.Duration(jobs)
}

// TestOverhead runs tasks that do nothing on four workers, and then the bare SDK with activities of the same lengths.
func TestOverhead(t *testing.T) {
	const jobs = 4
	tasks := number(t, "RALPH_TEMPORAL_NOOPS", 200)
	p := newPlace(t)
	var plan []task
	for i := range tasks {
		noop := script(fmt.Sprintf("%03d", i), ":")
		noop.Kind = "check"
		plan = append(plan, noop)
	}
	p.plan(plan)
	p.serve()
	var workers []*process
	for i := range jobs {
		workers = append(workers, p.worker(fmt.Sprintf("w%d", i+1), 1))
	}
	run := p.run("--agent", "shell", "--jobs", fmt.Sprint(jobs))
	home := 0
	awaitFor(t, 10*time.Minute, "the run to end", func() bool { home = max(home, memory(run)); return run.ended() })
	p.expect(run, 0, 0)
	c := p.client()
	d, err := c.DescribeWorkflowExecution(context.Background(), workflowID, "")
	check(t, err)
	ours := read(t, c, workflowID)
	if len(ours.tasks) != tasks {
		t.Fatalf("the history has %d tasks, not %d", len(ours.tasks), tasks)
	}
	bare := bareSDK(t, c, ours.tasks, jobs)
	ratio := float64(ours.outside(jobs)) / float64(bare.outside(jobs))
	t.Logf("FIGURES: %d no-op tasks on %d workers: %v in all, of that outside Attempt and Land %v; bare SDK: %v, outside %v; ratio %.2f (goal: 1.5)",
		tasks, jobs, round(ours.took), round(ours.outside(jobs)), round(bare.took), round(bare.outside(jobs)), ratio)
	t.Logf("FIGURES: %d history events, %.2f for each task (goal: 14), and %d bytes; %.1f tasks a second; memory: worker %d MiB, home %d MiB, without ralph's",
		ours.events, float64(ours.events)/float64(tasks), int(d.GetWorkflowExecutionInfo().GetHistorySizeBytes())/tasks, float64(tasks)/ours.took.Seconds(), memory(workers[0]), home)
	var attempts, lands []time.Duration
	for _, l := range ours.tasks {
		attempts, lands = append(attempts, l.Attempt), append(lands, l.Land)
	}
	slices.Sort(attempts)
	slices.Sort(lands)
	t.Logf("FIGURES: medians: Attempt %v, Land %v", round(attempts[tasks/2]), round(lands[tasks/2]))
}

// memory is what a process has in memory, in MiB.
func memory(s *process) (kib int) {
	for line := range strings.Lines(readAll(fmt.Sprintf("/proc/%d/status", s.Process.Pid))) {
		if n, err := fmt.Sscanf(line, "VmRSS: %d kB", &kib); n == 1 && err == nil {
			break
		}
	}
	return kib >> 10
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// bareSDK has the same shape with activities that only take their time.
func bareSDK(t *testing.T, c client.Client, tasks []lengths, jobs int) history {
	t.Helper()
	pass := func(ctx context.Context, d time.Duration) error {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}
		return ctx.Err()
	}
	flow := func(ctx workflow.Context, tasks []lengths) error {
		next, done := 0, 0
		for range jobs {
			workflow.Go(ctx, func(ctx workflow.Context) {
				for next < len(tasks) {
					l := tasks[next]
					next++
					on := func(queue, name string, d time.Duration) error {
						ctx := workflow.WithActivityOptions(ctx, workflow.ActivityOptions{TaskQueue: queue, StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Minute})
						return workflow.ExecuteActivity(ctx, name, d).Get(ctx, nil)
					}
					if on("bare", "Attempt", l.Attempt) != nil || on("bare-home", "Land", l.Land) != nil {
						return
					}
				}
				done++
			})
		}
		return workflow.Await(ctx, func() bool { return done == jobs })
	}
	home := worker.New(c, "bare-home", worker.Options{})
	home.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: "bare"})
	home.RegisterActivityWithOptions(pass, activity.RegisterOptions{Name: "Land"})
	check(t, home.Start())
	defer home.Stop()
	for range jobs {
		w := worker.New(c, "bare", worker.Options{MaxConcurrentActivityExecutionSize: 1, DisableWorkflowWorker: true})
		w.RegisterActivityWithOptions(pass, activity.RegisterOptions{Name: "Attempt"})
		check(t, w.Start())
		defer w.Stop()
	}
	run, err := c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{ID: "bare", TaskQueue: "bare-home"}, "bare", tasks)
	check(t, err)
	check(t, run.Get(context.Background(), nil))
	return read(t, c, "bare")
}

// TestFailover measures the time from the death of a worker to the beginning of its attempt on another, in heartbeat timeouts.
func TestFailover(t *testing.T) {
	const rounds, heartbeat = 5, 3 * time.Second
	p := newPlace(t)
	var plan []task
	for i := range rounds {
		next := p.waiting(fmt.Sprintf("%03d", i), fmt.Sprintf("end-%d", i))
		if i > 0 {
			next.After = []string{fmt.Sprintf("%03d", i-1)}
		}
		plan = append(plan, next)
	}
	p.plan(plan)
	p.serve()
	w := p.worker("w0", 1)
	run := p.run("--agent", "shell")
	var took []time.Duration
	for i := range rounds {
		await(t, "the attempt", func() bool { return p.begun() == 2*i+1 })
		next := p.worker(fmt.Sprintf("w%d", i+1), 1)
		await(t, "the next worker", func() bool { return strings.Contains(next.output(), "polling queue") })
		w.kill()
		killed := time.Now()
		await(t, "the attempt elsewhere", func() bool { return p.begun() == 2*i+2 })
		took = append(took, time.Since(killed))
		w = next
		p.touch(fmt.Sprintf("end-%d", i))
	}
	p.expect(run, 0, time.Minute)
	p.settledWell(rounds)
	slices.Sort(took)
	t.Logf("FIGURES: failover after kill -9 of a worker, from its death to the script on another: %v; at most %.2f heartbeat timeouts of %v (goal: 2)",
		took, float64(took[rounds-1])/float64(heartbeat), heartbeat)
	p.noneBut(p.server, w)
}
