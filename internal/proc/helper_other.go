//go:build !linux

package proc

// RunHelper does nothing on this system: there is no helper.
func RunHelper(Confiner) {}
