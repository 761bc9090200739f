package main

import (
	"context"
	"fmt"
	"path/filepath"

	"ralph/features"
	"ralph/internal/git"
	"ralph/internal/human"
)

// examineLeftovers tells of what was left lying about, a finding a kind, each with the
// command that deals with it.
func (a *app) examineLeftovers(ctx context.Context, s *session) []finding {
	const check = "leftovers"
	var list []finding
	if saved := rescued(s.project.Root); len(saved) > 0 {
		list = append(list, found(check, levelWarning, "a database that went away under a run is saved in "+filepath.Base(saved[0]),
			"put it back with: "+a.putBack(saved[0])+"; or remove it: rm "+filepath.Base(saved[0]), saved[1:]...))
	}
	for _, st := range stagedSteps(s.project) {
		what, again := "tasks", "ralph task create"
		if st.feature != "" {
			what, again = "feature "+st.feature, "ralph feature create "+st.feature
		}
		if features.Busy(st.path) {
			list = append(list, found(check, levelOK, fmt.Sprintf("planning of %s is under way: %s", what, st.step), ""))
			continue
		}
		list = append(list, found(check, levelWarning, fmt.Sprintf("planning of %s was begun and not ended: %s, %s ago", what, st.step, human.Span(a.now().Sub(st.touched))),
			"go on with: "+again+"; or forget it, when it is a week old: ralph gc --older-than 7d"))
	}
	if temps := a.temporaries(s.project); len(temps) > 0 {
		var paths []string
		for _, t := range temps {
			paths = append(paths, t.path)
		}
		list = append(list, found(check, levelWarning, fmt.Sprintf("%s of processes that were killed: %s", human.Count(len(temps), "temporary file"), human.Bytes(sumBytes(temps))),
			"ralph gc --older-than 90d", paths...))
	}
	for _, stash := range git.Stashes(ctx, s.project.Root, "ralph: ") {
		list = append(list, found(check, levelWarning, fmt.Sprintf("git has a stash of ours: %s", stash.Message),
			fmt.Sprintf("take it back with: git stash pop '%s'; or forget it: git stash drop '%s'", stash.Name, stash.Name)))
	}
	if len(list) == 0 {
		return []finding{found(check, levelOK, "none", "")}
	}
	return list
}
