package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/merge"
)

// Landed says whether the work of tasks that are done is still where it landed. Somebody may have
// rewritten the branch.
func (p Project) Landed(ctx context.Context) []Finding {
	const check = "landed work"
	if p.Store == nil {
		return nil
	}
	last := map[string]dag.Merge{} // by task
	err := p.Store.View(ctx, func(g *dag.Graph) error {
		landed, err := g.MergesIn(dag.MergeLanded)
		for _, m := range landed {
			if t, err := g.Task(m.Task); err == nil && t.Status == dag.Done && m.Candidate != m.Onto { // it changed something
				last[m.Task] = m
			}
		}
		return err
	})
	if err == nil && len(last) == 0 {
		return nil
	}
	var lost []string
	if err == nil {
		lost, err = p.lost(ctx, last)
	}
	switch {
	case err != nil:
		return []Finding{New(check, Warning, "cannot be looked for: "+err.Error(), "")}
	case len(lost) > 0:
		return []Finding{New(check, Warning, fmt.Sprintf("the work of %s is not on its branch any more", human.Count(len(lost), "task")),
			"bring it back: git cherry-pick COMMIT; or have it done again: ralph task reset TASK", lost...)}
	}
	return []Finding{New(check, OK, human.Count(len(last), "task")+" on their branches", "")}
}

func (p Project) lost(ctx context.Context, last map[string]dag.Merge) (list []string, err error) {
	repo, err := git.OpenRepo(ctx, p.Root)
	if err != nil {
		return nil, err
	}
	type branch struct {
		first   dag.Merge
		patches map[string]string // by commit
	}
	branches := map[string]branch{}
	for _, m := range last {
		b, known := branches[m.Target]
		if !known {
			b = branch{m, map[string]string{}}
		}
		if m.N < b.first.N {
			b.first = m
		}
		b.patches[m.Candidate] = m.Patch
		branches[m.Target] = b
	}
	var lost []string
	for target, b := range branches {
		commits, err := merge.Lost(ctx, repo, target, b.first.Onto, b.patches)
		if err != nil {
			return nil, err
		}
		lost = append(lost, commits...)
	}
	for _, m := range last {
		if slices.Contains(lost, m.Candidate) {
			list = append(list, fmt.Sprintf("%s: %.10s is not on %s", m.Task, m.Candidate, strings.TrimPrefix(m.Target, "refs/heads/")))
		}
	}
	slices.Sort(list)
	return list, nil
}
