package loop

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/loop/attempt"
	"ralph/loop/policy"
	"ralph/strategy"
)

// ledger counts what the attempts of a run came to. Its lock is a leaf: nothing is stored,
// emitted or waited for under it.
type ledger struct {
	mu       sync.Mutex
	highest  int   // the last number of an iteration
	spare    []int // lower ones of iterations that did not count
	running  int
	counted  int      // iterations that count for the limit
	failures int      // tasks in a row that failed
	silent   []string // attempts in a row in which no agent answered; of an agent that has answered, the tasks

	waited       time.Duration // for providers, with the runs that this one continues
	limitedSince time.Time     // when the limit was met that is waited for

	skipped     []string // tasks whose finished work could not be verified in this run
	keptBack    []string // tasks that a hook does not let begin
	interrupted []string // tasks that the last interruption took from an agent
	tasks       []event.Resolved
	agents      map[string]*agentRecord
	empties     map[string]emptied // by task
	panics      map[string]int     // by task
	memory      memory
}

// agentRecord is what a run has seen of an agent.
type agentRecord struct {
	limited   int  // attempts in a row that ended at a limit
	answered  int  // attempts in which it answered
	proven    bool // it has answered, to a worker's prompt or a verifier's
	suspected bool // its last answer was empty and may be a limit
	dropped   bool // it cannot be used
	offered   []string
}

// memory is what earlier attempts tell the next ones.
type memory struct {
	hint, hinter string // the model that was asked for, and the agent that did
	history      []strategy.Attempt
	changed      []string // files that the last attempts changed
}

// emptied is a task that got no answer.
type emptied struct {
	answered int  // attempts in which the agent had answered by then
	mute     bool // and it has answered to others since
}

// agent returns the record of an agent. The lock is held.
func (l *ledger) agent(name string) *agentRecord {
	if l.agents[name] == nil {
		l.agents[name] = &agentRecord{}
	}
	return l.agents[name]
}

// nextNumber is the number of the iteration that begins next. One that does not count leaves
// its number to the next, so that the last number of a run is how many iterations it says
// that it took, and no two that count have the same.
func (l *ledger) nextNumber() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.spare) > 0 {
		return slices.Min(l.spare)
	}
	return l.highest + 1
}

func (l *ledger) begin(iteration int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
	l.highest = max(l.highest, iteration)
	l.spare = slices.DeleteFunc(l.spare, func(spare int) bool { return spare == iteration })
}

func (l *ledger) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running
}

// totals are the iterations that counted, the tasks in a row that failed, and the time
// spent waiting for providers.
func (l *ledger) totals() (iterations, failures int, waited time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counted, l.failures, l.waited
}

// rest adds to the time in which the run only waited for a provider.
func (l *ledger) rest(waited time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waited += waited
}

// limitedFrom is since when a limit is waited for: from now if it was not yet.
func (l *ledger) limitedFrom(now time.Time) time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.limitedSince.IsZero() {
		l.limitedSince = now
	}
	return l.limitedSince
}

// skips lists the tasks that are not claimed again in this run.
func (l *ledger) skips() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Concat(l.skipped, l.keptBack)
}

// held lists those of them whose work could not be verified, and those that a hook keeps back.
func (l *ledger) held() (unverified, keptBack []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.skipped), slices.Clone(l.keptBack)
}

// usable are those of the agents that have not been dropped, each once.
func (l *ledger) usable(agents []string) (names []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range agents {
		if !slices.Contains(names, name) && !l.agent(name).dropped {
			names = append(names, name)
		}
	}
	return names
}

// panicked counts the panics over a task.
func (l *ledger) panicked(task string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.panics[task]++
	return l.panics[task]
}

// standing is what the run has seen of an agent, as it concerns a task.
func (l *ledger) standing(agent, task string) policy.Standing {
	l.mu.Lock()
	defer l.mu.Unlock()
	e, empty := l.empties[task]
	a := l.agent(agent)
	return policy.Standing{
		Limited: a.limited, Proven: a.proven, Suspected: a.suspected, Mute: empty && (e.mute || e.answered < a.answered),
	}
}

// guide is what earlier attempts tell the next one of an agent: the model asked for, what
// came of the others, files they changed, and the models that the agent offered.
func (l *ledger) guide(agent string) (in strategy.Input, changed, offered []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	in = strategy.Input{Hint: l.memory.hint, History: slices.Clone(l.memory.history)}
	if _, tier := strategy.ParseTier(in.Hint); !tier && agent != l.memory.hinter {
		in.Hint = "" // another agent's name for a model means nothing to this one
	}
	return in, slices.Clone(l.memory.changed), slices.Clone(l.agent(agent).offered)
}

// entry is an attempt that was settled.
type entry struct {
	job    attempt.Job
	result attempt.Result
	status dag.Status
	hint   string // the model that it asks for next, if that can be had
	tier   strategy.Tier
}

// settle counts an attempt. That it no longer runs and that it counts must be seen
// together, or parallel workers exceed the limit of iterations.
func (l *ledger) settle(e entry) (silent int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d, task := e.result.Decision, e.job.Task.ID
	l.running--
	if d.Uncounted {
		l.spare = append(l.spare, e.job.Run.Iteration)
	} else {
		l.counted++
	}
	switch e.status {
	case dag.Failed:
		l.failures++
	case dag.Done:
		l.failures = 0
	}
	l.settleAgent(e)
	if d.Action != policy.Wait && e.result.Seen.Opened {
		l.limitedSince = time.Time{}
	}
	switch {
	case d.Hooked:
		l.keptBack = append(l.keptBack, task)
	case d.Aside:
		l.skipped = append(l.skipped, task)
	}
	if d.Outcome == event.AttemptInterrupted && d.Action == policy.Release && !d.Hooked && d.Reason != attempt.ErrStopped.Error() {
		l.interrupted = append(l.interrupted, task)
	}
	l.silence(e)
	m := &l.memory
	m.hint, m.hinter = e.hint, e.job.Agent.Name
	if !d.Drop { // that says nothing about the work
		m.history = append(m.history, strategy.Attempt{
			Task: task, Outcome: remembered(d, e.status), Tier: e.tier, Hint: e.hint, Notes: e.result.Said.Journal,
		})
	}
	m.changed = append(m.changed, e.result.Files...)
	m.changed = m.changed[max(len(m.changed)-200, 0):] // those that were worked on lately guide recall
	l.resolve(e)
	return len(l.silent)
}

// silence counts that no agent answered. One that has answered to a task may have nothing to say to another, however often
// that is tried: only several such tasks in a row show that it answers no more. The lock is held.
func (l *ledger) silence(e entry) {
	what := e.job.Run.Attempt
	if e.result.Seen.Opened && l.agent(e.job.Agent.Name).proven {
		what = e.job.Task.ID
	}
	switch {
	case !e.result.Decision.NoAnswer:
		l.silent = nil
	case !slices.Contains(l.silent, what):
		l.silent = append(l.silent, what)
	}
}

// settleAgent notes how an agent did. If it answers to others than a task that got no
// answer, it is not the agent that is rate-limited. The lock is held.
func (l *ledger) settleAgent(e entry) {
	d, seen := e.result.Decision, e.result.Seen
	a := l.agent(e.job.Agent.Name)
	a.limited = next(a.limited, d.Action == policy.Wait)
	a.dropped = a.dropped || d.Drop
	a.proven = a.proven || seen.Answered
	if seen.VerifierAnswered {
		l.agent(cmp.Or(e.job.Agent.Verifier, e.job.Agent.Name)).proven = true
	}
	if !seen.Opened {
		return
	}
	a.offered = e.result.Agent.Offered
	a.suspected = d.Action == policy.Wait && d.Limits == policy.OneTask
	switch {
	case seen.Answered:
		a.answered++
		delete(l.empties, e.job.Task.ID)
	case seen.Empty:
		l.empties[e.job.Task.ID] = emptied{a.answered, e.job.Agent.Standing.Mute}
	}
}

// resolve keeps the last word on each task. The lock is held.
func (l *ledger) resolve(e entry) {
	t, d := e.job.Task, e.result.Decision
	last := event.Resolved{ID: t.ID, Title: t.Title, Status: e.status, Outcome: remembered(d, e.status), Reason: d.Reason, Rejected: d.Rejected, Attempts: 1}
	last.Command, _ = d.Rejected.Remedy(t.ID, e.status)
	if i := slices.IndexFunc(l.tasks, func(t event.Resolved) bool { return t.ID == last.ID }); i >= 0 {
		last.Attempts += l.tasks[i].Attempts
		l.tasks[i] = last
		return
	}
	l.tasks = append(l.tasks, last)
}

// resolved are the iterations that counted, and the last word on each task.
func (l *ledger) resolved() (int, []event.Resolved) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.counted, slices.Clone(l.tasks)
}

// next counts things that happen in a row.
func next(count int, again bool) int {
	if again {
		return count + 1
	}
	return 0
}
