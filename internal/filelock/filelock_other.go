//go:build !unix

// Package filelock cannot keep processes apart here.
package filelock

import "os"

// Take does nothing here.
func Take(*os.File) error { return nil }

// Try does nothing here.
func Try(*os.File) bool { return true }

// Release does nothing here.
func Release(*os.File) {}

// Close gives it back and closes the file. Closing alone gives it back only once no process has the file open, and one that is
// being started has it until it runs its own program.
func Close(f *os.File) error {
	Release(f)
	return f.Close()
}
