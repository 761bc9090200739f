package telemetry

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/event"
)

// span is something that took time.
type span struct {
	trace, id, parent, name string
	start, end              time.Time
	attributes              []attribute
	failed                  bool
	why                     string
}

// attribute is a fact as OTLP writes it in JSON.
type attribute struct {
	Key   string         `json:"key"`
	Value map[string]any `json:"value"`
}

// set adds a fact; what is empty is unknown and left out.
func (s *span) set(key string, value any) {
	if a, ok := asAttribute(key, value); ok {
		s.attributes = append(s.attributes, a)
	}
}

func asAttribute(key string, value any) (attribute, bool) {
	switch v := value.(type) {
	case string:
		return attribute{key, map[string]any{"stringValue": strings.ToValidUTF8(v, "?")}}, v != ""
	case int64:
		return attribute{key, map[string]any{"intValue": strconv.FormatInt(v, 10)}}, true
	case float64:
		return attribute{key, map[string]any{"doubleValue": v}}, true
	case bool:
		return attribute{key, map[string]any{"boolValue": v}}, true
	default:
		return attribute{}, false
	}
}

func (s *span) usage(u *event.Usage) {
	if u == nil {
		return
	}
	for _, told := range []struct {
		key string
		n   int64
	}{
		{"gen_ai.usage.input_tokens", u.TokensIn},
		{"gen_ai.usage.cached_tokens", u.TokensCached},
		{"gen_ai.usage.output_tokens", u.TokensOut},
	} {
		if told.n > 0 {
			s.set(told.key, told.n)
		}
	}
	if u.CostUSD != nil {
		s.set("ralph.cost_usd", *u.CostUSD)
	}
	if u.Unknown {
		s.set("ralph.cost_unknown", true)
	}
}

type spanJSON struct {
	Trace      string      `json:"traceId"`
	ID         string      `json:"spanId"`
	Parent     string      `json:"parentSpanId,omitempty"`
	Name       string      `json:"name"`
	Kind       int         `json:"kind"`
	Start      string      `json:"startTimeUnixNano"`
	End        string      `json:"endTimeUnixNano"`
	Attributes []attribute `json:"attributes,omitempty"`
	Status     statusJSON  `json:"status"`
}

type statusJSON struct {
	Code    int    `json:"code,omitempty"`
	Message string `json:"message,omitempty"`
}

// Numbers of OTLP: a span that is not about another process, and one that failed.
const (
	kindInternal = 1
	statusError  = 2
)

func (s span) json() spanJSON {
	j := spanJSON{
		Trace: s.trace, ID: s.id, Parent: s.parent, Name: s.name, Kind: kindInternal,
		Start: strconv.FormatInt(s.start.UnixNano(), 10), End: strconv.FormatInt(s.end.UnixNano(), 10), Attributes: s.attributes,
	}
	if s.failed {
		j.Status = statusJSON{statusError, strings.ToValidUTF8(s.why, "?")}
	}
	return j
}

// encode is the body of an export.
func encode(resource map[string]string, version string, spans []span) ([]byte, error) {
	list := make([]spanJSON, len(spans))
	for i, s := range spans {
		list[i] = s.json()
	}
	facts := []attribute{}
	for _, key := range slices.Sorted(maps.Keys(resource)) {
		if a, ok := asAttribute(key, resource[key]); ok {
			facts = append(facts, a)
		}
	}
	return json.Marshal(map[string]any{"resourceSpans": []any{map[string]any{
		"resource":   map[string]any{"attributes": facts},
		"scopeSpans": []any{map[string]any{"scope": map[string]any{"name": "ralph", "version": version}, "spans": list}},
	}}})
}
