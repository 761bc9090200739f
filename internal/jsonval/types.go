package jsonval

import (
	"bytes"
	"encoding/json"
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

// Marshal leaves <, > and & as they are; an encoder around it can still escape them.
func Marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return b.Bytes(), err
}
