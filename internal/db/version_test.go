package db_test

import (
	"testing"

	"ralph/internal/db"
	"ralph/internal/testing/check"
)

func TestVersionChangesWhenAnotherHandleWrites(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	mine, other := open(t, path, db.Options{}), open(t, path, db.Options{})
	version := func() int64 {
		t.Helper()
		v, err := mine.Version(t.Context())
		check.OK(t, err)
		return v
	}
	before := version()
	if got := version(); got != before {
		t.Errorf("got %d after %d, though nothing was written", got, before)
	}
	check.OK(t, addFeature(t.Context(), other, "f-1"))
	after := version()
	if after == before {
		t.Error("a write of another handle is not seen")
	}
	check.OK(t, addFeature(t.Context(), mine, "f-2"))
	if got := version(); got != after {
		t.Errorf("got %d, want %d: what this handle writes does not count", got, after)
	}
}
