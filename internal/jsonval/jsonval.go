// Package jsonval makes values as docs/json.md promises them: null for what is not there, never
// an empty text, and lists that are never null.
package jsonval

import "time"

// Text is nil for an empty text.
func Text[S ~string](s S) *string {
	if s == "" {
		return nil
	}
	text := string(s)
	return &text
}

// Time is nil for the zero time, and else RFC 3339 in UTC.
func Time(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(time.RFC3339)
	return &text
}

// List is the list, or an empty one for nil.
func List[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
