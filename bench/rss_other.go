//go:build !linux

package main

const canMeasureRSS = false

// maxRSS is only known on Linux.
func maxRSS([]string) (int64, error) { return 0, nil }
