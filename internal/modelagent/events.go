package modelagent

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"ralph/internal/bounded"
)

// events reads an answer that is a stream of events, each a line of JSON, until read says that one is the last. Where
// the stream ends before that it returns io.EOF, and for an error that the server reports in it a *Failure.
func (w *wire) events(body io.Reader, read func(event []byte) (last bool, err error)) error {
	begin := bufio.NewReader(body)
	if first, err := begin.Peek(1); err == nil && first[0] == '{' {
		return w.whole(begin, read)
	}
	lines := bufio.NewScanner(begin)
	lines.Buffer(nil, maxText)
	lines.Split(wholeLines)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(bytes.TrimSpace(lines.Bytes()), []byte("data:"))
		var e struct{ Error any }
		switch data = bytes.TrimSpace(data); {
		case !ok, len(data) == 0, !bytes.HasSuffix(lines.Bytes(), []byte("\n")) && !json.Valid(data): // a comment, or cut off
		case string(data) == "[DONE]":
			return io.EOF
		case !json.Valid(data), json.Unmarshal(data, &e) == nil && e.Error != nil:
			return w.failure(0, nil, data)
		default:
			if last, err := read(data); last || err != nil {
				return err
			}
		}
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return endless()
	}
	return cmp.Or(lines.Err(), io.EOF)
}

// whole reads an answer of a server that does not stream. It is an error that came with the wrong status, or one large event.
func (w *wire) whole(body io.Reader, read func(event []byte) (last bool, err error)) error {
	data, err := bounded.Read(body, maxText)
	var e struct{ Error any }
	switch {
	case errors.As(err, new(bounded.TooLarge)):
		return endless()
	case err != nil:
		return err
	case json.Unmarshal(data, &e) == nil && e.Error != nil:
		return w.failure(http.StatusOK, nil, data)
	}
	if last, err := read(data); last || err != nil {
		return err
	}
	return &Failure{Kind: Bad, Text: fmt.Sprintf("%s answers with something that is no answer of a model; check %s", w.place(), w.base)}
}

// wholeLines splits at the ends of lines and keeps them: a line without one was cut off.
func wholeLines(data []byte, atEOF bool) (advance int, line []byte, err error) {
	n := bytes.IndexByte(data, '\n') + 1
	switch {
	case n > 0:
		return n, data[:n], nil
	case atEOF && len(data) > 0:
		return len(data), data, nil
	}
	return 0, nil, nil
}

func endless() error { return &Failure{Kind: Bad, Text: "the answer is longer than 4 MB"} }
