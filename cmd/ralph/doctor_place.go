package main

import (
	"context"
	"fmt"
	"os"

	"ralph/internal/git"
	"ralph/internal/human"
)

// examineGit says whether it can be judged what agents change.
func (a *app) examineGit(ctx context.Context, s *session) finding {
	const unjudged = ": it cannot be judged whether an agent changed anything"
	version, err := git.Version(ctx)
	if err != nil {
		return found("git", levelWarning, "not found"+unjudged, "install git")
	}
	state := git.Look(ctx, s.project.Root)
	switch {
	case state.Known && state.Head == "":
		return found("git", levelOK, version+"; a repository without a commit yet", "")
	case state.Known:
		text := version + "; a repository"
		if state.Branch != "" {
			text += " on " + state.Branch
		}
		return found("git", levelOK, text, "")
	case len(git.Find(s.project.Root).Folders) > 0:
		return found("git", levelWarning, version+"; it cannot read the repository"+unjudged, "see what it says: git status")
	}
	return found("git", levelWarning, version+"; the project is in no repository"+unjudged, `git init && git add -A && git commit -m "begin"`)
}

// little is when people are told that space runs out: a build can take so much.
const little = 1 << 30

// examineDisk looks at the file systems that runs fill.
func examineDisk(s *session) finding {
	var free [2]int64
	var scarce []string
	for i, dir := range []string{s.project.Root, os.TempDir()} {
		var err error
		if free[i], err = freeSpace(dir); err != nil {
			return found("disk", levelWarning, fmt.Sprintf("it is not known how much is free in %s: %v", dir, err), "")
		}
		if free[i] < little {
			scarce = append(scarce, fmt.Sprintf("%s are left in %s", human.Bytes(free[i]), dir))
		}
	}
	text := fmt.Sprintf("%s free for the project, %s for temporary files", human.Bytes(free[0]), human.Bytes(free[1]))
	if len(scarce) > 0 {
		return found("disk", levelWarning, text, "free some space; what old runs have left goes with: ralph gc --older-than 30d", scarce...)
	}
	return found("disk", levelOK, text, "")
}
