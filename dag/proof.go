package dag

import (
	"time"

	"ralph/internal/db"
)

// ProofKind is what shows that a criterion is met.
type ProofKind string

// The kinds of proof.
const (
	ProofTest    ProofKind = "test"    // a test was seen to fail without the work, and to pass on what landed
	ProofPartial ProofKind = "partial" // a gate was, but no test: they did not build or load without the work, or have no names
	ProofVerdict ProofKind = "verdict" // a verifier says so
	ProofPerson  ProofKind = "person"  // a person does
	ProofNone    ProofKind = "none"    // the work was to prove it, and did not
)

// Proves reports whether it is enough.
func (k ProofKind) Proves() bool { return k != ProofPartial && k != ProofNone }

// Proof is what was seen of one criterion of a feature's specification.
type Proof struct {
	Criterion string    `json:"-"`
	Text      string    `json:"-"` // of the criterion at that time
	Kind      ProofKind `json:"kind"`
	Task      string    `json:"task,omitempty"` // "" where a person says it
	Attempt   string    `json:"attempt,omitempty"`
	Author    string    `json:"author,omitempty"` // the verifier or the person
	Gate      string    `json:"gate,omitempty"`
	Shown     string    `json:"shown,omitempty"`  // what failed without the work, what the author says, or why there is no proof
	Base      string    `json:"base,omitempty"`   // the tree on which the gate failed
	Commit    string    `json:"commit,omitempty"` // what was looked at; "" where git has none
	At        time.Time `json:"at"`

	Standing bool `json:"-"` // its task is done
}

const (
	addProofSQL = `
INSERT INTO proofs (feature, criterion, text, kind, task, attempt, author, gate, shown, base, at_commit, at)
VALUES (:feature, :criterion, :text, :kind, :task, :attempt, :author, :gate, :shown, :base, :commit, :now);`
	dropProofsSQL = `DELETE FROM proofs WHERE feature = :feature AND task = :task;`
	withdrawSQL   = `DELETE FROM proofs WHERE feature = :feature AND criterion = :criterion AND kind = 'person' RETURNING n;`
	// Of a task, what its last attempt showed, if it was done by that: work that did not land shows nothing.
	proofsSQL = `
SELECT p.criterion, p.text, p.kind, p.task, p.attempt, p.author, p.gate, p.shown, p.base, p.at_commit, p.at, p.task = '' OR t.status IS 'done' AND p.attempt = (SELECT a.id FROM attempts a WHERE a.task = t.n AND a.outcome IN ('done', 'already_done') ORDER BY a.n DESC LIMIT 1)
FROM proofs p LEFT JOIN tasks t ON t.id = p.task WHERE p.feature = :feature ORDER BY p.criterion, p.n;`
)

// Prove stores that a person says that a criterion is met.
func (g Plan) Prove(feature string, p Proof) error {
	n, err := g.featureNumber(feature)
	if err != nil {
		return err
	}
	p.Kind, p.Task, p.Attempt = ProofPerson, "", ""
	g.addProofs(n, p)
	return g.history().Audit("", "", feature+" "+p.Criterion+": "+p.Shown)
}

// SetProofs stores what an attempt showed of criteria, in the place of what earlier ones at its task did. It is refused if the attempt
// lost its task.
func (g Plan) SetProofs(c Claim, proofs []Proof) error {
	if err := g.queue().Holds(c); err != nil {
		return err
	}
	n, err := g.featureNumber(c.Task.Feature)
	if err != nil || n == 0 {
		return err
	}
	g.tx.Do(dropProofsSQL, ":feature", n, ":task", c.Task.ID)
	for i := range proofs {
		proofs[i].Task, proofs[i].Attempt = c.Task.ID, c.Attempt
	}
	g.addProofs(n, proofs...)
	return g.tx.Err()
}

func (g Plan) addProofs(feature int64, proofs ...Proof) {
	for _, p := range proofs {
		g.tx.Do(addProofSQL, ":feature", feature, ":criterion", p.Criterion, ":text", p.Text, ":kind", string(p.Kind), ":task", p.Task, ":attempt", p.Attempt,
			":author", p.Author, ":gate", p.Gate, ":shown", g.said(p.Shown), ":base", p.Base, ":commit", p.Commit, ":now", g.millis())
	}
}

// WithdrawProof deletes what people said of a criterion, and says whether they had.
func (g Plan) WithdrawProof(feature, criterion string) (bool, error) {
	n, err := g.featureNumber(feature)
	if err != nil {
		return false, err
	}
	gone, err := db.All(g.tx, withdrawSQL, (*db.Row).Int64, ":feature", n, ":criterion", criterion)
	return len(gone) > 0, err
}

// Proofs lists what was seen of the criteria of a feature, oldest first for each.
func (g Plan) Proofs(feature string) ([]Proof, error) {
	n, err := g.featureNumber(feature)
	if err != nil {
		return nil, err
	}
	return db.All(g.tx, proofsSQL, func(r *db.Row) Proof {
		return Proof{
			Criterion: r.Text(), Text: r.Text(), Kind: ProofKind(r.Text()), Task: r.Text(), Attempt: r.Text(), Author: r.Text(), Gate: r.Text(),
			Shown: r.Text(), Base: r.Text(), Commit: r.Text(), At: r.Time(), Standing: r.Bool(),
		}
	}, ":feature", n)
}

// FeatureTree is the tree that the first attempt at a feature began with; "" if that is unknown.
func (g Plan) FeatureTree(feature string) (string, error) {
	n, err := g.featureNumber(feature)
	if err != nil || n == 0 {
		return "", err
	}
	_, tree := g.firstAttempt(n)
	return tree, g.tx.Err()
}
