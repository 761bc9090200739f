package plansync

import (
	"context"
	"path/filepath"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/project"
	"ralph/internal/taskfile"
)

// OpenInHead lists the tasks that are still to be done in the plans of these features, as HEAD has them. A plan that HEAD lacks, or
// that cannot be read, lists none.
func OpenInHead(ctx context.Context, p project.Project, features []string) (list []string) {
	repo, err := git.OpenRepo(ctx, p.Root)
	if err != nil {
		return nil
	}
	for _, feature := range features {
		name, err := filepath.Rel(repo.Dir(), Path(p, feature))
		if err != nil {
			continue
		}
		text, err := repo.Git(ctx, git.Call{Own: repo.Own()}, "cat-file", "blob", "HEAD:"+filepath.ToSlash(name))
		if err != nil {
			continue
		}
		plan, err := taskfile.ParseFile([]byte(text))
		for _, s := range plan.Specs() {
			if err == nil && s.Status != dag.Done && s.Status != dag.Cancelled {
				list = append(list, s.Ref)
			}
		}
	}
	return list
}
