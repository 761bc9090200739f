//go:build !linux

package proc

// Using cannot tell here.
func Using(string, string, func(folder string) bool) (using, known bool) { return false, false }
