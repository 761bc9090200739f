package plansync

import (
	"errors"
	"strings"

	"ralph/dag"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
)

func (f *file) sides() taskfile.Sides {
	return taskfile.Sides{Base: f.base, Ours: f.ours, Theirs: f.theirs, Merged: f.merged}
}

// refs are the tasks of a file that were not deleted.
func refs(f taskfile.File) map[string]bool {
	return seq.Set(f.Specs(), func(s dag.Spec) string { return s.Ref })
}

// carry gives the lines of tasks that a command moved to another file what their old lines know.
func (m *merging) carry() {
	if len(m.files) < 2 {
		return
	}
	for _, to := range m.files {
		had := refs(to.base)
		for _, s := range to.ours.Specs() {
			if had[s.Ref] {
				continue
			}
			for _, from := range m.files {
				if from != to && from.base.Has(s.Ref) && !from.ours.Has(s.Ref) {
					to.ours = to.ours.Carry(s.Ref, from.base, from.feature)
				}
			}
		}
	}
}

// move merges the lines of tasks that somebody moved from one file to another: git merges each file alone.
func (m *merging) move() error {
	m.moved = map[string]bool{}
	fresh := map[string]*file{}         // the files of tasks that the database does not know
	for i := 0; i < len(m.files); i++ { //nolint:intrange // the list grows
		f := m.files[i]
		own := refs(f.ours)
		for _, s := range f.merged.Specs() {
			if own[s.Ref] || m.moved[s.Ref] {
				continue
			}
			from, err := m.holder(f, s.Ref)
			if err != nil {
				return err
			}
			if from == nil {
				from, fresh[s.Ref] = fresh[s.Ref], f
			}
			if from == nil || from.merged.Has(s.Ref) && !taskfile.SameTask(s.Ref, from.merged, f.merged) {
				continue
			}
			to := f
			if from.merged.Has(s.Ref) && (to.sides().Left(s.Ref) || taskfile.Belongs(s.Ref, from.feature, from.sides(), to.feature, to.sides())) {
				from, to = to, from // it was moved here, and changed or moved there
			}
			var dropped []string
			from.merged, to.merged, dropped = taskfile.Move(s.Ref, to.feature, from.sides(), to.sides(), m.s.Now())
			from.mended, to.mended = true, true
			m.moved[s.Ref], m.taken.Dropped = true, append(m.taken.Dropped, dropped...)
		}
	}
	return nil
}

// holder is the other file to which the database has a task belong; nil if there is none.
func (m *merging) holder(f *file, ref string) (*file, error) {
	t, err := m.g.Tasks.Get(ref)
	if errors.Is(err, dag.ErrNotFound) || err == nil && strings.EqualFold(t.Feature, f.feature) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if m.s.Auto {
		if err := m.involve(m.s.file(t.Feature)); err != nil {
			return nil, err
		}
	}
	for _, other := range m.files {
		if strings.EqualFold(other.feature, t.Feature) {
			return other, nil
		}
	}
	return nil, nil
}
