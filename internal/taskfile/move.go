package taskfile

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Sides are what two say about a file, what both come from, and what they say together.
type Sides struct{ Base, Ours, Theirs, Merged File }

// live is the line of a task that is not deleted.
func (f File) live(ref string) (record, bool) {
	for _, r := range f.lines {
		if r.ref == ref {
			return r, !r.dead()
		}
	}
	return record{}, false
}

// Has says whether the file has a task that is not deleted.
func (f File) Has(ref string) bool { _, has := f.live(ref); return has }

// SameTask says that the lines which two files have of an ID are of one task: a person who copies a line and changes it
// has another in mind, and a line that was moved counts that.
func SameTask(ref string, from, to File) bool {
	a, _ := from.live(ref)
	b, _ := to.live(ref)
	return a.text("title") == b.text("title") || min(a.rev(), b.rev()) > 0
}

// Left says that a task was moved away from this file, as far as either side knows.
func (s Sides) Left(ref string) bool {
	dead := func(f File) bool { r, live := f.live(ref); return !live && r.ref != "" }
	return !s.Merged.Has(ref) || dead(s.Base) || dead(s.Ours)
}

// Carry gives a line that is new here, because its task was moved, what only the file that it comes from knows: how often it
// was changed, which the move does once more, and keys of newer versions. It also says from which feature's file it comes.
func (f File) Carry(ref string, from File, feature string) File {
	old, _ := from.live(ref)
	f.lines = slices.Clone(f.lines)
	for i := range f.lines {
		r := &f.lines[i]
		if r.ref != ref || r.dead() {
			continue
		}
		for key, raw := range old.fields {
			if !slices.Contains(ownKeys, key) {
				r.set(key, raw)
			}
		}
		r.set(keyRev, max(r.rev(), old.rev()+1))
		r.set(keyMoved, cmp.Or(feature, noFeature))
	}
	return f
}

const noFeature = "none" // no feature may have that name

// Belongs says of a task that two files have whether it belongs in the first. In a clone that knows it there, that is so if it was moved
// there by one, and elsewhere by another. A clone that knows neither has only the lines. Where two were moved, or none, the one counts that was changed
// more often, and among equals the name, so that every clone decides alike.
func Belongs(ref, in string, a Sides, or string, b Sides) bool {
	x, _ := a.Merged.live(ref)
	y, _ := b.Merged.live(ref)
	if a.Ours.Has(ref) && x.text(keyMoved) == "" {
		return false
	}
	moved := func(r record, from string) int {
		switch r.text(keyMoved) {
		case cmp.Or(from, noFeature):
			return 2
		case "":
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(moved(x, or), moved(y, in)), cmp.Compare(x.rev(), y.rev()), cmp.Compare(in, or)) > 0
}

// Move merges the two lines of a task that was moved from one file to another, and leaves a tombstone in the first. Where
// nobody can say who changed what, the line that was changed more often counts, and it says what is dropped.
func Move(ref, feature string, from, to Sides, now time.Time) (left, arrived File, dropped []string) {
	base, was := from.Base.live(ref)
	there, _ := to.Merged.live(ref)
	here, changed := from.Merged.live(ref)
	if !changed {
		here, changed = from.Ours.live(ref)
	}
	merged := there
	switch {
	case changed && was && !here.equal(base) && there.rev() > base.rev(): // else it was moved before the base was written
		merged = fields(base, here, there)
	case from.Theirs.Has(ref) && from.Merged.Has(ref):
		merged, dropped = placed(ref, feature, here, there)
	}
	arrived.lines = slices.Clone(to.Merged.lines)
	for i := range arrived.lines {
		if arrived.lines[i].ref == ref {
			merged.number = arrived.lines[i].number
			arrived.lines[i] = merged
		}
	}
	left = from.Merged
	if r, _ := from.Ours.live(ref); r.dead() {
		return left.With(from.Ours, []string{ref}), arrived, dropped
	}
	if left.Has(ref) {
		gone := left.Only(func(other string) bool { return other == ref }).Update(nil, now)
		left = left.With(gone, []string{ref})
	}
	return left, arrived, dropped
}

// placed is the line of a task that was changed more often, in the place that the other gave it.
func placed(ref, feature string, here, there record) (merged record, dropped []string) {
	winner, loser := here, there
	if here.rev() < there.rev() {
		winner, loser = there, here
	}
	merged = record{ref: ref, fields: maps.Clone(winner.fields)}
	place := []string{"feature", "parent", keyMoved}
	for _, key := range place {
		delete(merged.fields, key)
		if raw := there.fields[key]; raw != nil {
			merged.fields[key] = raw
		}
	}
	merged.set(keyRev, winner.rev()+1)
	for _, key := range ownKeys {
		other := loser.fields[key]
		if other != nil && !bytes.Equal(other, winner.fields[key]) && !slices.Contains(append(place, keyRev, keyUpdated), key) {
			dropped = append(dropped, fmt.Sprintf("%s was moved to %s and changed elsewhere: its %s %s is dropped", ref, feature, key, other))
		}
	}
	return merged, dropped
}
