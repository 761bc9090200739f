//go:build !unix

package main

// startWithoutCredentials does nothing: here no program takes the place of another in the same process.
func startWithoutCredentials() error { return nil }

func receiveCredentials() bool { return false }
