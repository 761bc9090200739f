package loop

import (
	"cmp"
	"context"
	"time"

	"ralph/dag"
	"ralph/internal/budget"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/hooks"
	"ralph/internal/inbox"
	"ralph/internal/permission"
	"ralph/internal/redact"
	"ralph/internal/resource"
	"ralph/journal"
	"ralph/knowledge"
	"ralph/loop/attempt"
	"ralph/loop/land"
	"ralph/loop/policy"
	"ralph/loop/recovery"
	"ralph/loop/remote"
	"ralph/strategy"
	"ralph/verify"
)

// Options are what a run works with. Graph.Store, Agents.Open, Place.Dir and Place.Runs
// are needed.
type Options struct {
	Graph    Graph
	Workers  Workers
	Limits   Limits
	Rules    Rules
	Agents   Agents
	Models   Models
	Verify   Verify
	Prompt   Prompt
	Place    Place
	Landing  land.Options
	Recovery Recovery
	Inbox    Inbox
	Host     Host
}

// Graph is which tasks the run works on, and how it is recorded.
type Graph struct {
	Store     *dag.Store
	Scope     dag.Scope
	KeepGoing bool
	Finished  bool     // only land work that is finished
	Follow    bool     // wait for further tasks when none can run
	Continues *dag.Run // whose counters are taken over; nil begins at 0
	Settings  string   // JSON: how it was started, for the record
	Process   dag.Process
}

// Workers is how many attempts run at once, and how they keep their claims.
type Workers struct {
	Jobs     int           // 0 means 1
	Lease    time.Duration // 0 means a minute
	Poll     time.Duration // how often requests of people are looked at; 0 means a second
	FailFast bool
	Breaker  int            // attempts in a row without an answer that end the run
	Locks    map[string]int // how many tasks may hold a lock at once, where that is not 1

	Resources *resource.Limiter // what each attempt may use; nil limits nothing
	Remote    remote.Workers    // make the attempts on other machines; nil: they are made here
}

// Limits are when the run ends although there is work.
type Limits struct {
	Iterations int // 0 means no limit
	Budgets    Budgets
	Wait       WaitRule
}

// Bounded reports whether something besides money ends the run. Tokens count where they are reported.
func (l Limits) Bounded(tokens bool) bool {
	run := l.Budgets.Run
	if tokens && run.Tokens > 0 {
		return true
	}
	return l.Iterations > 0 || run.Duration > 0 || !run.Until.IsZero()
}

// Budgets are what may be spent on what. Of a run the iterations are Limits.Iterations.
type Budgets struct {
	Run, Task, Feature, Day budget.Limits
}

// limitsCost says that money is limited somewhere.
func (b Budgets) limitsCost() bool {
	return max(b.Run.CostUSD, b.Task.CostUSD, b.Feature.CostUSD, b.Day.CostUSD) > 0
}

// WaitRule says for how long a provider's limit is waited for.
type WaitRule struct {
	Never bool
	Most  time.Duration // 0 means as long as it takes
}

// Rules are how often a task is tried.
type Rules struct {
	policy.Rules
	MaxRetries int
	Retries    *int // wins over the tasks' own limits
}

// Agents is who works. The run's own agent is the one in Host.Setup.
type Agents struct {
	Open          func(context.Context, attempt.Opening) (attempt.Session, error)
	Warm          func(attempt.Opening)      // starts early what Open will be asked for; nil starts nothing
	Cool          func()                     // ends what was started early and is not needed
	Fallback      []string                   // who continues when the run's own agent is rate-limited
	Rotate        []string                   // who take tasks in turn; none means the run's own agent
	Gates         map[string]dag.AgentGate   // what each may do at once; "" is for all others
	OtherProjects OtherProjects              // what runs of other projects know about limits; nil knows nothing
	Verifier      string                     // who gives verdicts, if that is another than the one that works
	Modelless     func(agent string) bool    // who works without a model; nil means nobody
	Tools         func(Caller) attempt.Tools // what agents can call; nil gives them nothing
	Toolless      func(agent string) bool    // who cannot call them; nil means everybody
	Permissions   *permission.Book           // what they may do, as far as they ask; nil means everything
	ResumeSession bool                       // continue the session of an interrupted attempt
	Prices        budget.Prices
	Detect        detect.Limits
}

// tooled says that an agent is told about tools.
func (a Agents) tooled(agent string) bool { return a.Toolless != nil && !a.Toolless(agent) }

// Caller is the attempt whose agent calls tools.
type Caller struct {
	Claim dag.Claim
	Warn  func(text string)
	Wake  func() // there may be something to claim
	Tell  func(event.Event)
}

// OtherProjects is where the runs of all projects tell each other about limits.
type OtherProjects interface {
	// Limits lists those that are not over, of agents that this run may use.
	Limits(now time.Time) []dag.AgentLimit
	Limit(now time.Time, l dag.AgentLimit) error
}

// Models is how a model is chosen.
type Models struct {
	Strategy strategy.Kind
	Model    string
	Effort   dag.Effort // of tasks that name none
}

// Verify is how work is checked.
type Verify struct {
	attempt.Verification // its gates are for every task, before the task's own
	GateRunner           verify.Gates
	MayFail              MayFail // nil: nobody can be asked
	Withheld             string  // which variables gates are not given, in a sentence for when one fails
	Reviewers            []Reviewer
	// Unproven lists the success criteria in scope that nothing shows to be met; the run fails because of them. nil asks nobody.
	Unproven func(g *dag.Graph) ([]string, error)
	Acceptor *Acceptor // nil: nobody compares features with their specifications
}

// MayFail asks a person whether a run may begin although gates fail.
type MayFail func(ctx context.Context, failing []verify.Result) (bool, error)

// Acceptor compares features with their specifications.
type Acceptor struct {
	Agent, Model string
	Specified    func(feature string) bool // it has a specification
}

// Reviewer looks at the whole change of a feature, with one focus.
type Reviewer struct{ Focus, Agent, Model string }

// Prompt is what prompts are made of besides the graph.
type Prompt struct {
	Context   func(dag.Task) attempt.Sources // the documents of a task
	Recall    journal.Options
	Knowledge *knowledge.Store // nil means that nothing is looked up or written
	Tokens    int              // of knowledge in a prompt
	Extract   bool             // ask for lessons after work that took more than one try
}

// Place is where the run works.
type Place struct {
	Dir  string // the project
	Runs string // where the folders of runs are
	// OwnFiles lists files below Dir that ralph itself writes: this process, and these
	// runs. nil means none.
	OwnFiles func([]dag.Run) []string
}

// Recovery is what happens to what dead runs left.
type Recovery struct {
	recovery.Rules
	Life  func(dag.Process) dag.Life
	Sweep func(owner string) (killed int, err error) // kills what a dead run left running
	// Parallel finds where agents worked side by side, also if they do not in this run.
	Parallel func(context.Context) (land.Site, error)
	// Calls finds the tool calls of an attempt that is over; nil finds none.
	Calls func(dag.Attempt) (began []string, cut []inbox.Cut, err error)
}

// Host is what the process gives to the run.
type Host struct {
	Now     func() time.Time
	Jitter  func(time.Duration) time.Duration // nil leaves delays as they are
	Observe func(event.Event)
	Notify  func(context.Context, event.Event) // sends one to those that are configured, and returns when it was sent or given up; nil if there are none
	Redact  *redact.Redactor                   // what leaves a run as text passes through it; nil hides nothing
	Gone    func() bool                        // the database was deleted or replaced; nil means no check
	Check   func() error                       // called after each attempt; an error ends the run. nil means no check
	// Plans takes in what git brought into plan files, and when the run is idle writes them, too; it says what people should
	// know. A run that waits for tasks calls it at each look. nil means no plan files
	Plans func(ctx context.Context, idle bool) (warnings []string)
	Hooks *hooks.Set // as they were configured when the run began; nil means none
	Setup event.Setup
}

// withDefaults fills in what was left out.
func (o Options) withDefaults() Options {
	if o.Host.Now == nil {
		o.Host.Now = time.Now
	}
	if o.Prompt.Context == nil {
		o.Prompt.Context = func(dag.Task) attempt.Sources { return attempt.Sources{} }
	}
	if o.Host.Jitter == nil {
		o.Host.Jitter = func(d time.Duration) time.Duration { return d }
	}
	if o.Agents.Warm == nil {
		o.Agents.Warm, o.Agents.Cool = func(attempt.Opening) {}, func() {}
	}
	w := &o.Workers
	w.Jobs, w.Lease = cmp.Or(w.Jobs, 1), cmp.Or(w.Lease, time.Minute)
	w.Poll = min(cmp.Or(w.Poll, time.Second), w.Lease/3)
	return o
}
