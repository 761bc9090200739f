package fakeagent

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

// fork starts a process of each kind and waits until each has entered itself in
// the ledger: a child, a child in a session of its own, a daemon forked twice.
// With Ignore they get an environment without ralph's marker.
func (p *play) fork(s Step) {
	for _, kind := range s.Argv {
		again(kind, kind, p.session, s.Ignore, slices.Collect(maps.Values(p.held)))
	}
	for p.book.processes(p.session) < len(s.Argv) {
		time.Sleep(time.Millisecond)
	}
}

// beLeftBehind is the other side of fork.
func beLeftBehind(role string, book ledger) {
	role, rest, _ := strings.Cut(role, " ")
	name, parent, _ := strings.Cut(rest, " ")
	if role == "daemon" {
		again("session", name, parent, false, nil)
		return
	}
	if signal.Ignored(syscall.SIGHUP) { // the parent withstands signals, and so does its family
		signal.Ignore(syscall.SIGTERM)
	}
	book.add(Entry{Event: "process", Name: name, Text: parent})
	forever()
}

// withstand ignores signals, and marks that it was asked to end.
func (a *agent) withstand() {
	signal.Ignore(syscall.SIGHUP, syscall.SIGINT)
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() {
		for range asked {
			a.book.add(Entry{Event: "mark", Session: a.session, Name: "SIGTERM"})
		}
	}()
}

// again starts this program in another role. It is handed the locks, because the task is
// worked on for as long as one of the family lives.
func again(role, name, parent string, clear bool, locks []*os.File) {
	exe, err := os.Executable()
	must(err)
	cmd := exec.Command(exe)
	cmd.Env = os.Environ()
	if clear {
		cmd.Env = slices.DeleteFunc(cmd.Env, func(entry string) bool { return strings.HasPrefix(entry, "RALPH_PROC=") })
	}
	cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%s %s %s", roleEnv, role, name, parent))
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr // held open, as real ones do
	cmd.ExtraFiles = locks
	if role != "child" {
		cmd.SysProcAttr = ownSession()
	}
	must(cmd.Start())
}
