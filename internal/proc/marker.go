package proc

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"strings"
)

// MarkerEnv is the variable every started process carries; its value is
// Spec.Owner, a slash and a token of that one process. Sweep looks for it.
const MarkerEnv = "RALPH_PROC"

func newMarker(owner string) string {
	var token [8]byte
	rand.Read(token[:])
	return ownerName(owner) + "/" + hex.EncodeToString(token[:])
}

func ownerName(owner string) string { return cmp.Or(owner, "-") }

// withMarker is env with the marker in it, and no marker of an outer ralph. Of
// a variable given twice the last counts, as everywhere in Go; other programs
// would take the first.
func withMarker(env []string, marker string) []string {
	out := make([]string, 0, len(env)+1)
	place := make(map[string]int, len(env)+1)
	for _, entry := range append(env[:len(env):len(env)], MarkerEnv+"="+marker) {
		name, _, ok := strings.Cut(entry, "=")
		if !ok || strings.ContainsRune(entry, 0) {
			continue
		}
		if i, ok := place[name]; ok {
			out[i] = entry
			continue
		}
		place[name] = len(out)
		out = append(out, entry)
	}
	return out
}
