//go:build unix

package main

import (
	"syscall"
	"time"
)

// cpuTime is what this process has used of the processor. Unlike the clock it
// hardly depends on what else runs.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
