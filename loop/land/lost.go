package land

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
)

// LostWork is work by which tasks are done, and which the branch that it landed on does not have.
type LostWork struct {
	Target  string   `json:"target"`
	Tasks   []string `json:"tasks"`
	Commits []string `json:"commits"` // one for each task, in the order in which they landed
	Here    bool     `json:"here"`    // git has these commits
	Help    string   `json:"help"`    // what to type
}

// String is a line for people.
func (l LostWork) String() string {
	what, branch := "not in this repository", human.Branch(l.Target)
	if l.Here {
		what = "not on " + branch + " any more"
	}
	return fmt.Sprintf("done, and %s: %s, landed on %s; %s", what, strings.Join(l.Tasks, ", "), branch, l.Help)
}

// Lost finds the work that this repository lacks, or that a branch lost when it was rewritten or deleted. Known is how many tasks
// are done by commits. The error is merge.ErrShallow or git.ErrUnknown where nobody can know.
func Lost(ctx context.Context, store *dag.Store, root string) (lost []LostWork, known int, err error) {
	var landed []dag.Merge
	since := ""
	err = store.View(ctx, func(g *dag.Graph) (err error) { landed, since, err = g.Queue.Landings(); return err })
	if err != nil || len(landed) == 0 {
		return nil, 0, err
	}
	repo, err := git.OpenRepo(ctx, root)
	if err != nil {
		return nil, len(landed), err
	}
	works, targets := map[string]map[string]merge.Message{}, []string{} // by target and commit
	for _, m := range landed {
		if works[m.Target] == nil {
			works[m.Target], targets = map[string]merge.Message{}, append(targets, m.Target)
		}
		works[m.Target][m.Candidate] = merge.Message{Task: m.Task, Patch: m.Patch}
	}
	for _, target := range targets {
		commits, err := merge.Lost(ctx, repo, target, since, works[target])
		if err != nil {
			return nil, len(landed), err
		}
		if len(commits) == 0 {
			continue
		}
		here, err := merge.Existing(ctx, repo, commits)
		if err != nil {
			return nil, len(landed), err
		}
		tip, err := repo.Commit(ctx, target)
		if err != nil {
			return nil, len(landed), err
		}
		for _, is := range []bool{false, true} {
			l := LostWork{Target: target, Here: is}
			for _, m := range landed {
				if m.Target == target && slices.Contains(commits, m.Candidate) && slices.Contains(here, m.Candidate) == is {
					l.Tasks, l.Commits = append(l.Tasks, m.Task), append(l.Commits, m.Candidate)
				}
			}
			if len(l.Tasks) > 0 {
				l.Help = l.help(git.Typed(root), tip != "")
				lost = append(lost, l)
			}
		}
	}
	return lost, len(landed), nil
}

// help is what to type, where the branch exists or not.
func (l LostWork) help(git string, exists bool) string {
	branch, again := human.Branch(l.Target), "ralph task reset "+strings.Join(l.Tasks, " ")
	if !l.Here && (git != "git" || human.IsFolder(l.Target)) { // no other repository has it
		return "have it done again: " + again
	}
	bring := git + " switch " + branch + " && " + git + " cherry-pick " + strings.Join(l.Commits, " ")
	switch {
	case !l.Here:
		bring = git + " pull URL " + branch + ", with the URL of the repository in which it landed"
	case !exists:
		bring = git + " branch " + branch + " " + l.Commits[len(l.Commits)-1]
	}
	return "bring it back: " + bring + "; or have it done again: " + again
}
