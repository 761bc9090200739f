package git

import (
	"os"
	"path/filepath"

	"ralph/internal/plain"
	"ralph/internal/proc"
)

// LockError says that git's index is locked by a file that nobody works with any more: nothing can be committed.
type LockError struct {
	File string
	Sure bool // false where ralph cannot see whether somebody does
}

func (e *LockError) Error() string {
	if !e.Sure {
		return e.File + " is there: while it is, nothing can be committed, and if no git is at work, one that was killed left it"
	}
	return e.File + " is there and no git is at work: one that was killed left it, and nothing can be committed while it is there"
}

// Remedy is the command that removes it.
func (e *LockError) Remedy() string { return "rm " + plain.ShellQuote(e.File) }

// LeftLock finds the lock of the index that a git which was killed left in the working tree around dir; nil if there is none. A git that
// waits for an editor or a hook has closed the file, so it counts as at work as long as it lives.
func LeftLock(dir string) *LockError {
	index, top := Index(dir), Top(dir)
	if index == "" {
		return nil
	}
	lock := &LockError{File: index + ".lock"}
	before, err := os.Lstat(lock.File)
	if err != nil {
		return nil //nolint:nilerr // there is none
	}
	if real, err := filepath.EvalSymlinks(top); err == nil {
		top = real
	}
	using, known := proc.Using(lock.File, "git", func(folder string) bool { return Top(folder) == top })
	after, err := os.Lstat(lock.File)
	if using || err != nil || !os.SameFile(before, after) {
		return nil //nolint:nilerr // it was somebody's a moment ago
	}
	lock.Sure = known
	return lock
}
