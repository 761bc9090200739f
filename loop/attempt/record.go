package attempt

import (
	"encoding/json"
	"fmt"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/inbox"
	"ralph/internal/seq"
	"ralph/verify"
)

// Record is one thing that an attempt stores while it works. One field is set. It survives json.Marshal: a run stores the records of
// its own attempts at once, and those that another machine returns with a result in their order, with the same function.
type Record struct {
	Note     *dag.Note       `json:",omitempty"`
	Base     *Base           `json:",omitempty"`
	Finished *Finished       `json:",omitempty"` // comes before the note of the phase "answered"
	Proofs   Proofs          `json:",omitempty"` // of criteria, in the place of those of earlier attempts at the task
	Allowed  []verify.Result `json:",omitempty"` // what gates failed with before the work, and may fail with until they pass
	Accepted []verify.Check  `json:",omitempty"` // what gates said of work that is done: from now on they may fail with nothing else
	Asked    *inbox.Request  `json:",omitempty"` // storing it fills in what is stored
	Sent     *Message        `json:",omitempty"`
	Received []string        `json:",omitempty"` // messages and answers that the agent has read
	Used     *Used           `json:",omitempty"` // whenever it may have changed, from any goroutine
	Event    *event.Event    `json:",omitempty"`
}

// Proofs keep what they are about, which dag.Proof leaves out of its JSON.
type Proofs []dag.Proof

type namedProof struct {
	dag.Proof
	Criterion, Text string
}

// MarshalJSON writes the criteria, too.
func (p Proofs) MarshalJSON() ([]byte, error) {
	return json.Marshal(seq.Map(p, func(one dag.Proof) namedProof { return namedProof{one, one.Criterion, one.Text} }))
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (p *Proofs) UnmarshalJSON(data []byte) error {
	var list []namedProof
	err := json.Unmarshal(data, &list)
	*p = seq.Map(list, func(n namedProof) dag.Proof { n.Proof.Criterion, n.Proof.Text = n.Criterion, n.Text; return n.Proof })
	return err
}

// Message is what an agent tells the agent of a task, or all others if Task is empty.
type Message struct{ Task, Text string }

// Used is what an attempt has used in all.
type Used struct {
	Usage      event.Usage
	SessionUSD *float64 // what its session has cost, in all attempts
}

// MaxSent is how many messages an attempt may send. One to everybody is one for each task.
const MaxSent = 100

// ErrSent refuses more: each is stored, and read in a prompt.
var ErrSent = fmt.Errorf("%w: an attempt may send %d messages, one for each task that gets it", dag.ErrRefused, MaxSent)
