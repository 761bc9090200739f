//go:build unix

package fakeagent

import (
	"os"
	"path/filepath"
	"syscall"
)

// alone enters into the ledger that another agent which was given the task is
// still running, or something that it started. The lock on a file of the task's name
// is held until all of them are gone, however they end, so it knows better than
// anybody's database.
func (a *agent) alone(task string) {
	if a.book.dir == "" || a.held[task] != nil {
		return
	}
	f, err := os.OpenFile(filepath.Join(a.book.dir, task+".lock"), os.O_CREATE|os.O_RDWR, 0o600)
	must(err)
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		a.book.add(Entry{Event: "overlap", Session: a.session, Task: task})
	}
	a.held[task] = f
}

func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
