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
