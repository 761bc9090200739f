package slot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/internal/copyfile"
	"ralph/internal/git"
)

// link is a submodule as a tree has it.
type link struct{ name, commit string } // from the top of the repository

// links lists the submodules in what git lists of an index or, with -r, of a tree; in is the folder that the names are from.
func links(out, in string) (list []link) {
	for _, entry := range git.Split(out) {
		if what, name, ok := strings.Cut(entry, "\t"); ok && strings.HasPrefix(what, git.Gitlink) {
			for _, word := range strings.Fields(what)[1:] {
				if len(word) >= 40 {
					list = append(list, link{path.Join(in, name), word})
				}
			}
		}
	}
	return list
}

// modules brings the submodules that Setup does not make and the person has: their files at the commit that the tree names, from objects
// that are here. One that an attempt has changed is made anew.
func (s *Slot) modules(ctx context.Context) error {
	if _, err := os.Lstat(s.at(".gitmodules")); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	out, err := s.p.o.Repo.Git(ctx, s.call(s.Top(), s.index()), "ls-files", "-sz")
	if err != nil {
		return err
	}
	had := s.made.Modules
	s.made.Modules = nil
	for _, l := range links(out, "") {
		if _, err := os.Lstat(s.at(l.name + "/.git")); err == nil {
			if !slices.Contains(had, l.name) { // Setup made it
				continue
			}
			if changed, err := s.theirs(ctx, l.name, "--modified", "--others", "--exclude-standard"); err == nil && len(changed) == 0 {
				s.made.Modules = append(s.made.Modules, l.name)
				continue
			}
		}
		if err := s.bringModule(ctx, l); err != nil {
			return fmt.Errorf("submodule %s: %w", l.name, err)
		}
	}
	return nil
}

// bringModule makes a submodule, and those in it.
func (s *Slot) bringModule(ctx context.Context, l link) error {
	from := filepath.Join(s.p.o.Repo.Dir(), filepath.FromSlash(l.name))
	if _, err := os.Lstat(filepath.Join(from, ".git")); err != nil {
		return gone(err) // the person has none
	}
	repo, err := git.OpenRepo(ctx, from)
	if err != nil {
		return err
	}
	id, err := repo.Commit(ctx, l.commit)
	if err != nil {
		return err
	}
	if id == "" {
		if s.p.left != nil {
			s.p.left(fmt.Sprintf("slots do not have the submodule %s: its commit %.10s is not here; git submodule update gets it", l.name, l.commit))
		}
		return nil
	}
	top, err := os.OpenRoot(s.Top())
	if err != nil {
		return err
	}
	defer top.Close()
	name := filepath.FromSlash(l.name)
	if err = removeAll(filepath.Join(s.Top(), name)); err == nil {
		err = copyfile.Clear(top, name)
	}
	if err == nil {
		err = top.Mkdir(name, 0o700)
	}
	if err != nil {
		return err
	}
	temp, err := os.MkdirTemp(s.note(""), "tmp-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(temp) }() // Take removes what stays
	index := filepath.Join(temp, "index")
	if _, err := repo.Git(ctx, git.Call{WorkTree: s.at(l.name), Index: index}, "read-tree", "--reset", "-u", l.commit); err != nil {
		return err
	}
	in, err := repo.Git(ctx, git.Call{}, "ls-tree", "-rz", l.commit)
	if err != nil {
		return err
	}
	for _, inner := range links(in, l.name) {
		if err := s.bringModule(ctx, inner); err != nil {
			return err
		}
	}
	s.made.Modules = append(s.made.Modules, l.name)
	return s.moduleGit(ctx, top, repo, l, index)
}

// moduleGit writes the .git of a submodule, as files and at last: without it, the submodule is not whole. It borrows objects where the
// processes of the slot find them.
func (s *Slot) moduleGit(ctx context.Context, top *os.Root, repo *git.Repo, l link, index string) error {
	refs, err := packed(ctx, repo, "refs/heads", "refs/remotes", "refs/tags")
	if err != nil {
		return err
	}
	format, err := repo.Line(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	config := "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"
	if format != "sha1" {
		config = "[core]\n\trepositoryformatversion = 1\n\tbare = false\n[extensions]\n\tobjectformat = " + format + "\n"
	}
	info, err := os.Stat(index)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(index)
	if err != nil {
		return err
	}
	shallow, err := copyfile.Read(filepath.Join(repo.Common(), "shallow"), maxRead)
	if gone(err) != nil {
		return err
	}
	at := filepath.Join(filepath.FromSlash(l.name), ".git")
	err = errors.Join(top.MkdirAll(filepath.Join(at, "objects", "pack"), 0o700), top.MkdirAll(filepath.Join(at, "refs", "heads"), 0o700))
	for name, text := range map[string]string{
		"config": config, "packed-refs": refs, "shallow": string(shallow),
		"objects/info/alternates": s.Place().Behind(filepath.Join(repo.Common(), "objects")) + "\n",
	} {
		if text != "" {
			err = errors.Join(err, put(top, filepath.Join(at, filepath.FromSlash(name)), []byte(text), time.Time{}))
		}
	}
	return errors.Join(err, put(top, filepath.Join(at, "index"), data, info.ModTime()), put(top, filepath.Join(at, "HEAD"), []byte(l.commit+"\n"), time.Time{}))
}

// unpublished says why others could not get the commit that a submodule is at, "" if its remote has it on a branch or a tag. The person's
// git asks the remote that it knows, whatever .gitmodules says, and gets the commit for rooms. What cannot be asked is not published.
func (s *Slot) unpublished(ctx context.Context, l link) string {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	const remote = "origin"
	no := func(err error) string {
		return fmt.Sprintf("whether its commit %.10s is at its remote could not be asked, so it can only be changed in place: %v", l.commit, err)
	}
	from := filepath.Join(s.p.o.Repo.Dir(), filepath.FromSlash(l.name))
	if _, err := os.Lstat(filepath.Join(from, ".git")); err != nil {
		return whySubmodule
	}
	repo, err := git.OpenRepo(ctx, from)
	if err != nil {
		return no(err)
	}
	call := git.Call{Own: repo.Own()}
	out, err := repo.Git(ctx, call, "ls-remote", "--quiet", "--", remote, "refs/heads/*", "refs/tags/*")
	if err != nil {
		return no(err)
	}
	var tips, missing strings.Builder
	for line := range strings.Lines(out) {
		id, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if strings.HasSuffix(name, "^{}") {
			continue
		}
		fmt.Fprintln(&tips, "^"+id)
		if has, err := repo.Commit(ctx, id); err != nil || has == "" {
			fmt.Fprintln(&missing, name)
		}
	}
	if missing.Len() > 0 {
		call.In = strings.NewReader(missing.String())
		if _, err := repo.Git(ctx, call, "fetch", "--quiet", "--no-tags", "--refmap=", "--no-write-fetch-head", "--no-recurse-submodules", "--stdin", "--", remote); err != nil {
			return no(err)
		}
	}
	// Nothing is left of the commit's history without that of the remote.
	left, err := repo.Git(ctx, git.Call{In: strings.NewReader(l.commit + "\n" + tips.String())}, "rev-list", "--max-count=1", "--stdin")
	if err != nil || left != "" || tips.Len() == 0 {
		return fmt.Sprintf("its commit %.10s is not at its remote: push it there to a branch, or change the submodule in place", l.commit)
	}
	return ""
}
