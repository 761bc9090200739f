package loop

import (
	"slices"
	"sync"
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/loop/policy"
	"ralph/strategy"
)

// ledger counts what the attempts of a run came to. Its lock is a leaf: nothing is stored,
// emitted or waited for under it.
type ledger struct {
	mu       sync.Mutex
	numbers  numbers // of iterations
	running  int
	counted  int // iterations that count for the limit
	failures int // tasks in a row that failed
	silent   int // attempts in a row in which no agent answered

	waited       time.Duration // for providers, with the runs that this one continues
	limitedSince time.Time     // when the limit was met that is waited for

	skipped     []string // tasks whose finished work could not be verified in this run
	interrupted []string // tasks that the last interruption took from an agent
	tasks       []event.Resolved
	agents      map[string]*agentRecord
	empties     map[string]emptied // by task
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
	if l.agents == nil {
		l.agents = map[string]*agentRecord{}
	}
	if l.agents[name] == nil {
		l.agents[name] = &agentRecord{}
	}
	return l.agents[name]
}

// nextNumber is the number of the iteration that begins next.
func (l *ledger) nextNumber() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.numbers.next()
}

func (l *ledger) begin(iteration int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
	l.numbers.take(iteration)
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

// forgetInterrupted begins the list of interrupted tasks anew.
func (l *ledger) forgetInterrupted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.interrupted = nil
}

// skips lists the tasks that are not claimed again in this run.
func (l *ledger) skips() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.skipped)
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

func (l *ledger) proven(agent string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.agent(agent).proven
}

// prove notes that an agent has answered.
func (l *ledger) prove(agent string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.agent(agent).proven = true
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
	task      dag.Task
	iteration int
	agent     string
	decision  policy.Decision
	status    dag.Status
	opened    bool // a session was
	answered  bool
	empty     bool
	mute      bool
	offered   []string
	hint      string
	tier      strategy.Tier
	notes     string
	files     []string
}

// outcome is the journal's word for it: a retry that was the last is a failure.
func (e entry) outcome() event.AttemptOutcome { return remembered(e.decision, e.status) }

// settle counts an attempt. That it no longer runs and that it counts must be seen
// together, or parallel workers exceed the limit of iterations.
func (l *ledger) settle(e entry) (silent int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	d := e.decision
	l.running--
	if d.Uncounted {
		l.numbers.giveBack(e.iteration)
	} else {
		l.counted++
	}
	switch dag.Status(e.status) {
	case dag.Failed:
		l.failures++
	case dag.Done:
		l.failures = 0
	}
	l.settleAgent(e)
	if d.Action != policy.Wait && e.opened {
		l.limitedSince = time.Time{}
	}
	if d.Aside {
		l.skipped = append(l.skipped, e.task.ID)
	}
	if d.Outcome == event.AttemptInterrupted && d.Action == policy.Release {
		l.interrupted = append(l.interrupted, e.task.ID)
	}
	l.silent = next(l.silent, d.NoAnswer)
	m := &l.memory
	m.hint, m.hinter = e.hint, e.agent
	if !d.Drop { // that says nothing about the work
		m.history = append(m.history, strategy.Attempt{
			Task: e.task.ID, Outcome: e.outcome(), Tier: e.tier, Hint: e.hint, Notes: e.notes,
		})
	}
	m.changed = append(m.changed, e.files...)
	m.changed = m.changed[max(len(m.changed)-maxChanged, 0):]
	l.resolve(e)
	return l.silent
}

// settleAgent notes how an agent did. If it answers to others than a task that got no
// answer, it is not the agent that is rate-limited. The lock is held.
func (l *ledger) settleAgent(e entry) {
	a := l.agent(e.agent)
	a.limited = next(a.limited, e.decision.Action == policy.Wait)
	a.dropped = a.dropped || e.decision.Drop
	a.proven = a.proven || e.answered
	if !e.opened {
		return
	}
	a.offered = e.offered
	a.suspected = e.decision.Action == policy.Wait && !e.decision.Everyone
	switch {
	case e.answered:
		a.answered++
		delete(l.empties, e.task.ID)
	case e.empty:
		if l.empties == nil {
			l.empties = map[string]emptied{}
		}
		l.empties[e.task.ID] = emptied{a.answered, e.mute}
	}
}

// resolve keeps the last word on each task. The lock is held.
func (l *ledger) resolve(e entry) {
	last := event.Resolved{ID: e.task.ID, Title: e.task.Title, Status: e.status, Outcome: e.outcome(), Reason: e.decision.Reason, Attempts: 1}
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
