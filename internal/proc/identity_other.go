//go:build !linux

package proc

import "os"

// Self is the identity of this process.
func Self() (Identity, error) { return Identity{Pid: os.Getpid()}, nil }

// Of is the identity of a running process.
func Of(pid int) (Identity, error) { return Identity{Pid: pid}, nil }

// Liveness is always Unknown here: start times are not read on this system, and
// a pid alone may belong to somebody else by now.
func Liveness(Identity) State { return Unknown }
