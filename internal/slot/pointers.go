package slot

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"

	"ralph/internal/copyfile"
	"ralph/internal/git"
	"ralph/internal/human"
)

const (
	// pointerBegins is how a file of Git LFS begins whose text is elsewhere.
	pointerBegins = "version https://git-lfs.github.com/spec/"
	// maxPointer is how long such a file may be.
	maxPointer = 1 << 10
)

// resolved refuses a slot or room with files that are pointers of Git LFS: gates would test these. Whether they are resolved depends on
// what is installed here, so the first slot of a run speaks for all. One that is refused is not whole, and made anew.
func (s *Slot) resolved(ctx context.Context) error {
	known := s.p.listed
	known.Lock()
	defer known.Unlock()
	if known.resolved {
		return nil
	}
	out, err := s.p.o.Repo.Git(ctx, s.call(s.Top(), s.index()), "ls-files", "-z", "--", ":(top,attr:filter=lfs)")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return err
	}
	defer root.Close()
	names := slices.DeleteFunc(git.Split(out), func(name string) bool { return !isPointer(root, name) })
	if known.resolved = len(names) == 0; known.resolved {
		return nil
	}
	return &SetupError{fmt.Errorf("pointers of Git LFS, which gates would see instead of the files: %s; install git-lfs, then run git lfs install and git lfs pull in your folder",
		human.List(names, 5))}
}

// isPointer reports whether a file has the text of one. A file that cannot be read has none that gates could see.
func isPointer(root *os.Root, name string) bool {
	f, info, err := copyfile.Open(root, name)
	if err != nil {
		return false
	}
	defer f.Close()
	if !info.Mode().IsRegular() || info.Size() > maxPointer {
		return false
	}
	head := make([]byte, len(pointerBegins))
	_, err = io.ReadFull(f, head)
	return err == nil && string(head) == pointerBegins
}
