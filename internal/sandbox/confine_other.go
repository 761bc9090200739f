//go:build !linux

package sandbox

import (
	"errors"
	"io/fs"
	"runtime"

	"ralph/internal/proc"
)

var errSystem = errors.New("processes cannot be confined on " + runtime.GOOS)

// Confine refuses. A profile of Seatbelt could confine on macOS: (deny file-write*), then allow Project, Temp, State, Write and Git with links resolved,
// then deny Protect; (deny file-read*) for Hide, (deny network*) for Offline. It has no overlay and no table of processes, so verifiers could
// not write and the tree would have to be searched. Without the escapes of just sandbox, run on a Mac, it is not worth having.
func Confine([]byte, *proc.Command) error { return errSystem }

func (layout) encode() ([]byte, error) { return nil, errSystem }

func (layout) try() error { return errSystem }

// otherNames is of interest only where there is a sandbox.
func otherNames(fs.FileInfo) bool { return false }
