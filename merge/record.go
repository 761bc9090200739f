package merge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// begin waits until nobody moves the target. The file that is locked for that is held by the
// git process too, so that it tells of one that has outlived its ralph. It says which
// candidate is landing where, which is what Unfinish may touch.
func (l *landing) begin(ctx context.Context) error {
	dir := filepath.Join(l.repo.Common(), "ralph")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	name := fmt.Sprintf("landing-%.8x", sha256.Sum256([]byte(l.target))) // which may be longer than a file name
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	locked := make(chan error, 1)
	go func() { locked <- lock(f) }()
	select {
	case err = <-locked:
	case <-ctx.Done():
		go func() { <-locked; f.Close() }()
		return context.Cause(ctx)
	}
	if err != nil {
		f.Close()
		return err
	}
	l.record = f
	return nil
}

// note is on disk before anything is moved, so that a power cut cannot undo it alone.
func (l *landing) note(dir string) error {
	text := l.onto + "\n" + l.candidate + "\n" + dir
	_, err := l.record.WriteAt([]byte(text), 0)
	return errors.Join(err, l.record.Truncate(int64(len(text))), l.record.Sync())
}

// noted is the landing that was noted last and not ended, and its working tree, if any.
func (l *landing) noted() (last landing, dir string, err error) {
	text, err := io.ReadAll(io.NewSectionReader(l.record, 0, 1<<20))
	part := strings.SplitN(string(text), "\n", 3)
	if len(part) == 3 {
		last, dir = *l, part[2]
		last.onto, last.candidate = part[0], part[1]
	}
	return last, dir, err
}

// heal takes back what an earlier landing left.
func (l *landing) heal(ctx context.Context) error {
	last, _, err := l.noted()
	if err == nil && last.candidate != "" {
		_, _, err = last.unfinish(ctx)
	}
	return err
}

// end lets others land, even if a filter has left a process running that holds the file.
func (l *landing) end() {
	if !l.torn {
		_ = l.record.Truncate(0)
	}
	unlock(l.record)
	l.record.Close()
}
