package merge

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/filelock"
	"ralph/internal/git"
)

// begin waits until nobody moves the target. The file that is locked for that is held by the
// git process too, so that it tells of one that has outlived its ralph. It says which candidate
// is landing where: last is the landing that did not end, if there is one.
func (l *landing) begin(ctx context.Context) (last *landing, err error) {
	name := fmt.Sprintf("landing-%.8x", sha256.Sum256([]byte(l.target))) // which may be longer than a file name
	if l.record, err = Lock(ctx, l.repo, name); err != nil {
		return nil, err
	}
	last = &landing{repo: l.repo, target: l.target, record: l.record}
	text, err := io.ReadAll(io.NewSectionReader(l.record, 0, 1<<20))
	if part := strings.SplitN(string(text), "\n", 3); err == nil && len(part) == 3 {
		var list []git.Worktree
		list, err = l.repo.Worktrees(ctx)
		last.onto, last.candidate = part[0], part[1]
		if i := slices.IndexFunc(list, func(w git.Worktree) bool { return w.Dir == part[2] }); i >= 0 {
			last.tree = list[i]
		}
	}
	if err != nil {
		l.end()
	}
	return last, err
}

// Lock waits until nobody else has the lock of this name in the repository, and has it until the file is closed.
// Every process that inherits the file has it, too.
func Lock(ctx context.Context, r *git.Repo, name string) (*os.File, error) {
	f, err := openLock(r, name)
	if err != nil {
		return nil, err
	}
	locked := make(chan error, 1)
	go func() { locked <- filelock.Take(f) }()
	select {
	case err = <-locked:
	case <-ctx.Done():
		go func() { <-locked; f.Close() }()
		return nil, context.Cause(ctx)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// TryLock is Lock, but does not wait: without the lock it returns nil.
func TryLock(r *git.Repo, name string) (*os.File, error) {
	f, err := openLock(r, name)
	if err != nil {
		return nil, err
	}
	if !filelock.Try(f) {
		f.Close()
		return nil, nil
	}
	return f, nil
}

func openLock(r *git.Repo, name string) (*os.File, error) {
	dir := filepath.Join(r.Common(), "ralph")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	return os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE, 0o600)
}

// note is on disk before anything is moved, so that a power cut cannot undo it alone.
func (l *landing) note() error {
	text := l.onto + "\n" + l.candidate + "\n" + l.tree.Dir
	_, err := l.record.WriteAt([]byte(text), 0)
	return errors.Join(err, l.record.Truncate(int64(len(text))), l.record.Sync())
}

// forget says that nothing is left of the landing.
func (l *landing) forget() { _ = l.record.Truncate(0) }

// end lets others land, even if a filter has left a process running that holds the file.
func (l *landing) end() {
	l.removeCopy()
	filelock.Release(l.record)
	l.record.Close()
}
