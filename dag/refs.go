package dag

import (
	"encoding/json"
	"fmt"
	"strings"

	"ralph/internal/human"
)

// MadeRef is a tag or a branch that work made, which lands with it.
type MadeRef struct {
	Name  string `json:"name"`            // in full: refs/tags/v1.2
	ID    string `json:"id"`              // what it points at in the slot
	Own   bool   `json:"own,omitempty"`   // that is the work itself: it lands on what lands
	Value string `json:"value,omitempty"` // what it is to be in the repository, known before the target moves
	There bool   `json:"there,omitempty"` // it was made there before the work landed: landing makes nothing, and undoing deletes nothing
	Gone  bool   `json:"gone,omitempty"`  // it is deleted, as long as it has the value
}

// Short is what people call it.
func (r MadeRef) Short() string {
	if name, is := strings.CutPrefix(r.Name, "refs/tags/"); is {
		return "the tag " + name
	}
	return "the branch " + strings.TrimPrefix(r.Name, "refs/heads/")
}

// String says what the work does to it.
func (r MadeRef) String() string {
	switch {
	case r.Gone:
		return "deletes " + r.Short()
	case r.Own:
		return "makes " + r.Short() + " at the work's commit"
	}
	return fmt.Sprintf("makes %s at commit %.10s", r.Short(), r.ID)
}

// RefsText says what the work does to refs, "" for nothing.
func (m Merge) RefsText() string {
	const most = 10
	var list []string
	for _, r := range m.Refs {
		list = append(list, r.String())
	}
	return human.List(list, most)
}

const refsSQL = `UPDATE merges SET refs = :refs WHERE n = :n;`

// Refs stores what landing is about to write, with that.
func (g Queue) Refs(c Claim, n int64, refs []MadeRef) error {
	if err := g.Holds(c); err != nil {
		return err
	}
	return g.tx.Exec(refsSQL, ":n", n, ":refs", refsJSON(refs))
}

// refsJSON is how refs are stored.
func refsJSON(refs []MadeRef) any {
	if len(refs) == 0 {
		return nil
	}
	text, _ := json.Marshal(refs) // texts and flags always can be
	return string(text)
}
