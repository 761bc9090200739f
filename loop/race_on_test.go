//go:build race

package loop

// raced says that the race detector slows everything down.
const raced = true
