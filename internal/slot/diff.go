package slot

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"ralph/internal/git"
)

// maxShown is the size of the largest file that Diff reads.
const maxShown = 8 << 20

// ErrOther reports that a slot has the work of another attempt, or of none.
var ErrOther = errors.New("the slot is not the attempt's")

// Diff is what Keep would keep in slot n now, compared with the commit below it, with at most so many bytes of a patch. It is for
// another process than the run, while the agent works: what it makes is in a folder of its own, not in the repository, in the index
// of the slot or in that of the agent.
func (p *Pool) Diff(ctx context.Context, n int, attempt string, patch int) (d git.Difference, err error) {
	run := p.slot(n)
	temp, err := os.MkdirTemp(run.note(""), "tmp-")
	if err != nil {
		return d, err
	}
	defer func() { _ = os.RemoveAll(temp) }() // Take removes what stays
	o := p.o
	o.State, o.MaxFile = temp, maxShown
	if o.Repo, err = p.o.Repo.Aside(filepath.Join(temp, "objects")); err == nil {
		err = os.Mkdir(filepath.Join(temp, strconv.Itoa(n)), 0o700)
	}
	if err != nil {
		return d, err
	}
	s := Open(o).slot(n)
	for _, name := range []string{"index", "made.json"} {
		if err := git.CopyIndex(s.note(name), run.note(name)); err != nil {
			return d, err // the run sets its files
		}
	}
	if err := s.load(); err != nil {
		return d, err
	}
	if s.made.Attempt != attempt {
		return d, ErrOther
	}
	w, err := s.tree(ctx, s.made.Base)
	if err == nil {
		d, err = o.Repo.Compare(ctx, s.made.Base, w.Tree, patch)
	}
	if err != nil {
		return d, fmt.Errorf("compare slot %d with its base: %w", n, err)
	}
	d.Left = w.Left
	return d, nil
}
