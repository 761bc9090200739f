// Package check has the checks that almost every test makes, for tests only.
package check

import (
	"strings"

	"github.com/google/go-cmp/cmp"
)

// TB is what a check needs of a test; rapid's have it too.
type TB interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// OK ends the test if there is an error.
func OK(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Equal compares whole values and shows how they differ.
func Equal(t TB, what string, want, got any, opts ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, opts...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Contains looks for a part of a text.
func Contains(t TB, what, want, got string) {
	t.Helper()
	if !strings.Contains(got, want) {
		t.Errorf("%s: got %s, want %s in it", what, got, want)
	}
}

// That reports what is wrong unless the condition holds.
func That(t TB, holds bool, format string, args ...any) {
	t.Helper()
	if !holds {
		t.Errorf(format, args...)
	}
}

// Err looks for a part of an error's text; without one there must be no error.
func Err(t TB, what, want string, err error) {
	t.Helper()
	if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
		t.Errorf("%s: got the error %v, want %q", what, err, want)
	}
}
