package taskfile

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/jsonval"
	"ralph/internal/plain"
)

// File is a plan as git carries it: JSON lines with the IDs of tasks. What only the file knows is kept when it is written again:
// the order of its lines, keys of newer versions, how often each task was changed, and which tasks were deleted.
type File struct{ lines []record }

// FeatureRef is the ref of a record that is about the feature itself: which gates it has. Its ID would not do, because each
// clone has its own. An older version refuses the file: it must not run tasks without the gates.
const FeatureRef = "feature"

// record is one line: a task, or the feature; or a tombstone, which has deleted_at.
type record struct {
	ref    string
	fields map[string]json.RawMessage // compact
	number int                        // of the line, for errors
	raw    []byte                     // the line as it was read; nil if it was changed since
}

// The keys that only files have.
const (
	keyRev     = "rev"        // counts the changes of a task: the later one wins where two sides changed the same
	keyUpdated = "updated_at" // for people; a clock is no order between two machines
	keyMoved   = "moved_from" // the feature in whose file it was before, or "none": it belongs here if both have it
	keyDeleted = "deleted_at"
)

// ErrMarkers is a file in which git left both sides of a conflict.
var ErrMarkers = errors.New("git left a conflict here")

// ParseFile reads a plan file. Keys that it does not know are kept. What is wrong with its lines is a dag.PlanError.
func ParseFile(data []byte) (File, error) {
	if err := checkText(data); err != nil {
		return File{}, err
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	var f File
	var faults dag.PlanError
	number, first := 0, map[string]int{}
	for text := range bytes.Lines(data) {
		number++
		text = bytes.TrimSpace(text)
		if len(text) == 0 {
			continue
		}
		r, err := parseRecord(text)
		if err == nil && first[r.ref] > 0 {
			err = fmt.Errorf("ref %q is taken by line %d", r.ref, first[r.ref])
		}
		if err != nil {
			faults = append(faults, dag.SpecError{Line: number, Err: err})
			if errors.Is(err, ErrMarkers) {
				return File{}, faults // all that follows is wrong too, and says nothing
			}
			continue
		}
		r.number, r.raw, first[r.ref] = number, text, number
		f.lines = append(f.lines, r)
	}
	if len(faults) > 0 {
		return File{}, faults
	}
	return f, nil
}

func parseRecord(text []byte) (record, error) {
	for _, marker := range []string{"<<<<<<<", "=======", ">>>>>>>", "|||||||"} {
		if bytes.HasPrefix(text, []byte(marker)) {
			return record{}, ErrMarkers
		}
	}
	var r record
	if err := json.Unmarshal(text, &r.fields); err != nil {
		return r, explain(err)
	}
	var task line
	if err := json.Unmarshal(text, &task); err != nil {
		return r, explain(err)
	}
	switch r.ref = task.Ref; {
	case r.ref == "":
		return r, errors.New("no ref: a plan file names the ID of each task")
	case task.Rev < 0 || task.Rev > maxRev:
		return r, fmt.Errorf("rev is %d; it counts changes, from 0 to %d", task.Rev, int64(maxRev))
	case string(r.fields[keyDeleted]) == "null":
		delete(r.fields, keyDeleted)
	case r.dead() && expiry(r).IsZero():
		return r, fmt.Errorf("deleted_at is %s; it is a time such as 2026-01-02T03:04:05Z", plain.Cut(string(r.fields[keyDeleted]), 40))
	}
	for key, raw := range r.fields {
		if i := slices.IndexFunc(ownKeys, func(own string) bool { return strings.EqualFold(own, key) }); i >= 0 && !slices.Contains(ownKeys, key) {
			return r, fmt.Errorf("the key %q is written %q", key, ownKeys[i])
		}
		r.fields[key] = canonical(raw)
	}
	return r, nil
}

// canonical writes a value as it would be written here, so that equal values are equal bytes.
func canonical(raw json.RawMessage) json.RawMessage {
	if !bytes.ContainsAny(raw, "\\{ \t.eE") || raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return raw // one text without escapes, a whole number, or a short list: the most by far
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return raw
	}
	return encoded(v)
}

func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	if err := jsonval.Encoder(&b).Encode(v); err != nil {
		return nil // of texts, numbers and lists: it cannot fail
	}
	return bytes.TrimSpace(b.Bytes())
}

// Bytes are the lines of the file: known keys in their order, then the others by name. Equal files have equal bytes.
func (f File) Bytes() []byte {
	var b bytes.Buffer
	for _, r := range f.lines {
		b.Write(r.bytes())
		b.WriteByte('\n')
	}
	return b.Bytes()
}

func (r record) bytes() []byte {
	keys := slices.DeleteFunc(slices.Clone(ownKeys), func(key string) bool { return r.fields[key] == nil })
	for _, key := range slices.Sorted(maps.Keys(r.fields)) {
		if !slices.Contains(ownKeys, key) {
			keys = append(keys, key)
		}
	}
	b := []byte{'{'}
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, encoded(key)...), ':'), r.fields[key]...)
	}
	return append(b, '}')
}

func (r record) rev() (n int64) {
	_ = json.Unmarshal(r.fields[keyRev], &n) // checked when it was read
	return n
}

// maxRev is more than anybody can count to, and leaves room.
const maxRev = 1 << 50

func next(rev int64) int64 { return min(rev+1, maxRev) }

func (r record) dead() bool { return r.fields[keyDeleted] != nil }

func (r record) equal(other record) bool {
	return maps.EqualFunc(r.fields, other.fields, func(a, b json.RawMessage) bool { return bytes.Equal(a, b) })
}

// text is a field that is text or null.
func (r record) text(key string) (s string) {
	_ = json.Unmarshal(r.fields[key], &s)
	return s
}

func (r record) list(key string) (list []string) {
	_ = json.Unmarshal(r.fields[key], &list)
	return list
}

// set changes a field, of this version of the task only.
func (r *record) set(key string, value any) {
	r.fields, r.raw = maps.Clone(r.fields), nil
	r.fields[key] = encoded(value)
}

func (r *record) remove(key, item string) {
	r.set(key, slices.DeleteFunc(r.list(key), func(s string) bool { return s == item }))
}

// Update makes the file say what the tasks are now. Lines of tasks that did not change stay as they are, in their place; new
// tasks come at the end; of one that is gone a tombstone stays for a while, because other branches still have it.
func (f File) Update(items []Item, now time.Time) File {
	var updated File
	current := make(map[string]Item, len(items))
	for _, item := range items {
		current[item.ID] = item
	}
	for _, r := range f.lines {
		item, live := current[r.ref]
		switch {
		case live:
			updated.lines = append(updated.lines, r.update(item))
			delete(current, r.ref)
		case !r.dead():
			old := r
			r = record{ref: r.ref, fields: map[string]json.RawMessage{"ref": old.fields["ref"]}}
			if title := old.fields["title"]; title != nil {
				r.fields["title"] = title
			}
			r.fields[keyRev] = old.fields[keyRev]
			r.set(keyRev, next(r.rev()))
			r.set(keyDeleted, now.UTC().Format(time.RFC3339))
			updated.lines = append(updated.lines, r)
		case !expired(r, now):
			updated.lines = append(updated.lines, r)
		}
	}
	for _, item := range items {
		if _, added := current[item.ID]; added {
			updated.lines = append(updated.lines, record{ref: item.ID}.update(item))
		}
	}
	return updated
}

func expired(r record, now time.Time) bool { return now.After(expiry(r)) }

// expiry is when nobody needs a tombstone any longer, or zero if it does not say when the task was deleted.
func expiry(r record) time.Time {
	at, err := time.Parse(time.RFC3339, r.text(keyDeleted))
	if err != nil {
		return time.Time{}
	}
	return at.Add(dag.KeepDeleted)
}

// update is the line of a task as it is now, with what only the file knows of it.
func (r record) update(item Item) record {
	if item.ID == FeatureRef {
		return r.updateFeature(item)
	}
	now := lineOf(item, true)
	if same := now; r.raw != nil { // most lines were written here, and nothing has changed
		same.Rev, same.Updated, same.MovedFrom = r.rev(), r.text(keyUpdated), r.text(keyMoved)
		if bytes.Equal(encoded(same), r.raw) {
			return r
		}
	}
	var before line
	_ = json.Unmarshal(r.bytes(), &before) // checked when it was read
	rev := before.Rev
	if r.fields["feature"] == nil {
		before.Feature = now.Feature // that of the file
	}
	if len(r.fields) > 0 && !r.dead() && reflect.DeepEqual(before.spec(0).Normal(), now.spec(0).Normal()) {
		return r
	}
	if len(r.fields) > 0 {
		now.Rev, now.MovedFrom, now.Updated = next(rev), before.MovedFrom, item.UpdatedAt.UTC().Format(time.RFC3339)
	}
	changed := record{ref: r.ref, number: r.number, fields: map[string]json.RawMessage{}}
	_ = json.Unmarshal(encoded(now), &changed.fields) // it was just encoded
	for key, raw := range r.fields {
		if !slices.Contains(ownKeys, key) {
			changed.fields[key] = raw
		}
	}
	return changed
}

func (r record) updateFeature(item Item) record {
	if len(r.fields) == 0 {
		return record{ref: r.ref, fields: map[string]json.RawMessage{"ref": encoded(r.ref), "gates": encoded(item.Gates)}}
	}
	if !r.dead() && slices.Equal(r.list("gates"), item.Gates) {
		return r
	}
	r.set("gates", item.Gates)
	r.set(keyRev, next(r.rev()))
	r.set(keyUpdated, item.UpdatedAt.UTC().Format(time.RFC3339))
	delete(r.fields, keyDeleted)
	return r
}

// Gates are those of the feature.
func (f File) Gates() []string {
	r, _ := f.live(FeatureRef)
	return r.list("gates")
}

// Only is the part of the file that is about some tasks.
func (f File) Only(some func(ref string) bool) (part File) {
	for _, r := range f.lines {
		if some(r.ref) {
			part.lines = append(part.lines, r)
		}
	}
	return part
}

// With is the file with the lines of some tasks as they are in another, or without them if it has none.
func (f File) With(other File, refs []string) (mixed File) {
	theirs := other.byRef()
	for _, r := range f.lines {
		if slices.Contains(refs, r.ref) {
			r = theirs[r.ref]
		}
		if r.ref != "" {
			mixed.lines = append(mixed.lines, r)
			delete(theirs, r.ref)
		}
	}
	for _, r := range other.lines {
		if _, left := theirs[r.ref]; left && slices.Contains(refs, r.ref) {
			mixed.lines = append(mixed.lines, r)
		}
	}
	return mixed
}

// And is the file with the lines that only another one has.
func (f File) And(other File) File {
	has := f.byRef()
	f.lines = slices.Clone(f.lines)
	for _, r := range other.lines {
		if _, known := has[r.ref]; !known {
			f.lines = append(f.lines, r)
		}
	}
	return f
}

// Equal says that two files say the same.
func (f File) Equal(other File) bool { return slices.EqualFunc(f.lines, other.lines, record.equal) }

// Numbers says on which line of the text that was parsed each task stands.
func (f File) Numbers() map[string]int {
	numbers := make(map[string]int, len(f.lines))
	for _, r := range f.lines {
		numbers[r.ref] = r.number
	}
	return numbers
}

// Specs are the tasks of the file that were not deleted.
func (f File) Specs() []dag.Spec {
	var list []dag.Spec
	for _, r := range f.lines {
		if r.dead() || r.ref == FeatureRef {
			continue
		}
		var l line
		_ = json.Unmarshal(r.bytes(), &l) // checked when it was read
		list = append(list, l.spec(r.number))
	}
	return list
}

// later says which of two versions of a task counts where both changed the same: the one that was changed more often, and
// among equals the greater bytes, so that both sides of a merge decide alike.
func (r record) later(other record) bool {
	if order := cmp.Compare(r.rev(), other.rev()); order != 0 {
		return order > 0
	}
	return bytes.Compare(r.bytes(), other.bytes()) > 0
}
