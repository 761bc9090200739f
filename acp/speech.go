package acp

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"ralph/sigils"
)

const (
	maxHeld = 1 << 20 // of a turn's text in memory; when there is more, all of it is in a file

	// segmentEnd follows a segment. No text has it: it is no UTF-8, and there is nothing
	// else in what was read from JSON.
	segmentEnd = "\xff"
)

// Speech is the text of a turn. What does not fit into memory is in a file without a name,
// because nothing in it is redacted: it is gone when we are killed.
type Speech struct {
	folder string // for the file; empty means that for temporary files
	buf    []byte // what is not in the file, with the ends of segments
	open   bool   // the last segment has text
	file   *os.File
	err    error // why it could not be kept
}

// write returns why text could not be kept, from then on.
func (s *Speech) write(text string) error {
	s.open = text != segmentEnd && (s.open || text != "")
	if s.buf = append(s.buf, text...); len(s.buf) > maxHeld {
		s.spill()
	}
	return s.err
}

func (s *Speech) cut() {
	if s.open {
		_ = s.write(segmentEnd) // the next text says so
	}
}

func (s *Speech) spill() {
	if s.file == nil && s.err == nil {
		if s.file, s.err = os.CreateTemp(s.folder, "said-*.tmp"); s.err == nil {
			_ = os.Remove(s.file.Name()) // a system that refuses this for an open file allows it in close
		}
	}
	if s.err == nil {
		_, s.err = s.file.Write(s.buf)
	}
	s.buf = s.buf[:0]
}

// segments is the text if it is in memory, and else what it is in.
func (s *Speech) segments() ([]string, *Speech) {
	if s.file != nil || s.err != nil {
		s.spill()
		return nil, s
	}
	if len(s.buf) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(s.buf), segmentEnd), segmentEnd), nil
}

// close removes the file.
func (s *Speech) close() {
	if s != nil && s.file != nil {
		s.file.Close()
		_ = os.Remove(s.file.Name())
	}
}

// Each passes on the text in pieces; begins says that something else came before one. An
// error, which is an *Error, means that there is text which was not passed on.
func (t Turn) Each(fn func(piece string, begins bool)) error {
	for _, segment := range t.Segments {
		fn(segment, true)
	}
	if t.Long == nil {
		return nil
	}
	err := t.Long.err
	piece, begins := make([]byte, 64<<10), true
	for at := int64(0); err == nil; {
		var n int
		n, err = t.Long.file.ReadAt(piece, at)
		at += int64(n)
		for rest := piece[:n]; len(rest) > 0; {
			text, after, cut := bytes.Cut(rest, []byte(segmentEnd))
			if len(text) > 0 {
				fn(string(text), begins)
			}
			begins, rest = cut, after
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return unkept(err)
}

func unkept(err error) *Error {
	return &Error{Kind: Unkept, Op: opPrompt, Text: fmt.Sprintf("more than %d MiB of text: %v", maxHeld>>20, err), Err: err}
}

// Scan looks for sigils in all of the text.
func (t Turn) Scan(s *sigils.Scanner) (sigils.Set, error) {
	err := t.Each(func(piece string, begins bool) {
		if begins {
			s.Break()
		}
		s.Write(piece)
	})
	s.Break()
	return s.Set(), err
}

// maxWhole is how much text is read at once.
const maxWhole = 64 << 20

// Text is the whole message with a line break between its segments. What cannot be read, or
// is too much for memory, is an error: nobody takes a part for the whole.
func (t Turn) Text() (string, error) {
	var b strings.Builder
	err := t.Each(func(piece string, begins bool) {
		if begins && b.Len() > 0 {
			b.WriteByte('\n')
		}
		if b.Len() <= maxWhole {
			b.WriteString(piece)
		}
	})
	if err == nil && b.Len() > maxWhole {
		err = unkept(fmt.Errorf("it is above %d MiB, too much to read at once", maxWhole>>20))
	}
	return b.String(), err
}
