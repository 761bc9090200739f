package plansync

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"ralph/dag"
	"ralph/internal/atomicfile"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
)

// merging is one transaction in which files and database come together.
type merging struct {
	s     *Sync
	g     *dag.Graph
	files []*file
	write bool
	taken Taken
	moved map[string]bool // from one file to another
}

func (m *merging) do() (Taken, error) {
	for _, f := range m.files {
		if err := m.load(f); err != nil {
			return Taken{}, err
		}
	}
	m.carry()
	for _, f := range m.files {
		if err := m.merge(f); err != nil {
			return Taken{}, err
		}
	}
	if err := m.move(); err != nil {
		return Taken{}, err
	}
	fresh, err := m.newFeatures()
	if err == nil {
		err = m.apply()
	}
	if mendable(err) {
		mended, merr := m.mend()
		switch {
		case merr != nil:
			err = merr
		case mended:
			err = m.apply()
		}
	}
	if err != nil {
		return Taken{}, err
	}
	for _, name := range fresh {
		if _, err := os.Stat(filepath.Join(m.s.Project.Feature(name), "plan.md")); err != nil {
			continue
		}
		if err := m.g.Plan.SetStage(name, dag.FeaturePlanned); err != nil && !errors.Is(err, dag.ErrNotFound) {
			return Taken{}, err
		}
	}
	for _, f := range m.files {
		if err := m.settle(f); err != nil {
			return Taken{}, err
		}
	}
	return m.taken, nil
}

// load works out what a file and the database say, and what both come from.
func (m *merging) load(f *file) error {
	f.loaded = false // another process may have been here since
	if info, err := os.Lstat(f.path); err == nil {
		f.stamp = sealOf(info, m.s.Now())
	}
	if err := f.read(); err != nil {
		return err
	}
	var err error
	if f.theirs, err = taskfile.ParseFile([]byte(f.text)); err != nil {
		return &Error{f.path, err}
	}
	items, err := itemsOf(m.g, f.feature)
	if err != nil {
		return err
	}
	base, known, err := baseOf(m.g, f.key)
	if err != nil {
		return err
	}
	if f.base = f.theirs; base != f.text {
		if err := f.refuseForeign(); err != nil {
			return err
		}
		if f.base, err = taskfile.ParseFile([]byte(base)); err != nil {
			return &Error{f.path, fmt.Errorf("the copy in the database: %w", err)}
		}
	}
	if !known { // what is in both is newer in the database
		has, had := seq.Set(items, func(item taskfile.Item) string { return item.ID }), f.base.Numbers()
		f.base = f.theirs.Only(func(ref string) bool { _, was := had[ref]; return was || has[ref] })
	}
	if f.asked {
		f.theirs = f.theirs.And(f.base)
	}
	f.items, f.ours = items, f.base.Update(items, m.s.Now())
	return nil
}

// merge works out what a file and the database are to say together.
func (m *merging) merge(f *file) error {
	if f.text == "" {
		f.merged = f.ours
		return nil
	}
	merged, dropped, err := taskfile.Merge(f.base, f.ours, f.theirs)
	if err != nil {
		return &Error{f.path, err}
	}
	f.merged = merged
	m.taken.Dropped = append(m.taken.Dropped, dropped...)
	return nil
}

// newFeatures lists those that the files bring.
func (m *merging) newFeatures() (list []string, err error) {
	for _, f := range m.files {
		if f.feature == "" {
			continue
		}
		if _, err := m.g.Plan.Feature(f.feature); errors.Is(err, dag.ErrNotFound) {
			list = append(list, f.feature)
		} else if err != nil {
			return nil, err
		}
	}
	return list, nil
}

// mendable says that files which make sense alone may not do so together.
func mendable(err error) bool {
	var faults dag.PlanError
	return errors.As(err, &faults) && slices.ContainsFunc(faults, func(f dag.SpecError) bool {
		return errors.Is(f.Err, dag.ErrUnknownRef) || errors.As(f.Err, new(*dag.CycleError))
	})
}

// mend makes all files there are fit together, and says whether that changed anything.
func (m *merging) mend() (changed bool, err error) {
	if m.s.Auto {
		for _, f := range m.s.files() {
			if err := m.involve(f); err != nil {
				return false, err
			}
		}
	}
	if slices.ContainsFunc(m.files, func(f *file) bool { return dag.FindCycle(f.theirs.Specs()) != nil }) {
		return false, nil // a file that makes no sense alone
	}
	mended, dropped := taskfile.Mend(seq.Map(m.files, func(f *file) taskfile.File { return f.base }), seq.Map(m.files, func(f *file) taskfile.File { return f.merged }))
	for i, f := range m.files {
		differs := !mended[i].Equal(f.merged)
		changed, f.mended, f.merged = changed || differs, f.mended || differs, mended[i]
	}
	m.taken.From, m.taken.Gates, m.taken.Dropped = nil, nil, append(m.taken.Dropped, dropped...)
	return changed, nil
}

// involve merges one more file.
func (m *merging) involve(f *file) error {
	if slices.ContainsFunc(m.files, func(other *file) bool { return other.key == f.key }) {
		return nil
	}
	m.files = append(m.files, f)
	if err := m.load(f); err != nil {
		return err
	}
	return m.merge(f)
}

// apply makes the database what the files and it say together.
func (m *merging) apply() error {
	var specs []dag.Spec
	var at []*file // by number, which stands in for the line: several files have the same ones
	var gone []string
	in := map[string]*file{}
	for _, f := range m.files {
		if f.merged.Equal(f.ours) {
			continue
		}
		live, known := map[string]bool{}, f.ours.Numbers()
		for _, s := range f.specs() {
			if other := in[s.Ref]; other != nil {
				return &Error{f.path, dag.PlanError{{Line: s.Line, Err: fmt.Errorf("%w: %s is also in %s: give one of them another ref, or remove it", dag.ErrRefused, s.Ref, other.path)}}}
			}
			if _, own := known[s.Ref]; !own && !m.moved[s.Ref] {
				if err := m.refuseTaken(f, s); err != nil {
					return err
				}
			}
			if m.moved[s.Parent] {
				s.Feature = "" // a new part of what was moved goes with it
			}
			in[s.Ref], live[s.Ref] = f, true
			specs, at = append(specs, s), append(at, f)
		}
		for _, s := range f.ours.Specs() {
			if !live[s.Ref] {
				gone = append(gone, s.Ref)
			}
		}
		m.taken.From = append(m.taken.From, f.path)
	}
	if len(m.taken.From) == 0 {
		return nil
	}
	lines := make([]int, len(specs))
	for i := range specs {
		lines[i], specs[i].Line = specs[i].Line, i+1
	}
	gone = slices.DeleteFunc(gone, func(ref string) bool { return in[ref] != nil })
	var err error
	m.taken.Applied, err = m.g.Plan.Apply(dag.Wanted{Specs: specs, Deleted: gone, Key: dag.ByID, Busy: dag.Postpone})
	var faults dag.PlanError
	if errors.As(err, &faults) {
		first := m.files[0]
		var own dag.PlanError
		for _, fault := range faults { // those of the first file with any: one is mended after the other
			if fault.Line > 0 {
				if len(own) == 0 {
					first = at[fault.Line-1]
				} else if at[fault.Line-1] != first {
					continue
				}
				fault.Line = lines[fault.Line-1]
			}
			own = append(own, fault)
		}
		return &Error{first.path, own}
	}
	if err != nil {
		return err
	}
	return m.setGates()
}

// setGates gives features the gates that their files say.
func (m *merging) setGates() error {
	for _, f := range m.files {
		gates := f.merged.Gates()
		if slices.Equal(gates, f.ours.Gates()) {
			continue
		}
		_, err := m.g.Plan.Feature(f.feature)
		if errors.Is(err, dag.ErrNotFound) { // it has no task
			_, err = m.g.Plan.AddFeature(f.feature)
		}
		if err == nil {
			err = m.g.Plan.SetFeatureGates(f.feature, gates)
		}
		if errors.Is(err, dag.ErrRefused) {
			return &Error{f.path, dag.PlanError{{Line: f.theirs.Numbers()[taskfile.FeatureRef], Err: err}}}
		}
		if err != nil {
			return err
		}
		m.taken.Gates = append(m.taken.Gates, f.feature)
	}
	return nil
}

// refuseTaken refuses an ID that is another task's here. One that is the same task in another feature was moved.
func (m *merging) refuseTaken(f *file, s dag.Spec) error {
	t, err := m.g.Tasks.Get(s.Ref)
	switch {
	case errors.Is(err, dag.ErrNotFound):
		return nil
	case err != nil || t.Title == s.Title || t.Feature == f.feature:
		return err
	}
	return &Error{f.path, dag.PlanError{{Line: s.Line, Err: fmt.Errorf("%w: %s is another task here, %q: give one of them another ref", dag.ErrRefused, s.Ref, t.Title)}}}
}

// settle writes the file, if it may and has to, and stores that both agree.
func (m *merging) settle(f *file) error {
	items, final := f.items, f.merged
	if len(m.taken.From) > 0 { // the database has changed
		var err error
		if items, err = itemsOf(m.g, f.feature); err != nil {
			return err
		}
		final = f.merged.Update(items, m.s.Now())
	}
	was, is := f.base.Numbers(), f.merged.Numbers()
	postponed := slices.DeleteFunc(slices.Concat(m.taken.Postponed, m.taken.Kept), func(ref string) bool {
		_, before := was[ref]
		_, now := is[ref]
		return !before && !now
	})
	if len(postponed) > 0 {
		final = final.With(f.merged, postponed)
	}
	switch {
	case f.text == "" && (len(items) == 0 && len(f.base.Specs()) == 0 || final.Equal(f.base)):
		saved(m.g, f.feature) // there is nothing to write
		return m.g.Tx().Err()
	case f.text == "" && !m.write:
		return nil
	}
	base := f.theirs
	if m.write {
		base = final
		text := string(final.Bytes())
		if text != f.text {
			if err := atomicfile.Write(f.path, []byte(text)); err != nil {
				return fmt.Errorf("write %s: %w", f.path, err)
			}
		}
		f.text = text
		info, err := os.Lstat(f.path)
		if err != nil {
			return err
		}
		f.stamp = sealOf(info, m.s.Now())
	}
	text := f.text
	if len(postponed) > 0 { // what was not taken in is still to be seen as a change
		text, f.stamp.Size = string(base.With(f.base, postponed).Bytes()), -1
	}
	if m.write || f.theirs.Update(items, m.s.Now()).Equal(f.theirs) {
		saved(m.g, f.feature)
	} else if f.mended {
		unsaved(m.g, f.feature)
	}
	return setRow(m.g, f.key, f.stamp, text)
}
