// Package bounded reads what others wrote, as far as it is kept in memory: how much, depends on who writes such things.
package bounded

import (
	"fmt"
	"io"
)

// The sizes of what others write. What is larger than its kind was not meant to be read.
const (
	Form = 1 << 20  // what is typed or sent as one request
	Text = 8 << 20  // what people read and write: a document, a page, a source file
	Data = 64 << 20 // what programs write: a report, an answer, the output of a gate
)

// TooLarge is an error that says how much is read.
type TooLarge int64

func (t TooLarge) Error() string {
	if t >= 1<<20 {
		return fmt.Sprintf("it has more than %d MiB", t>>20)
	}
	return fmt.Sprintf("it has more than %d bytes", t)
}

// Read reads to the end, and is TooLarge beyond a size.
func Read(r io.Reader, size int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, size+1))
	if err == nil && int64(len(data)) > size {
		err = TooLarge(size)
	}
	return data, err
}
