package web

import (
	"errors"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/inbox"
)

// verb is a command that may be asked for from outside.
type verb struct {
	name    string // "task reset"
	changes bool
	confirm string // what is asked before it is carried out; empty if nothing is lost by it
	starts  bool   // it runs in a process of its own
}

// verbs lists them all. What is not here can only be typed where the project is.
var verbs = []verb{
	{name: "status"}, {name: "task list"}, {name: "task show"}, {name: "task why"}, {name: "task log"}, {name: "task tree"}, {name: "task graph"}, {name: "task deps list"},
	{name: "task add", changes: true}, {name: "task update", changes: true}, {name: "task block", changes: true}, {name: "task unblock", changes: true},
	{name: "task reset", changes: true, confirm: "The task runs again from the beginning."},
	{name: "pause", changes: true}, {name: "resume", changes: true},
	{name: "stop", changes: true, confirm: "Running agents stop."},
	{name: "inbox list"}, {name: "inbox show"}, {name: "inbox answer", changes: true},
	{name: "run", changes: true, starts: true},
}

// allowed finds the verb of a command line.
func (s *Server) allowed(args []string) (verb, error) {
	for _, v := range verbs {
		words := strings.Fields(v.name)
		if len(args) < len(words) || strings.Join(args[:len(words)], " ") != v.name {
			continue
		}
		if v.changes && s.guard.ReadOnly {
			return v, errors.New("this server is read-only")
		}
		return v, nil
	}
	return verb{}, fmt.Errorf("%s cannot be asked for from here", commandLine(args...))
}

// waiting is how many requests wait for an answer.
func waiting(g *dag.Graph) (int, error) {
	list, err := inbox.Waiting(g)
	return len(list), err
}
