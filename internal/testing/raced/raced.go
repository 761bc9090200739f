// Package raced says whether the race detector is on, for tests only: everything takes ten times as long then.
package raced

import "testing"

// On says that the race detector is on.
const On = Scale > 1

// Skip leaves out a test that has nothing for the detector to find, and says what it is about instead.
func Skip(t interface{ Skip(why ...any) }, about string) {
	if On {
		t.Skip(about + ", not raced; the plain run does this")
	}
}

// Long leaves out a test that takes long: with -short, as .ci/quick does after an edit, and under the race detector, which finds nothing in it.
func Long(t interface{ Skip(why ...any) }, about string) {
	Skip(t, about)
	if testing.Short() {
		t.Skip(about + ", which takes long; without -short it is done")
	}
}
