package merge

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/git"
)

// Made keeps what a tag or a branch that work made points at, as long as the work is neither landed nor dropped.
type Made struct {
	Name string // in full: refs/tags/v1.2
	ID   string
	Own  bool // it points at the work itself
}

const (
	madeOwn   = "made/own/"
	madeOther = "made/at/"
)

// MadeRef names it for an attempt.
func MadeRef(m Made, attempt string) string {
	folder := madeOther
	if m.Own {
		folder = madeOwn
	}
	return Refs + folder + strings.TrimPrefix(m.Name, "refs/") + "/" + attempt
}

// MadeBy lists what attempts made, by attempt.
func MadeBy(ctx context.Context, r *git.Repo) (map[string][]Made, error) {
	refs, err := ListRefs(ctx, r)
	made := map[string][]Made{}
	for _, ref := range refs {
		for _, folder := range []string{madeOwn, madeOther} {
			if name, is := strings.CutPrefix(ref.Name, Refs+folder); is {
				name = "refs/" + strings.TrimSuffix(name, "/"+ref.Attempt())
				made[ref.Attempt()] = append(made[ref.Attempt()], Made{Name: name, ID: ref.Commit, Own: folder == madeOwn})
			}
		}
	}
	return made, err
}

// Landed is what a ref points at once its work has landed as a commit: that, if it pointed at the work. An annotated tag keeps its text
// then, without a signature: that was for another commit.
func (m Made) Landed(ctx context.Context, r *git.Repo, commit string) (string, error) {
	if !m.Own {
		return m.ID, nil
	}
	kind, err := r.Line(ctx, "cat-file", "-t", m.ID)
	if err != nil || kind != "tag" {
		return commit, err
	}
	text, err := r.Git(ctx, git.Call{}, "cat-file", "tag", m.ID)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(text, "\n") // the object that it tags
	if at := strings.Index(rest, "\n-----BEGIN "); at >= 0 {
		rest = rest[:at+1]
	}
	id, err := r.Git(ctx, git.Call{In: strings.NewReader("object " + commit + "\n" + rest)}, "hash-object", "-t", "tag", "-w", "--stdin")
	return strings.TrimSpace(id), err
}

// Written is a ref that lands with work.
type Written struct {
	Name, Value string
	Gone        bool // it is deleted, if it has the value
}

// WriteRefs makes refs of a person's repository, and deletes some. None is overwritten, and none that was changed meanwhile is deleted. Doing
// it again changes nothing. The error names all that stay as they are.
func WriteRefs(ctx context.Context, r *git.Repo, refs []Written) (err error) {
	for _, ref := range refs {
		if werr := writeRef(ctx, r, ref); werr != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", ref.Name, werr))
		}
	}
	return err
}

func writeRef(ctx context.Context, r *git.Repo, ref Written) error {
	now, _, err := ValueOf(ctx, r, ref.Name)
	command := []string{"update-ref", "-m", "ralph: land", "--no-deref", ref.Name, ref.Value, strings.Repeat("0", len(ref.Value))}
	switch {
	case err != nil:
		return err
	case ref.Gone && now != ref.Value, !ref.Gone && now == ref.Value:
		return nil
	case !ref.Gone && now != "":
		return fmt.Errorf("it exists already, at %.10s", now)
	case ref.Gone:
		trees, err := r.Worktrees(ctx)
		if i := slices.IndexFunc(trees, func(w git.Worktree) bool { return ref.Name == w.Branch || ref.Name == w.Rebase }); err != nil || i >= 0 {
			if err == nil {
				err = errors.New("it is checked out in " + filepath.ToSlash(trees[i].Dir))
			}
			return err
		}
		command = []string{"update-ref", "-d", "--no-deref", ref.Name, ref.Value}
	}
	_, err = r.Git(ctx, git.Call{Outlive: true}, command...)
	return err
}

// ValueOf is what a tag or branch points at, a tag object for an annotated tag; "" if it does not exist. Other is one that is in its way:
// a tag and a branch of one name, or a name that is a folder of the other.
func ValueOf(ctx context.Context, r *git.Repo, name string) (id, other string, err error) {
	refs, err := r.Refs(ctx, "refs/heads", "refs/tags")
	_, short, _ := strings.Cut(strings.TrimPrefix(name, "refs/"), "/")
	for _, ref := range refs {
		_, its, _ := strings.Cut(strings.TrimPrefix(ref.Name, "refs/"), "/")
		switch {
		case ref.Name == name:
			id = ref.ID
		case its == short, strings.HasPrefix(ref.Name, name+"/"), strings.HasPrefix(name, ref.Name+"/"):
			other = ref.Name
		}
	}
	return id, other, err
}
