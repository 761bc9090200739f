//go:build !linux && !darwin && !windows

package doctor

import "errors"

func freeSpace(string) (int64, error) { return 0, errors.New("not supported on this system") }
