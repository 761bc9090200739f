package jsonval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"time"
)

// Stamp is a time that is written as Time does.
type Stamp struct{ time.Time }

// MarshalJSON writes the time.
func (s Stamp) MarshalJSON() ([]byte, error) { return Marshal(Time(s.Time)) }

// NullString is a string that is written as Text does.
type NullString string

// MarshalJSON writes the text.
func (s NullString) MarshalJSON() ([]byte, error) { return Marshal(Text(s)) }

// Object is pairs of keys, which need no escaping, and values, written in their order: a time as Time does, a duration in
// milliseconds, and a list that is nil as an empty one.
type Object []any

// MarshalJSON writes the object.
func (o Object) MarshalJSON() ([]byte, error) {
	b := bytes.NewBufferString("{")
	enc := Encoder(b)
	for pair := range slices.Chunk(o, 2) {
		value := pair[1]
		switch v := value.(type) {
		case NullString:
			value = Text(v)
		case time.Time:
			value = Time(v)
		case time.Duration:
			value = v.Milliseconds()
		default:
			if is := reflect.ValueOf(v); is.Kind() == reflect.Slice && is.IsNil() {
				value = []any{}
			}
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + pair[0].(string) + `":`)
		if err := enc.Encode(value); err != nil {
			return nil, fmt.Errorf("%v: %w", pair[0], err)
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Marshal leaves <, > and & as they are; an encoder around it can still escape them.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	err := Encoder(&b).Encode(v)
	return b.Bytes(), err
}

// Encoder writes to w as Marshal does.
func Encoder(w io.Writer) *json.Encoder {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc
}

// Print writes a value over several lines, as commands do.
func Print(w io.Writer, v any) error {
	enc := Encoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
