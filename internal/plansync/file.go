package plansync

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"ralph/dag"
	"ralph/internal/copyfile"
	"ralph/internal/taskfile"
)

// file is a plan file on its way into the database and back.
type file struct {
	feature string // "" for tasks of none
	path    string
	key     string // the path below the project, with slashes
	stamp   seal
	regular bool // there is a file, and no link or other thing in its place
	row     row
	text    string // "" if there is none, or nothing in it: that says nothing about tasks
	loaded  bool
	mended  bool // it may differ from the database, which may not have changed
	asked   bool // a person has it written: a line that it lacks is written again, and deletes nothing

	items                      []taskfile.Item // of the database
	base, ours, theirs, merged taskfile.File
}

func (s *Sync) file(feature string) *file { return s.at(feature, Path(s.Project, feature)) }

func (s *Sync) at(feature, path string) *file {
	f := &file{feature: feature, path: path}
	if rel, err := filepath.Rel(s.Project.Root, f.path); err == nil {
		f.key = filepath.ToSlash(rel)
	}
	if info, err := os.Lstat(f.path); err == nil {
		f.stamp, f.regular = sealOf(info, s.Now()), info.Mode().IsRegular()
	}
	return f
}

// maxFile is the largest plan that is read: a million tasks are smaller.
const maxFile = 1 << 30

// read reads the text once.
func (f *file) read() (err error) {
	if f.loaded {
		return nil
	}
	f.loaded = true
	defer func() {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		if err != nil {
			err = &Error{f.path, err}
		}
	}()
	folder := filepath.Dir(f.path)
	if info, err := os.Lstat(folder); f.feature != "" && err == nil && !info.IsDir() { // it may lead out of the project
		return fmt.Errorf("%w: %s is no folder but a link or a file", dag.ErrRefused, folder)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	r, info, err := copyfile.Open(root, filepath.Base(f.path)) // an agent may have put anything there
	if err != nil {
		return err
	}
	defer r.Close()
	if info.Size() > maxFile {
		return fmt.Errorf("%w: it has %d MiB; at most %d are read", dag.ErrRefused, info.Size()>>20, maxFile>>20)
	}
	data, err := io.ReadAll(io.LimitReader(r, maxFile))
	if f.text = string(data); strings.TrimSpace(f.text) == "" {
		f.text = ""
	}
	return err
}

// refuseForeign refuses tasks that do not belong in the file.
func (f *file) refuseForeign() error {
	for _, s := range f.theirs.Specs() {
		if s.Feature != "" && !strings.EqualFold(s.Feature, f.feature) {
			return &Error{f.path, dag.PlanError{{Line: s.Line, Err: fmt.Errorf("%w (%s)", ErrForeign, s.Feature)}}}
		}
	}
	if f.feature == "" && f.theirs.Has(taskfile.FeatureRef) {
		return &Error{f.path, dag.PlanError{{Line: f.theirs.Numbers()[taskfile.FeatureRef], Err: errFeature}}}
	}
	return nil
}

// errFeature is a file of tasks of no feature that has something to say about one.
var errFeature = fmt.Errorf("%w: the gates of a feature stand in its own file", dag.ErrRefused)

// ErrForeign is a plan file that holds tasks of another feature.
var ErrForeign = fmt.Errorf("%w: another feature's task", dag.ErrRefused)

// specs are the tasks that the file is to have.
func (f *file) specs() []dag.Spec {
	specs, numbers := f.merged.Specs(), f.theirs.Numbers()
	for i := range specs {
		s := &specs[i]
		if s.Line = numbers[s.Ref]; s.Parent == "" {
			s.Feature = f.feature
		}
	}
	return specs
}
