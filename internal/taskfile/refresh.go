package taskfile

import (
	"encoding/json"

	"ralph/dag"
)

// Line is a task as an import says it, to be compared with the next one.
func Line(s dag.Spec) string { return string(encoded(written(s))) }

// Refresh says what a task is to be whose file is imported again: field by field, what changed in the file since the line that was
// remembered counts, except where a person changed the same here.
func Refresh(remembered string, now Item, file dag.Spec) dag.Spec {
	here := lineOf(now, true)
	if remembered == string(encoded(here)) {
		return file // nobody changed anything here
	}
	ours, theirs := recordOf(here), recordOf(written(file))
	base := record{ref: ours.ref, fields: map[string]json.RawMessage{}}
	_ = json.Unmarshal([]byte(remembered), &base.fields) // it was encoded by us
	ours.set(keyRev, 1)                                  // in doubt, a person counts
	merged := fields(base, ours, theirs)
	var l line
	_ = json.Unmarshal(merged.bytes(), &l) // it was just encoded
	return l.spec(file.Line)
}

func recordOf(l line) record {
	r := record{ref: l.Ref, fields: map[string]json.RawMessage{}}
	_ = json.Unmarshal(encoded(l), &r.fields) // it was just encoded
	return r
}
