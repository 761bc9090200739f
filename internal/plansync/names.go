package plansync

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/project"
)

// SameNameError refuses the plans of two folders whose names differ in case only. To ralph they are one feature, as they are one folder to
// some systems, and it could write the plan to one of them only. Keep is the one that is more likely to be the feature's.
type SameNameError struct{ Keep, Other string }

func (e *SameNameError) Error() string {
	return fmt.Sprintf("the folders %s and %s are one feature, because case makes no difference in its name, and a feature has one plan",
		min(e.Keep, e.Other), max(e.Keep, e.Other))
}

// refuseSameNames refuses folders of one feature, of which only one can have its plan.
func (s *Sync) refuseSameNames(ctx context.Context, files []*file) error {
	first := map[string]*file{}
	for _, f := range files {
		key := strings.ToLower(f.feature)
		if one, twice := first[key]; twice {
			keep, other := s.original(ctx, one, f)
			return &Error{other.path, &SameNameError{keep.feature, other.feature}}
		}
		first[key] = f
	}
	return nil
}

// original says which of two folders of one feature is its own, and which somebody added: the one with more documents is, or the one whose
// name the database has.
func (s *Sync) original(ctx context.Context, a, b *file) (keep, other *file) {
	if more := project.Documents(filepath.Dir(b.path)) - project.Documents(filepath.Dir(a.path)); more != 0 {
		if more > 0 {
			a, b = b, a
		}
		return a, b
	}
	if s.Store != nil {
		var known dag.Feature
		_ = s.Store.View(ctx, func(g *dag.Graph) (err error) { known, err = g.Plan.Feature(b.feature); return err }) // none is none
		if known.Name == b.feature {
			a, b = b, a
		}
	}
	return a, b
}

// Ignored lists the folders beside those of features that are no features of their own, and why.
func Ignored(ctx context.Context, p project.Project, store *dag.Store) (list []error) {
	s := Sync{Project: p, Store: store, Now: func() time.Time { return time.Time{} }}
	if err := s.refuseSameNames(ctx, s.folders()); err != nil && s.refuseSameNames(ctx, s.files()) == nil { // else it is a fault
		list = append(list, err)
	}
	entries, _ := os.ReadDir(p.Features()) // none is none
	for _, e := range entries {
		if err := dag.CheckFeatureName(e.Name()); err != nil && e.IsDir() {
			list = append(list, err)
		}
	}
	return list
}
