// Package fakeagent is an ACP agent that plays a script; tests only. It writes
// the wire format itself, not through the SDK, so that it can break every rule
// of it, and it keeps a ledger of what it was asked, which tests check. It
// never calls a model and is never part of the released program's behaviour.
//
// A test binary becomes the agent by calling Main, typically when TestMain sees
// an environment variable. The script is JSON, given in FAKEAGENT_SCRIPT itself
// or as the path of a file; without one every task is done and every
// verification passes. The ledger is a folder named by FAKEAGENT_LEDGER.
//
//	{"conversations": [
//	  {"when": {"verify": true}, "steps": [{"do": "say", "text": "<verify-pass/>\n"}]},
//	  {"when": {"attempt": 1},   "steps": [{"do": "hang"}]},
//	  {"steps": [{"do": "write", "path": "a.txt", "text": "x"},
//	             {"do": "say", "text": "<task-done>{{task}}</task-done>\n", "chunk": 5}]}
//	]}
package fakeagent

import (
	"crypto/rand"
	"io"
	"os"
	"sync"
)

// Variables that make and drive a fake agent.
const (
	ScriptEnv = "FAKEAGENT_SCRIPT"
	LedgerEnv = "FAKEAGENT_LEDGER"
	roleEnv   = "FAKEAGENT_ROLE"
)

// Main is the agent: it serves stdin until it closes and never returns before.
func Main() {
	book := ledger{dir: os.Getenv(LedgerEnv)}
	if book.dir != "" {
		book.dir = above(book.dir)
	}
	if role := os.Getenv(roleEnv); role != "" {
		beLeftBehind(role, book)
		return
	}
	script, err := loadScript(os.Getenv(ScriptEnv))
	must(err)
	a := &agent{
		script:  script,
		book:    book,
		wire:    newWire(os.Stdin, os.Stdout),
		session: "fake-" + rand.Text()[:8], // a pid is not its own: each has its own namespace in a sandbox,
		held:    map[string]*os.File{},
		cancels: make(chan struct{}),
		deaf:    make(chan struct{}),
	}
	if script.KeepRunning {
		a.withstand()
	}
	book.add(Entry{Event: "started", Session: a.session, Env: ralphEnv()})
	a.at("start")
	a.serve()
	if script.KeepRunning {
		forever()
	}
}

// agent is one process with one session.
type agent struct {
	script  Script
	book    ledger
	wire    *wire
	session string
	current map[string]string // the model and the mode of the session
	authed  bool
	cwd     string
	servers []server // of the session, those that are commands

	held map[string]*os.File // by task, for as long as this process lives

	mu      sync.Mutex
	prompts int
	cancels chan struct{} // closed when the running prompt is cancelled
	deaf    chan struct{} // closed when nothing more is to be read
}

// serve answers until stdin closes. Prompts run beside it, so that a cancel is
// heard; an unfinished one dies with the process.
func (a *agent) serve() {
	for {
		select {
		case <-a.deaf:
			forever()
		default:
		}
		m, err := a.wire.read()
		if err != nil {
			return
		}
		a.handle(m)
	}
}

// forever waits without the runtime calling it a deadlock.
func forever() {
	r, _, err := os.Pipe()
	must(err)
	_, _ = io.Copy(io.Discard, r)
}
