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
	text := l.candidate + "\n" + dir
	_, err := l.record.WriteAt([]byte(text), 0)
	return errors.Join(err, l.record.Truncate(int64(len(text))), l.record.Sync())
}

// noted says in which working tree the candidate was landing, "" for none, if it was.
func (l *landing) noted() (dir string, ok bool, err error) {
	text, err := io.ReadAll(io.NewSectionReader(l.record, 0, 1<<20))
	candidate, dir, _ := strings.Cut(string(text), "\n")
	return dir, candidate == l.candidate, err
}

// end lets others land, even if a filter has left a process running that holds the file.
func (l *landing) end() {
	if !l.torn {
		_ = l.record.Truncate(0)
	}
	unlock(l.record)
	l.record.Close()
}
