package telemetry

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"math"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// message is a message of OTLP, as opentelemetry-proto numbers and names what is in it.
type message []field

// field has a value whose type says how protobuf and OTLP's JSON write it:
//
//	string, bool, float64   as both do by default
//	[]byte                  an ID: bytes, hexadecimal in JSON
//	int64                   a varint, text in JSON
//	uint64                  fixed64, text in JSON
//	uint32                  fixed32
//	int                     an enumeration: a varint, a number in JSON
//	message, []message      as they are
type field struct {
	number uint64
	name   string
	value  any
}

func (m message) protobuf() []byte {
	var b []byte
	for _, f := range m {
		varint := func(v uint64) { b = binary.AppendUvarint(binary.AppendUvarint(b, f.number<<3), v) }
		sized := func(v []byte) {
			b = append(binary.AppendUvarint(binary.AppendUvarint(b, f.number<<3|2), uint64(len(v))), v...)
		}
		fixed64 := func(v uint64) { b = binary.LittleEndian.AppendUint64(binary.AppendUvarint(b, f.number<<3|1), v) }
		switch v := f.value.(type) {
		case string:
			sized([]byte(v))
		case []byte:
			sized(v)
		case bool:
			varint(map[bool]uint64{true: 1}[v])
		case int:
			varint(uint64(v))
		case int64:
			varint(uint64(v))
		case uint32:
			b = binary.LittleEndian.AppendUint32(binary.AppendUvarint(b, f.number<<3|5), v)
		case uint64:
			fixed64(v)
		case float64:
			fixed64(math.Float64bits(v))
		case message:
			sized(v.protobuf())
		case []message:
			for _, one := range v {
				sized(one.protobuf())
			}
		}
	}
	return b
}

// protobufField finds a field of a message: a varint, or what has a size. It is 0 and nothing if there is none.
func protobufField(data []byte, number uint64) (varint uint64, sized []byte) {
	for len(data) > 0 {
		tag, n := binary.Uvarint(data)
		value, m := binary.Uvarint(data[max(n, 0):])
		if n <= 0 || m <= 0 {
			break
		}
		data, sized = data[n+m:], nil
		switch wire := tag & 7; {
		case wire == 2 && value <= uint64(len(data)):
			sized, data = data[:value], data[value:]
		case wire != 0:
			return 0, nil
		}
		if tag>>3 == number {
			return value, sized
		}
	}
	return 0, nil
}

// MarshalJSON writes OTLP's JSON.
func (m message) MarshalJSON() ([]byte, error) {
	fields := make(map[string]any, len(m))
	for _, f := range m {
		switch v := f.value.(type) {
		case []byte:
			fields[f.name] = hex.EncodeToString(v)
		case int64:
			fields[f.name] = strconv.FormatInt(v, 10)
		case uint64:
			fields[f.name] = strconv.FormatUint(v, 10)
		default:
			fields[f.name] = v
		}
	}
	return json.Marshal(fields)
}

// exportRequest is what a collector is sent. All spans are of one tracer.
func exportRequest(spans []sdktrace.ReadOnlySpan) message {
	list := make([]message, len(spans))
	for i, s := range spans {
		list[i] = spanMessage(s)
	}
	scope := spans[0].InstrumentationScope()
	return message{{1, "resourceSpans", []message{{
		{1, "resource", message{{1, "attributes", attributeMessages(spans[0].Resource().Attributes())}}},
		{2, "scopeSpans", []message{{
			{1, "scope", message{{1, "name", scope.Name}, {2, "version", scope.Version}}},
			{2, "spans", list},
		}}},
	}}}}
}

func spanMessage(s sdktrace.ReadOnlySpan) message {
	// Of the flags, the first eight bits are W3C's; then come that the next one is meant, and that the parent is of another process.
	const knowsParent, remoteParent = 1 << 8, 1 << 9
	trace, id, flags := s.SpanContext().TraceID(), s.SpanContext().SpanID(), uint32(s.SpanContext().TraceFlags())|knowsParent
	if s.Parent().IsRemote() {
		flags |= remoteParent
	}
	m := message{
		{1, "traceId", trace[:]},
		{2, "spanId", id[:]},
		{5, "name", s.Name()},
		{6, "kind", int(s.SpanKind())},
		{7, "startTimeUnixNano", uint64(max(0, s.StartTime().UnixNano()))},
		{8, "endTimeUnixNano", uint64(max(0, s.EndTime().UnixNano()))},
		{9, "attributes", attributeMessages(s.Attributes())},
		{16, "flags", flags},
	}
	if parent := s.Parent().SpanID(); parent.IsValid() {
		m = append(m, field{4, "parentSpanId", parent[:]})
	}
	if status := s.Status(); status.Code == codes.Error {
		const failed = 2
		m = append(m, field{15, "status", message{{2, "message", status.Description}, {3, "code", failed}}})
	}
	return m
}

func attributeMessages(attributes []attribute.KeyValue) []message {
	list := make([]message, len(attributes))
	for i, a := range attributes {
		value := field{1, "stringValue", a.Value.String()}
		switch a.Value.Type() {
		case attribute.BOOL:
			value = field{2, "boolValue", a.Value.AsBool()}
		case attribute.INT64:
			value = field{3, "intValue", a.Value.AsInt64()}
		case attribute.FLOAT64:
			value = field{4, "doubleValue", a.Value.AsFloat64()}
		}
		list[i] = message{{1, "key", string(a.Key)}, {2, "value", message{value}}}
	}
	return list
}
