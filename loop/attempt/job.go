// Package attempt makes one try at one task: a Job goes in, a Result comes out. It runs
// the agent, decides turn by turn and verifies the work, in the folder that the job names.
// It never sees the database: what must outlive the process is a Record.
package attempt

import (
	"slices"
	"time"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/agents"
	"ralph/internal/detect"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/loop/land"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/strategy"
	"ralph/verify"
)

// Job is one try as data. It survives json.Marshal, so that another machine can do it.
type Job struct {
	Run      RunRef
	Task     dag.Task
	Place    Place
	Agent    Assignment
	Session  *Earlier     // to continue; nil begins a new one
	Finished *Finished    // set: verify this work, run no agent
	Made     *Result      // with Finished: what the attempt came to on another machine
	Accepted bool         // a person accepted that work: only gates check it
	Review   *dag.Review  // set: look at the whole change of a feature, change nothing
	Brief    prompt.Input // what graph and journal know; the attempt adds what it reads in Place.Dir
	History  History
	Proof    Proving
	Verify   Verification
	Rules    policy.Rules
	Detect   detect.Limits
	Lessons  bool // ask what later agents should know, if the work took more than one try
}

// RunRef says of which run an attempt is a part.
type RunRef = agents.RunRef

// Place is where an attempt works.
type Place struct {
	Dir     string
	Sub     string   // the project's folder in the repository, where Dir is in a slot: trees are of all of that; "" for the top
	Project string   // the project's own folder, where Dir is a slot
	Folder  string   // for its transcript and logs
	Env     []string // variables that tell it from other places
	Secret  string   // a folder for what no agent in a sandbox may read of the task; "" where there is none
}

// Assignment is who works, and with which model.
type Assignment struct {
	Name     string
	Verifier string // who gives verdicts, if that is another agent
	Choice   strategy.Choice
	Effort   dag.Effort
	Standing policy.Standing

	VerifierProven bool // the verifier has answered in this run
}

// verifies reports whether what the attempt makes is judged, and not what somebody accepted or wants to know.
func (j *Job) verifies() bool { return !j.Verify.Skip && !j.Accepted && j.Review == nil }

// Earlier is the session in which an attempt at the same task was interrupted.
type Earlier = acp.Earlier

// Finished is what verification needs of an attempt whose agent says that it is done.
// It is recorded, so that another run can verify the work if this one dies.
type Finished struct {
	Set     sigils.Set `json:"set"`
	Stop    string     `json:"stop"`
	Evident bool       `json:"evident"`
	Told    []string   `json:"told,omitempty"` // the knowledge that the prompt had

	// What another machine has verified already: the patch that was accepted, and the trees below and of the work on which its
	// gates were green. The same patch needs no other verdict, and the same trees need no gates.
	Patch string         `json:"patch,omitempty"`
	Trees [2]string      `json:"trees,omitzero"`
	Gates []verify.Check `json:"gates,omitempty"` // what they said of those trees
}

// tested reports whether a candidate is what another machine has tested.
func (f *Finished) tested(c land.Candidate) bool {
	if f == nil || f.Trees[1] == "" {
		return false
	}
	return f.Trees == c.Trees
}

// Base is where a task began: what was there before its first attempt. It is kept
// with the task, so that neither a second run nor somebody else's work between two
// attempts can be taken for the task's own.
type Base struct {
	Tree  string                   `json:"tree,omitempty"` // empty where git cannot tell
	Gone  bool                     `json:"gone,omitempty"` // git lost the tree of its first attempt: Tree is that of a later one
	Gates map[string]verify.Result `json:"gates,omitempty"`
}

// History is what came before.
type History struct {
	Base     *Base         // nil at the task's first attempt
	Attempts []dag.Attempt // at the task, in order, with this one
	Finished dag.Attempt   // the one whose work is only verified
	Changed  []string      // files that the run's last attempts changed

	Answers []inbox.Request // to what the task asked since it was last reset
}

// Last is the last attempt that has ended.
func (h History) Last() dag.Attempt {
	for _, at := range slices.Backward(h.Attempts) {
		if !at.EndedAt.IsZero() {
			return at
		}
	}
	return dag.Attempt{}
}

// Verification says how work is checked.
type Verification struct {
	Skip         bool     // accept "done" without looking
	Gates        []string // of the project, the feature and the task
	Own          int      // the index of the task's own first gate
	Reruns       int      // of a gate that failed, before that counts
	Protect      []string // patterns of files that check the work
	AgentVerdict bool     // the verifier agent has the last word
	AllowFailing bool     // what fails before the work is excused from then on

	Coverage     string // what is made of lines that no gate executed: a coverage.Mode
	CoverageFile string // that a gate writes, with what it executed; "" for none

	Witness string // who writes a check of the task before the work: Verifier or the name of an agent; "" for no one

	Allowed map[string]string // for another machine: what gates may fail with
}

// Result is what came of an attempt.
type Result struct {
	Decision policy.Decision
	Seen     Seen
	Said     sigils.Set
	Agent    AgentUse
	Files    []string        // that it changed
	Findings []event.Finding // of a review
	Unusual  []string        // what the agent did that one at work does not do
	Told     []string        // the knowledge that its prompt had
	Judged   land.Candidate  // its work, as it was judged last
	Gates    []verify.Check  // what they said of it
	Began    time.Time       // when the task was claimed; the caller's to say
}

// Finished is what another machine needs to land accepted work.
func (r Result) Finished() *Finished {
	f := &Finished{Set: r.Said, Stop: string(r.Agent.Stop), Evident: r.Agent.Evident, Told: r.Told}
	if r.Decision.Action == policy.Complete { // what is held was not accepted
		f.Patch, f.Trees, f.Gates = r.Judged.Patch, r.Judged.Trees, r.Gates
	}
	return f
}

// Seen is what settling needs of the facts.
type Seen struct {
	Opened   bool // a session was
	Answered bool
	Empty    bool // the last turn was
	Checked  bool // the work is finished: the next attempt needs no agent
	Passed   bool // a gate or a verifier accepted it

	VerifierAnswered bool
}

// Recorded is what is on record of an attempt that cannot say more.
func Recorded(a dag.Attempt) Result {
	accepted := a.Verdict != "" || slices.ContainsFunc(a.Gates, func(g dag.GateRecord) bool { return g.Passed || g.Verdict == event.GateExpected })
	return Result{
		Seen: Seen{Passed: accepted}, Files: a.Files, Began: a.StartedAt,
		Agent: AgentUse{Name: a.Agent, Model: a.ModelEffective, Stop: acp.StopReason(a.StopReason), Usage: a.Usage},
	}
}

// AgentUse is who worked, and what the attempt's sessions used.
type AgentUse struct {
	Name       string
	Model      string // that took effect
	Offered    []string
	Stop       acp.StopReason
	Sandbox    string
	Evident    bool // its word rests on an exit status
	Usage      event.Usage
	Shares     []dag.Share
	SessionUSD *float64
}
