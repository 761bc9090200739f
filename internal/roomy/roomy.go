// Package roomy gives the first goroutine, which carries out commands, the stack that SQLite needs, before other packages are initialised.
// The stack would be copied there four times, and each copy looks up in the program where the pointers of every frame are, which
// maps up to 2 MB of tables. The package imports nothing, so that the program begins with it.
package roomy

const most = 48 << 10 // of it a command uses between 32 and 64 KiB, and a stack grows to a power of two

func init() { grow() }

//go:noinline
func grow() byte {
	var frame [most]byte
	return last(&frame)
}

//go:noinline
func last(frame *[most]byte) byte { return frame[most-1] }
