package slot

import (
	"context"
	"os"
	"path"
	"strings"

	"ralph/internal/git"
)

// indexed is a tree that the index of a slot has, and the file that the index was in then. Each change makes a new file.
type indexed struct {
	tree string
	file os.FileInfo
}

// setIndexed remembers, for this process, which tree the index has.
func (s *Slot) setIndexed(tree string) {
	if info, err := os.Lstat(s.index()); err == nil && !s.Here() {
		s.p.indexed.Store(s.index(), indexed{tree, info})
	}
}

// unchanged is the tree whose files the slot has, no others but ignored ones, and all as they are in its index; "" if that is unknown or
// not so. It is what most attempts leave: their work was kept, and has landed. Git looks at all files once for it; to set them, it would do
// so twice.
func (s *Slot) unchanged(ctx context.Context) string {
	known, _ := s.p.indexed.LoadAndDelete(s.index())
	was, is := known.(indexed)
	info, err := os.Lstat(s.index())
	if !is || err != nil || s.made.Unclean || !os.SameFile(info, was.file) || !info.ModTime().Equal(was.file.ModTime()) || info.Size() != was.file.Size() {
		return ""
	}
	s.said.Reset()
	call := s.call(s.Top(), s.index())
	call.Said = &s.said // of what it cannot read
	call.Env = []string{"GIT_OPTIONAL_LOCKS=0"}
	others, err := s.p.o.Repo.Git(ctx, call, "ls-files", "-z", "--modified", "--deleted", "--others", "--directory", "--exclude-standard")
	if err != nil || others != "" || s.said.Len() > 0 {
		return ""
	}
	return was.tree
}

// decides reports whether a file decides about others: how git writes them, or whether it ignores them.
func decides(d git.Diff) bool {
	name := path.Base(strings.ToLower(d.Path))
	return name == ".gitattributes" || name == ".gitignore"
}
