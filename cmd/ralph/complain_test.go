package main

import (
	"bytes"
	"testing"

	"ralph/internal/redact"
)

// TestASecretOfSeveralWordsIsHiddenBeforeALineIsBroken: its parts are no longer known.
func TestASecretOfSeveralWordsIsHiddenBeforeALineIsBroken(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	hide := redact.New("correct horse battery staple")
	a := newApp(system{stderr: hide.Whole(&out), errIsTerm: true, errWidth: func() int { return 24 }})
	a.redact = hide
	a.complain("it says correct horse battery staple, and more")
	if want := "it says [redacted], and\n  more\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}
