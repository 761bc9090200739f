package jsonval

import (
	"strings"
	"testing"
	"time"

	"ralph/internal/testing/check"
)

// TestAnObjectKeepsItsOrder and writes null for what is absent, but never for a list.
func TestAnObjectKeepsItsOrder(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6, time.FixedZone("", 3600))
	got, err := Object{
		"id", "<a>", "tags", []string(nil), "took_ms", time.Second, "claimed_by", NullString(""), "owner", NullString("b"), "at", at, "never", time.Time{},
	}.MarshalJSON()
	check.OK(t, err)
	const want = `{"id":"<a>","tags":[],"took_ms":1000,"claimed_by":null,"owner":"b","at":"2026-01-02T02:04:05Z","never":null}`
	check.Equal(t, "object", want, strings.ReplaceAll(string(got), "\n", ""))
}
