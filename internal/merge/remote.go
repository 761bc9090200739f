package merge

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/internal/git"
)

// TargetRef is where a remote has the target of a run, for machines that make its attempts. Nobody pulls it.
func TargetRef(run string) string { return Refs + "target/" + run }

// StartRef is where a remote has what an attempt begins with, if that is more than the target.
func StartRef(attempt string) string { return Refs + "start/" + attempt }

// TryRef is where a remote has what one machine made of an attempt. A machine that comes late, after the attempt was given to
// another one, has a ref of its own.
func TryRef(task, attempt, try string) string {
	return WorkRef(task, attempt) + "-" + try
}

// LogRef is where a remote has the files that an attempt wrote besides its work.
func LogRef(attempt, try string) string { return Refs + "log/" + attempt + "-" + try }

// there runs git where a person would, because the address of a remote may be relative to that.
func there(r *git.Repo) git.Call { return git.Call{WorkTree: r.Dir()} }

// Push sets refs of a remote, or removes those without a commit. It runs no hooks and asks nobody.
func Push(ctx context.Context, r *git.Repo, remote string, refs ...Ref) error {
	args := []string{"push", "--quiet", "--force", "--no-verify", "--", remote}
	for _, ref := range refs {
		args = append(args, ref.Commit+":"+ref.Name)
	}
	_, err := r.Git(ctx, there(r), args...)
	if err == nil {
		return nil
	}
	var why []string // what the other side says is above what git says last
	if failed := new(git.CommandError); errors.As(err, &failed) {
		for line := range strings.Lines(failed.Stderr) {
			if said, remote := strings.CutPrefix(strings.TrimSpace(line), "remote: "); remote {
				why = append(why, strings.TrimSpace(said))
			}
		}
	}
	return fmt.Errorf("push to %s: %w%s", remote, err, strings.Join(append([]string{""}, why...), ": "))
}

// Fetch gets refs of a remote, without giving them a name here, and says which commits they are.
func Fetch(ctx context.Context, r *git.Repo, remote string, names ...string) ([]string, error) {
	args := []string{"fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--", remote}
	out, err := r.Git(ctx, there(r), append([]string{"ls-remote", "--", remote}, names...)...)
	if err != nil {
		return nil, fmt.Errorf("look at %s: %w", remote, err)
	}
	at := map[string]string{}
	for line := range strings.Lines(out) {
		commit, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		at[name] = commit
	}
	var commits []string
	for _, name := range names {
		if at[name] == "" {
			return nil, fmt.Errorf("%s has no %s", remote, name)
		}
		commits = append(commits, at[name])
	}
	have, err := Existing(ctx, r, commits)
	if err != nil {
		return nil, err
	}
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(have, at[name]) })
	if len(missing) == 0 {
		return commits, nil
	}
	if _, err := r.Git(ctx, there(r), append(args, missing...)...); err != nil {
		return nil, fmt.Errorf("fetch from %s: %w", remote, err)
	}
	return commits, nil
}

// RemoteRefs lists what a remote has below refs/ralph.
func RemoteRefs(ctx context.Context, r *git.Repo, remote string) (refs []Ref, err error) {
	out, err := r.Git(ctx, there(r), "ls-remote", "--", remote, Refs+"*")
	for line := range strings.Lines(out) {
		commit, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		refs = append(refs, Ref{Name: name, Commit: commit})
	}
	return refs, err
}
