//go:build !linux

package cli

// DiscardTyped does nothing: here what was typed ahead is an answer.
func DiscardTyped(*App) {}
