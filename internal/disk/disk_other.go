//go:build !linux && !darwin && !windows

package disk

import "errors"

// Of is the space of the file system that dir is on.
func Of(string) (Space, error) { return Space{}, errors.New("not supported on this system") }
