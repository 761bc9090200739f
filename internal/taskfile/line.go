package taskfile

import (
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/jsonval"
)

// line is one task in a file: what a person says about it, as dag.Fields has that, and the rest.
type line struct {
	dag.Detail
	placement

	unknown string // a key that it has and no task
	wrong   error  // what a key says and no task can
}

// placement is where a task stands, where it came from and what became of it.
type placement struct {
	Ref     string             `json:"ref" yaml:"ref"`
	Parent  jsonval.NullString `json:"parent" yaml:"parent"`
	After   []string           `json:"after" yaml:"after"`
	Feature jsonval.NullString `json:"feature" yaml:"feature"`

	AllowTampering bool `json:"allow_tampering" yaml:"allow_tampering"` // of older files, which is read and not written

	Related        []string `json:"related" yaml:"related"`
	Group          bool     `json:"group" yaml:"group"`
	Origin         string   `json:"origin" yaml:"origin"`
	DiscoveredFrom string   `json:"discovered_from" yaml:"discovered_from"`

	Status       string             `json:"status" yaml:"status"`
	Satisfied    bool               `json:"satisfied" yaml:"satisfied"`
	Retries      int                `json:"retries" yaml:"retries"`
	Verification jsonval.NullString `json:"verification" yaml:"verification"`

	// What only plan files say, of acceptances: which round it is, or 0 for what one missed, and what it failed for.
	Acceptance *int   `json:"acceptance" yaml:"acceptance"`
	Missing    string `json:"missing" yaml:"missing"`

	// What only the file of a plan knows: how often the task was changed, when it was changed last, from which feature's file it
	// came, when it was deleted.
	Rev       int64  `json:"rev" yaml:"rev"`
	Updated   string `json:"updated_at" yaml:"updated_at"`
	MovedFrom string `json:"moved_from" yaml:"moved_from"`
	Deleted   string `json:"deleted_at" yaml:"deleted_at"`
}

// value is what a line says under a key; nil if it does not say it.
func (p *placement) value(key string) any {
	switch key {
	case "ref":
		return p.Ref
	case "parent":
		return p.Parent
	case "after":
		return jsonval.List(p.After)
	case "feature":
		return p.Feature
	case "related":
		return given(p.Related, len(p.Related) > 0)
	case "group":
		return given(p.Group, p.Group)
	case "origin":
		return given(p.Origin, p.Origin != "")
	case "discovered_from":
		return given(p.DiscoveredFrom, p.DiscoveredFrom != "")
	case "status":
		return given(p.Status, p.Status != "")
	case "satisfied":
		return given(p.Satisfied, p.Satisfied)
	case "retries":
		return given(p.Retries, p.Retries != 0)
	case "verification":
		return given(p.Verification, p.Verification != "")
	case "acceptance":
		return given(p.Acceptance, p.Acceptance != nil)
	case "missing":
		return given(p.Missing, p.Missing != "")
	case keyRev:
		return given(p.Rev, p.Rev != 0)
	case keyUpdated:
		return given(p.Updated, p.Updated != "")
	case keyMoved:
		return given(p.MovedFrom, p.MovedFrom != "")
	case keyDeleted:
		return given(p.Deleted, p.Deleted != "")
	}
	return nil
}

func given(v any, is bool) any {
	if !is {
		return nil
	}
	return v
}

// placedAfter are the keys of a placement that stand between those of a Detail. The others follow them.
var placedAfter = map[string][]string{"priority": {"parent", "after", "feature"}, "paths": {"allow_tampering"}, "proves": {"related"}}

// ownKeys are the keys of a line, in the order in which Export writes them.
var ownKeys = func() []string {
	keys := []string{"ref"}
	for _, f := range dag.Fields {
		keys = append(append(keys, f.Name), placedAfter[f.Name]...)
	}
	for _, key := range keysOf(reflect.TypeFor[placement]()) {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}()

// listKeys are those whose value is a set of texts.
var listKeys = func() []string {
	keys := []string{"after", "related"}
	for _, f := range dag.Fields {
		if f.IsList() {
			keys = append(keys, f.Name)
		}
	}
	return keys
}()

// MarshalJSON writes the keys in their order. One that is empty is left out, unless older versions wrote it.
func (l line) MarshalJSON() ([]byte, error) {
	var o jsonval.Object
	for _, key := range ownKeys {
		if f, is := dag.FieldNamed(key); is {
			if f.Always || !f.Empty(l.Detail) {
				o = append(o, key, f.Written(l.Detail))
			}
		} else if v := l.value(key); v != nil {
			o = append(o, key, v)
		}
	}
	return o.MarshalJSON()
}

// UnmarshalJSON reads it. Keys are known in whatever case they are written.
func (l *line) UnmarshalJSON(data []byte) error {
	var values map[string]json.RawMessage
	if err := json.Unmarshal(data, &values); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &l.placement); err != nil {
		return err
	}
	return l.read(slices.Sorted(maps.Keys(values)), strings.EqualFold, func(key string, into any) error {
		err := json.Unmarshal(values[key], into)
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			kind.Field = strings.ToLower(key)
		}
		return err
	})
}

// lazily decodes a value once it is known into what.
type lazily struct{ decode func(any) error }

// UnmarshalYAML keeps the decoder.
func (l *lazily) UnmarshalYAML(decode func(any) error) error { l.decode = decode; return nil }

// UnmarshalYAML reads it.
func (l *line) UnmarshalYAML(decode func(any) error) error {
	var values map[string]lazily
	if err := decode(&values); err != nil {
		return err
	}
	if err := decode(&l.placement); err != nil {
		return err
	}
	same := func(own, key string) bool { return own == key }
	return l.read(slices.Sorted(maps.Keys(values)), same, func(key string, into any) error {
		if values[key].decode == nil {
			return nil // null
		}
		return values[key].decode(into)
	})
}

// valueError is a value that is of the right type, and none that a task can have.
type valueError struct{ error }

// read sets what the keys of a Detail say.
func (l *line) read(keys []string, same func(own, key string) bool, decode func(key string, into any) error) error {
	for _, key := range keys {
		f, is := dag.FieldNamed(key)
		if !is {
			i := slices.IndexFunc(ownKeys, func(own string) bool { return same(own, key) })
			if i < 0 {
				l.unknown = key
				continue
			}
			if f, is = dag.FieldNamed(ownKeys[i]); !is {
				continue
			}
		}
		failed := false
		err := f.Decode(&l.Detail, func(into any) error {
			err := decode(key, into)
			failed = err != nil
			return err
		})
		if err != nil && !failed {
			l.wrong = valueError{err}
			return l.wrong
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l line) spec(number int) dag.Spec {
	s := dag.Spec{
		Detail: l.Detail, Line: number, Ref: l.Ref, Parent: string(l.Parent), After: l.After, Related: l.Related, Feature: string(l.Feature), Group: l.Group,
		Origin: l.Origin, DiscoveredFrom: l.DiscoveredFrom,
		Status: dag.Status(l.Status), Satisfied: l.Satisfied, Retries: l.Retries, Verification: string(l.Verification),
		Acceptance: l.Acceptance, Missing: l.Missing,
	}
	if l.AllowTampering && len(l.MayChange) == 0 { // older files only know that a task may change all that checks it
		s.MayChange = []string{dag.EveryCheck}
	}
	return s
}

// written is a task as a line says it. Without a status, the line has none.
func written(s dag.Spec) line {
	l := line{Detail: s.Detail, placement: placement{
		Ref: s.Ref, Parent: jsonval.NullString(s.Parent), After: s.After, Feature: jsonval.NullString(s.Feature), Related: s.Related,
		Group: s.Group, Origin: s.Origin, DiscoveredFrom: s.DiscoveredFrom,
		Status: string(s.Status), Satisfied: s.Satisfied, Retries: s.Retries, Verification: jsonval.NullString(s.Verification),
		Acceptance: s.Acceptance, Missing: s.Missing,
	}}
	if s.Status == dag.InProgress {
		l.Status = string(dag.Pending)
	}
	return l
}
