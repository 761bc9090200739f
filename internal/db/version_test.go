package db_test

import (
	"testing"

	"ralph/internal/db"
)

func TestVersionChangesWhenAnotherHandleWrites(t *testing.T) {
	t.Parallel()
	path := newPath(t)
	mine, other := open(t, path, db.Options{}), open(t, path, db.Options{})
	version := func() int64 {
		t.Helper()
		v, err := mine.Version(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	before := version()
	if got := version(); got != before {
		t.Errorf("got %d after %d, though nothing was written", got, before)
	}
	if err := addFeature(t.Context(), other, "f-1"); err != nil {
		t.Fatal(err)
	}
	after := version()
	if after == before {
		t.Error("a write of another handle is not seen")
	}
	if err := addFeature(t.Context(), mine, "f-2"); err != nil {
		t.Fatal(err)
	}
	if got := version(); got != after {
		t.Errorf("got %d, want %d: what this handle writes does not count", got, after)
	}
}
