//go:build !linux

package proc

// idle does not exist here: there are no helpers.
type idle struct{}

func startIdle(string) (*idle, error) { return nil, nil }

func (*idle) dismiss() string { return "" }

func needsOwnHelper(Spec) bool { return false }

func launch(spec Spec, _ *idle) (*Process, error) { return Start(spec) }
