package inbox

import (
	"fmt"
	"slices"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/provenance"
)

// seal seals what became of a request, before it is stored. An agent that can write the database can write an answer, but
// not its seal.
func (r Request) seal(t provenance.Store) error {
	if err := t.Seal("answer "+r.ID, r.said()...); err != nil {
		return fmt.Errorf("%w: nothing would show that an agent did not answer %s itself: %w", dag.ErrRefused, r.ID, err)
	}
	return nil
}

// Forged reports whether a request has an answer that neither a person gave nor the time that ran out.
func (r Request) Forged(t provenance.Store) bool {
	return (r.State == Answered || r.State == Expired) && !t.Sealed("answer "+r.ID, r.said()...)
}

// said is all that an answer depends on: it is one to this question only.
func (r Request) said() []string {
	return []string{"answer", r.ID, string(r.Kind), r.Task, r.Text, r.Detail, string(r.State), fmt.Sprint(r.Denied), r.Answer}
}

// asked is all that becomes the answer when the time runs out. It is sealed when it is asked: an agent could otherwise
// shorten the time, or write the default, and have the run itself answer.
func (r Request) asked() []string {
	return append([]string{"asked", r.ID, string(r.Kind), r.Task, r.Text, r.Detail, r.Default, fmt.Sprint(r.ExpiresAt.UnixMilli())}, r.Options...)
}

const disownSQL = `
UPDATE requests SET state = 'open', answer = NULL, denied = 0, answered_at = NULL, answered_by = NULL, answered_via = NULL, received_by = NULL, received_at = NULL,
    fallback = NULL, expires_at = NULL
WHERE id = :id AND state IN ('answered', 'expired') RETURNING ` + columns + `;`

// Disown opens those requests again whose answers are forged, and lists them. They have no default any more and never expire:
// who wrote the answer may have written these.
func Disown(g *dag.Graph, t provenance.Store, list ...Request) (bad []Request, err error) {
	for _, r := range list {
		if err != nil || !r.Forged(t) {
			continue
		}
		if r, err = db.One(g.Tx(), disownSQL, scan, ":id", r.ID); r.ID != "" {
			bad = append(bad, r)
		}
	}
	return bad, err
}

// Answers lists what a task asked since its last reset and was answered, oldest first: all of its later attempts need it,
// but what is to be done again is done by one of them. What an agent wrote itself is none.
func Answers(g *dag.Graph, t provenance.Store, task string) ([]Request, error) {
	list, err := Settled(g, task)
	return slices.DeleteFunc(list, func(r Request) bool { return r.Forged(t) }), err
}
