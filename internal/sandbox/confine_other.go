//go:build !linux

package sandbox

import (
	"errors"
	"io/fs"
	"runtime"

	"ralph/internal/proc"
)

var errSystem = errors.New("processes cannot be confined on " + runtime.GOOS)

// Confine refuses: there is no way to confine a process on this system.
func Confine([]byte, *proc.Command) error { return errSystem }

func (layout) encode() ([]byte, error) { return nil, errSystem }

func (layout) try() error { return errSystem }

// otherNames is of interest only where there is a sandbox.
func otherNames(fs.FileInfo) bool { return false }
