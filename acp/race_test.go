//go:build race

package acp

// underRace makes the floods of the tests smaller: the detector is ten times
// slower, and what it looks for shows with fewer as well.
const underRace = true
