package plansync

import (
	"fmt"
	"os"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/project"
)

// SameNameError refuses the plans of two folders whose names differ in case only. To ralph they are one feature, as they are one folder to
// some systems, and it could write the plan to one of them only.
type SameNameError struct{ One, Other string }

func (e *SameNameError) Error() string {
	return fmt.Sprintf("the folders %s and %s are one feature, because case makes no difference in its name, and a feature has one plan", e.One, e.Other)
}

// refuseSameNames refuses folders of one feature, of which only one can have its plan.
func (s *Sync) refuseSameNames(files []*file) error {
	first := map[string]string{}
	for _, f := range files {
		key := strings.ToLower(f.feature)
		if one, twice := first[key]; twice {
			return &Error{f.path, &SameNameError{one, f.feature}}
		}
		first[key] = f.feature
	}
	return nil
}

// Ignored lists the folders beside those of features that are no features of their own, and why.
func Ignored(p project.Project) (list []error) {
	s := Sync{Project: p, Now: func() time.Time { return time.Time{} }}
	if err := s.refuseSameNames(s.folders()); err != nil && s.refuseSameNames(s.files()) == nil { // else it is a fault
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
