package attempt

import (
	"context"
	"strings"
	"sync"

	"ralph/internal/bounded"
	"ralph/internal/git"
	"ralph/internal/redact"
	"ralph/internal/risk"
	"ralph/verify/suite"
)

const (
	headSize = 16
)

// shaped finds secrets by their form.
var shaped = sync.OnceValue(func() *redact.Redactor { return redact.New() })

// content is what a candidate's files have in them that is worth a look.
func (e *evidence) content(ctx context.Context, changes []git.Change) (c risk.Content) {
	if d := e.compared[[2]string{e.base.Tree, e.candidate}]; d.Cut {
		if whole, err := e.trees.Compare(ctx, e.base.Tree, e.candidate, bounded.Data); err == nil {
			patches := map[string]string{}
			for _, w := range whole.Changes {
				patches[w.Path] = w.Patch
			}
			for i := range changes {
				changes[i].Patch = patches[changes[i].Path]
			}
		}
	}
	_, after, end := e.trees.Contents(ctx, e.base.Tree, e.candidate, bounded.Text)
	defer end()
	for _, change := range changes {
		f := risk.File{Path: change.Path, Patch: change.Patch, Test: suite.IsTest(change.Path), Deleted: change.Kind == git.Deleted}
		if !f.Deleted && strings.Contains(change.Patch, "\nBinary files ") {
			data, err := after(change.Path)
			if err != nil {
				data = []byte(err.Error()) // what cannot be read may be a program
			}
			f.Head = data[:min(len(data), headSize)]
		}
		c.See(f, func(text string) bool { return shaped().Text(text) != text })
	}
	return c
}
