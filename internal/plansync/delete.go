package plansync

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"ralph/internal/atomicfile"
	"ralph/internal/taskfile"
)

// Remove removes the folder of a feature that was deleted. Where git carries its plan, a file with the tombstones of its
// tasks is left there: without it, other clones would keep the tasks and bring them back.
func (s *Sync) Remove(ctx context.Context, feature string) error {
	folder := s.Project.Feature(feature)
	f := s.file(feature)
	if !s.Auto || !f.regular {
		return os.RemoveAll(folder)
	}
	files, err := s.look(ctx)
	if err != nil {
		return err
	}
	plan, err := f.plan()
	if err != nil || files == nil || len(plan.Bytes()) == 0 {
		return os.RemoveAll(folder)
	}
	if err := atomicfile.Write(f.path, plan.Update(nil, s.Now()).Bytes()); err != nil {
		return fmt.Errorf("write %s: %w", f.path, err)
	}
	entries, err := os.ReadDir(folder)
	for _, e := range entries {
		if e.Name() != TasksFile {
			err = errors.Join(err, os.RemoveAll(filepath.Join(folder, e.Name())))
		}
	}
	return err
}

// plan is what the file says.
func (f *file) plan() (taskfile.File, error) {
	if err := f.read(); err != nil {
		return taskfile.File{}, err
	}
	return taskfile.ParseFile([]byte(f.text))
}
