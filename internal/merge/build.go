package merge

import (
	"context"

	"ralph/internal/git"
	"ralph/internal/lazyregexp"
)

// aside is what git adds to the name of a file that it moves out of the way of a folder of the same name.
var aside = lazyregexp.New(`~[0-9a-f]{40,64}(_[0-9]+)?$`)

// Built is what became of merging work onto a commit.
type Built struct {
	Candidate string   // one commit on top, with the changes and the author of the work; the commit itself if it has them already
	Files     []string // where the work conflicts; then there is no candidate
}

// Build merges the changes from base to work, whose parent it is, onto a commit. It touches no
// files and no refs.
func Build(ctx context.Context, r *git.Repo, onto, base, work, message string) (Built, error) {
	m, err := r.Merge(ctx, base, onto, work)
	if err != nil || len(m.Files) > 0 {
		for i, name := range m.Files {
			m.Files[i] = aside.Get().ReplaceAllString(name, "")
		}
		return Built{Files: m.Files}, err
	}
	below, err := r.Tree(ctx, onto)
	if err != nil || m.Tree == below {
		return Built{Candidate: onto}, err
	}
	author, err := r.Author(ctx, work)
	if err != nil {
		return Built{}, err
	}
	candidate, err := r.CommitTree(ctx, m.Tree, message, parentOn(onto), author...)
	return Built{Candidate: candidate}, err
}
