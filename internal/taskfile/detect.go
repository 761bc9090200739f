package taskfile

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/lazyregexp"
	"ralph/internal/seq"
)

// AmbiguousError is a plan that could be written in more than one format.
type AmbiguousError struct{ Formats []Format }

// Error names the formats.
func (e *AmbiguousError) Error() string {
	return "it could be " + strings.Join(seq.Map(e.Formats, func(f Format) string { return string(f) }), " or ")
}

// Is makes it a refusal.
func (e *AmbiguousError) Is(target error) bool { return target == dag.ErrRefused }

// Detect says how a plan is written, by the keys of its first object or by how
// its lines begin. It does not say that the plan is good.
func Detect(data []byte) (Format, error) {
	text := bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), " \t\r\n")
	if len(text) == 0 {
		return JSONL, nil
	}
	if text[0] == '{' || text[0] == '[' {
		if keys, ok := firstKeys(text); ok {
			return byKeys(keys, text[0] == '[')
		}
		if text[0] == '{' {
			return JSONL, nil
		}
	}
	return byLines(text)
}

// firstKeys returns the first object of a list, or of several in a row.
func firstKeys(text []byte) (map[string]json.RawMessage, bool) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if text[0] == '[' {
		if _, err := dec.Token(); err != nil || !dec.More() {
			return nil, false
		}
	}
	var keys map[string]json.RawMessage
	if err := dec.Decode(&keys); err != nil || keys == nil {
		return nil, false
	}
	return keys, true
}

// marks are keys that only one format has.
var marks = []struct {
	format Format
	keys   []string
}{
	{JSONL, []string{"ref", "after", "gates", "max_retries"}},
	{PRD, []string{"passes", "acceptanceCriteria"}},
	{Beads, []string{"issue_type", "acceptance_criteria", "content_hash"}},
	{GitHub, []string{"number", "body"}},
}

func keysOf(t reflect.Type) []string {
	keys := make([]string, t.NumField())
	for i := range keys {
		keys[i], _, _ = strings.Cut(t.Field(i).Tag.Get("json"), ",")
	}
	return keys
}

func byKeys(keys map[string]json.RawMessage, list bool) (Format, error) {
	has := func(name string) bool { _, ok := keys[name]; return ok }
	if !list && slices.ContainsFunc(storyKeys, has) {
		return PRD, nil
	}
	if !list && isTaskMaster(keys) {
		return TaskMaster, nil
	}
	own := JSONL
	if list {
		own = YAML // of which a JSON array is a case
	}
	var found []Format
	for _, m := range marks {
		if slices.ContainsFunc(m.keys, has) {
			if m.format == JSONL {
				m.format = own
			}
			found = append(found, m.format)
		}
	}
	if len(found) == 0 && has("id") {
		found = []Format{Beads}
		if !has("status") && list {
			found = []Format{Beads, PRD}
		} else if !has("status") {
			found = []Format{own, Beads}
		}
	}
	switch len(found) {
	case 0:
		return own, nil // which names the key that it does not know
	case 1:
		return found[0], nil
	default:
		return Auto, &AmbiguousError{found}
	}
}

// ownItem is how a task begins in a YAML list.
var ownItem = lazyregexp.New(`^-(\s*$|\s+\{|\s+["']?(` + strings.Join(ownKeys, "|") + `)["']?\s*:(\s|$))`)

// looked is how much of a text is looked at to tell its format.
const looked = 1 << 20

func byLines(text []byte) (Format, error) {
	if len(text) > looked {
		text = text[:bytes.LastIndexByte(text[:looked], '\n')+1]
	}
	boxes, top, yaml, steps := false, false, false, false
	outsideCode(string(text), func(line string) {
		line = strings.TrimRight(line, "\r\n")
		_, rest := columns(line)
		if b, ok := parseBox(rest); ok {
			boxes, top = true, top || line[0] == rest[0]
			steps = steps || stepPattern.Get().MatchString(b.title)
		}
		yaml = yaml || ownItem.Get().MatchString(line)
	})
	switch {
	case top && yaml:
		return Auto, &AmbiguousError{[]Format{YAML, Markdown}}
	case boxes && !yaml && steps:
		return SpecKit, nil
	case boxes && !yaml:
		return Markdown, nil
	default:
		return YAML, nil
	}
}

// isTaskMaster says that an object has a list of tasks, or that all it has are objects with such lists: the tags of Task Master.
func isTaskMaster(keys map[string]json.RawMessage) bool {
	if list, ok := keys["tasks"]; ok {
		return kindOf(list) == "a list"
	}
	for _, value := range keys {
		var tag struct{ Tasks []json.RawMessage }
		if json.Unmarshal(value, &tag) != nil || tag.Tasks == nil {
			return false
		}
	}
	return len(keys) > 0
}
