package git

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Lines are what git reads with -z.
func Lines(list []string) io.Reader {
	var b strings.Builder
	for _, line := range list {
		b.WriteString(line + "\x00")
	}
	return strings.NewReader(b.String())
}

// Gitlink is the mode by which a tree names a commit of another repository.
const Gitlink = "160000"

// Entry is what a tree has at a path, as git update-index reads it too. Where there is
// nothing, the mode is Nothing.
type Entry struct{ Mode, ID string }

// Nothing is the mode of what does not exist.
const Nothing = "000000"

// Line is an entry for git update-index --index-info.
func (e Entry) Line(path string) string { return e.Mode + " " + e.ID + "\t" + path }

// Diff is a path at which two trees differ.
type Diff struct {
	Path     string
	Was, Now Entry
}

// DiffTrees lists the paths at which two trees, or commits, differ.
func (r *Repo) DiffTrees(ctx context.Context, from, to string) ([]Diff, error) {
	git := func(in io.Reader, args ...string) (string, error) { return r.Git(ctx, Call{In: in}, args...) }
	if !isID(from) || !isID(to) {
		return diffTrees(git, from, to)
	}
	if from, to = r.content(from), r.content(to); from == to {
		return nil, nil
	}
	return diffTrees(func(in io.Reader, args ...string) (string, error) {
		return r.Once("diff "+from+" "+to, func() (string, error) { return git(in, args...) })
	}, from, to)
}

func diffTrees(git Plumbing, from, to string) ([]Diff, error) {
	out, err := git(nil, "diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", from, to)
	if err != nil {
		return nil, err
	}
	var list []Diff
	for pair := range slices.Chunk(Split(out), 2) {
		raw := strings.Fields(strings.TrimPrefix(pair[0], ":")) // modes, IDs, letter
		if len(pair) < 2 || len(raw) < 4 {
			return nil, fmt.Errorf("git diff-tree says %q", pair)
		}
		list = append(list, Diff{pair[1], Entry{raw[0], raw[2]}, Entry{raw[1], raw[3]}})
	}
	return list, nil
}

// IsAncestor says whether a commit is in the history of another.
func (r *Repo) IsAncestor(ctx context.Context, commit, of string) (bool, error) {
	ask := func() (string, error) { return r.Git(ctx, Call{}, "merge-base", "--is-ancestor", commit, of) }
	var err error
	if isID(commit) && isID(of) {
		_, err = r.Once(below(commit, of), ask) // a no is not kept: more of the history may be fetched
	} else {
		_, err = ask()
	}
	if Status(err) == 1 {
		return false, nil
	}
	return err == nil, err
}

// Merged is what a merge comes to. The tree has markers in Files, those in conflict; Stages are their
// entries in an index.
type Merged struct {
	Tree          string
	Files, Stages []string
}

// Merge merges the changes from base to work into onto, without touching a file. Attributes that choose how to merge, such
// as merge=union, are those of the project's files.
func (r *Repo) Merge(ctx context.Context, base, onto, work string) (m Merged, err error) {
	if base == onto && isID(base) { // only one side has changes
		m.Tree, err = r.Tree(ctx, work)
		return m, err
	}
	if onto, err = r.graft(ctx, base, onto); err != nil {
		return m, err
	}
	grafted, err := r.graft(ctx, base, work)
	if err != nil {
		return m, err
	}
	out, err := r.Git(ctx, Call{WorkTree: r.dir}, "merge-tree", "--write-tree", "-z", "--no-messages", onto, grafted)
	list := Split(out)
	if err != nil && (Status(err) != 1 || len(list) < 2) || len(list) == 0 {
		return m, fmt.Errorf("merge %.10s: git names no files: %w", work, cmp.Or(err, io.ErrUnexpectedEOF))
	}
	m.Tree, m.Stages = list[0], list[1:]
	for _, entry := range m.Stages {
		_, name, _ := strings.Cut(entry, "\t")
		m.Files = append(m.Files, name)
	}
	slices.Sort(m.Files)
	m.Files = slices.Compact(m.Files)
	return m, nil
}

// graft is a commit with the files of this one whose history has base. Git would go back to what two commits have in common, and
// bring back all that a history without base has left out.
func (r *Repo) graft(ctx context.Context, base, commit string) (string, error) {
	if related, err := r.IsAncestor(ctx, base, commit); err != nil || related {
		return commit, err
	}
	return r.CommitTree(ctx, commit+"^{tree}", "graft", base)
}

// CommitTree makes a commit of a tree; a space is between its parents. author is for its environment; it is git's own
// identity otherwise, or ralph where git knows nobody.
func (r *Repo) CommitTree(ctx context.Context, tree, message, parents string, author ...string) (string, error) {
	if id := r.writeCommit(ctx, tree, message, parents, author); id != "" {
		return id, nil
	}
	commit := func(env ...string) (string, error) {
		args := []string{"commit-tree", "-F", "-", tree}
		for parent := range strings.FieldsSeq(parents) {
			args = append(args, "-p", parent)
		}
		id, err := r.Git(ctx, Call{In: strings.NewReader(message), Env: append(env, author...)}, args...)
		return strings.TrimSuffix(id, "\n"), err
	}
	stamp, is := r.settings()
	if _, known := r.known.get(nameless + stamp); !is || !known {
		if id, err := commit(); err == nil || !r.Nameless(ctx) {
			return id, err
		}
		r.known.set(nameless+stamp, "")
	}
	return commit("GIT_AUTHOR_NAME=ralph", "GIT_AUTHOR_EMAIL=ralph@localhost", "GIT_COMMITTER_NAME=ralph", "GIT_COMMITTER_EMAIL=ralph@localhost")
}

// Nameless says that git knows no name or address to commit with.
func (r *Repo) Nameless(ctx context.Context) bool {
	return slices.ContainsFunc([]string{"GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"}, func(name string) bool {
		_, err := r.Line(ctx, "var", name)
		return Status(err) > 0
	})
}
