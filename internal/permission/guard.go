package permission

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"ralph/internal/atomicfile"
	"ralph/internal/seq"
)

// Protect begins a run, before Open. If its agents can write the file, what it says now is copied to where they cannot,
// and the copy counts from now on, with what people answer. A copy that is there already is that of a run that was
// killed, or of one that is at work: the file is made as the copy is. It returns what agents had written into it.
func (b *Book) Protect(loose bool) (planted []string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.Path == "" || b.Guard == "" {
		return nil, nil
	}
	there := exists(b.Guard)
	if there {
		if planted, err = b.putBack(); err != nil {
			return planted, err
		}
	}
	switch {
	case loose && !there:
		data, _, rerr := read(b.Path)
		if _, perr := b.parse(data); errors.Join(rerr, perr) != nil {
			return nil, errors.Join(rerr, perr)
		}
		err = atomicfile.Write(b.Guard, data)
	case !loose && there:
		err = os.Remove(b.Guard)
	}
	b.loose = loose && err == nil
	return planted, err
}

// PutBack undoes what agents did to the file since Protect, and says which rules they had written. Rules that are
// missing are only put back: an answer that is being given is in the copy first.
func (b *Book) PutBack() (planted []string, err error) {
	if b == nil {
		return nil, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.loose {
		return nil, nil
	}
	return b.putBack()
}

// Close ends the run: the file counts again.
func (b *Book) Close() error {
	planted, err := b.PutBack()
	if len(planted) > 0 && b.Warn != nil {
		b.Warn(strings.Join(planted, ", "))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.loose {
		b.loose, err = false, errors.Join(err, os.Remove(b.Guard))
	}
	return err
}

func (b *Book) putBack() (planted []string, err error) {
	data, _, err := read(b.source())
	if err != nil {
		return nil, err
	}
	kept, err := b.parse(data)
	if err != nil {
		return nil, err
	}
	now, _, bad := read(b.Path)
	found, perr := b.parse(now)
	if bad = errors.Join(bad, perr); bad == nil {
		added, missing := without(found, kept), without(kept, found)
		if len(added)+len(missing) == 0 {
			return nil, nil
		}
		planted = seq.Map(added, func(e entry) string { return fmt.Sprintf("%s %q", e.Answer, e.Rule) })
	} else {
		planted = []string{bad.Error()}
	}
	aside := b.Guard + ".rejected"
	if len(planted) > 0 {
		planted = []string{fmt.Sprintf("%s: rules that no answer gave: %s; they are taken out and kept in %s", b.Path, strings.Join(planted, ", "), aside)}
		if err := atomicfile.Write(aside, now); err != nil {
			return planted, err
		}
	}
	if info, err := os.Lstat(b.Path); err == nil && !info.Mode().IsRegular() {
		if err := os.RemoveAll(b.Path); err != nil {
			return planted, err
		}
	}
	if len(data) > 0 {
		return planted, atomicfile.Write(b.Path, data)
	}
	if err := os.Remove(b.Path); !errors.Is(err, fs.ErrNotExist) {
		return planted, err
	}
	return planted, nil
}

// source is the file that counts. The copy may have gone with another run, which ended.
func (b *Book) source() string {
	switch {
	case b.Guard == "" || !b.loose && !exists(b.Guard):
		return b.Path
	case !exists(b.Guard):
		_ = atomicfile.Write(b.Guard, b.copy) // reading it fails
	}
	return b.Guard
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// without is list without the rules of other.
func without(list, other []entry) []entry {
	return slices.DeleteFunc(slices.Clone(list), func(e entry) bool { return slices.ContainsFunc(other, e.is) })
}
