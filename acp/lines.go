package acp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest message taken; the SDK's reader ends there too, but
// says only that the peer disconnected.
const maxLine = 10<<20 - 1

var errLineTooLong = errors.New("a message is longer than 10 MiB")

// lines cuts a stream into lines of bounded length.
type lines struct {
	r    *bufio.Reader
	buf  []byte
	last []byte // the last line, with its end
}

func newLines(r io.Reader) *lines {
	return &lines{r: bufio.NewReaderSize(r, 1<<16)}
}

// next is the next line without its end. It is valid until the following call.
// What stands after the last newline is a line too.
func (l *lines) next() ([]byte, error) {
	if cap(l.buf) > 1<<20 {
		l.buf = nil // one long message must not be paid for until the end
	}
	l.buf = l.buf[:0]
	for {
		chunk, err := l.r.ReadSlice('\n')
		if len(l.buf)+len(chunk) > maxLine {
			return nil, errLineTooLong
		}
		switch {
		case err == nil && len(l.buf) == 0:
			l.last = chunk
			return chunk[:len(chunk)-1], nil
		case err == nil:
			l.buf = append(l.buf, chunk...)
			l.last = l.buf
			return l.buf[:len(l.buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			l.buf = append(l.buf, chunk...)
		case errors.Is(err, io.EOF) && len(l.buf)+len(chunk) > 0:
			l.buf = append(append(l.buf, chunk...), '\n')
			l.last = l.buf
			return l.buf[:len(l.buf)-1], nil
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("read from agent: %w", err)
		}
	}
}
