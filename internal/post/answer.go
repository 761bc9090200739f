package post

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"strconv"
	"strings"
	"time"
)

// read reads an answer up to its body.
func (c Client) read(r *bufio.Reader) (Reply, error) {
	for {
		text := textproto.NewReader(r)
		line, err := text.ReadLine()
		if err != nil {
			return Reply{}, fmt.Errorf("read the answer: %w", unexpected(err))
		}
		words := strings.SplitN(line, " ", 3)
		if len(words) < 2 || !strings.HasPrefix(words[0], "HTTP/1.") {
			return Reply{}, errors.New("the answer is no HTTP")
		}
		status, err := strconv.Atoi(words[1])
		if err != nil || status < 100 || status > 999 {
			return Reply{}, errors.New("the answer is no HTTP")
		}
		header, err := text.ReadMIMEHeader()
		if err != nil {
			return Reply{}, fmt.Errorf("read the answer: %w", unexpected(err))
		}
		if status >= 200 {
			return Reply{Status: status, After: c.after(header.Get("Retry-After"))}, nil
		}
	}
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// after reads Retry-After: seconds, or a time.
func (c Client) after(text string) time.Duration {
	if seconds, err := strconv.Atoi(text); err == nil {
		return max(time.Duration(min(seconds, 1<<20))*time.Second, 0)
	}
	at, err := time.Parse(time.RFC1123, text)
	if err != nil {
		return 0
	}
	now := time.Now
	if c.Now != nil {
		now = c.Now
	}
	return max(at.Sub(now()), 0)
}
