package recovery

import (
	"fmt"

	"ralph/internal/human"
	"ralph/loop/land"
)

// OnDirty is what happens to uncommitted work of a dead attempt.
type OnDirty string

// What may happen to it.
const (
	Keep  OnDirty = "keep"  // it stays, and the next agent learns of it
	Stash OnDirty = "stash" // it is put under a ref, as always by now
	Fail  OnDirty = "fail"  // the task fails, so that a person looks
)

const maxNamed = 5 // files that a reason names

const leftText = "left uncommitted work, which recovery.on_dirty does not allow: %s"

// dirty says what became of the work that a dead attempt left, or why the task has to fail. Work of an older ralph in the
// project's own folder, which has no ref, stays there, and the next attempt goes on with it.
func (r Recoverer) dirty(slot land.Kept) (note string, fail bool) {
	switch {
	case slot.Ref == "":
		return "", false
	case r.Rules.OnDirty == Fail:
		return fmt.Sprintf(leftText+"; it is kept at %s", human.List(slot.Files, maxNamed), slot.Ref), true
	}
	return fmt.Sprintf("; its work is kept at %s: %s", slot.Ref, human.List(slot.Files, maxNamed)), false
}
