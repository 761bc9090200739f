//go:build !failpoint

package failpoint

// On says that points can be hit in this build.
const On = false

// Hit does nothing in this build.
func Hit(string) {}
