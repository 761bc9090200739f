//go:build !linux

package sandbox

import (
	"errors"
	"runtime"

	"ralph/internal/proc"
)

var errSystem = errors.New("processes cannot be confined on " + runtime.GOOS)

// Confine refuses: there is no way to confine a process on this system.
func Confine([]byte, *proc.Command) error { return errSystem }

func (layout) encode(Level) ([]byte, error) { return nil, errSystem }

func (layout) try() error { return errSystem }
