package slot

import (
	"errors"
	"os"
	"path/filepath"

	"ralph/internal/seen"
)

// Place is where processes find the slot or room: in the place of the repository, or, if that cannot be, where it is.
func (s *Slot) Place() seen.Folder {
	at := s.p.sees()
	if at.Seen != "" {
		at.Real = s.Top()
	}
	return at
}

// view is the folder in which the processes of a slot find the repository that the slot covers.
const view = ".project"

// place tries whether slots can be found in the place of the repository.
func (p *Pool) place() seen.Folder {
	if p.o.Sees == nil || os.MkdirAll(p.o.Dir, 0o700) != nil {
		return seen.Folder{}
	}
	probe, err := os.MkdirTemp(p.o.Dir, ".old-") // what stays of it is swept
	if err != nil {
		return seen.Folder{}
	}
	defer func() { _ = removeAll(probe) }()
	at := seen.Folder{Real: probe, View: filepath.Join(p.o.Dir, view)}
	if at.Seen, err = filepath.EvalSymlinks(p.o.Repo.Dir()); err != nil {
		return seen.Folder{}
	}
	if p.makeView(at) != nil || !p.o.Sees(at) {
		return seen.Folder{}
	}
	return at
}

// makeView makes the folder for the view, with those that slots borrow objects from: outside the sandbox, where they stay empty, git
// would complain that they are missing.
func (p *Pool) makeView(at seen.Folder) error {
	if at.View == "" {
		return nil
	}
	err := os.MkdirAll(at.View, 0o700)
	for _, dir := range p.o.Repo.Objects() {
		if to := at.Behind(dir); to != dir {
			err = errors.Join(err, os.MkdirAll(to, 0o700))
		}
	}
	return err
}
