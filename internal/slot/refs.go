package slot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/internal/copyfile"
	"ralph/internal/git"
)

// MadeRef is a tag or branch that is in a slot and was not there when the attempt began.
type MadeRef struct {
	Name   string // in full
	ID     string // a commit, or an annotated tag
	Commit string // that it stands for; "" for an object of another kind, or a tag of a tag
	Tree   string // of the commit
	Known  bool   // the commit is below the work, or has a name in the project's repository
}

// refsNote has the refs that the slot was given.
const refsNote = "refs"

// below are the folders of what an agent may make.
var refFolders = []string{"refs/heads", "refs/tags"}

// given are the refs that were in the slot when the attempt began; nil if nothing is known of them.
func (s *Slot) given() map[string]string {
	text, err := os.ReadFile(s.note(refsNote))
	if err != nil {
		return nil
	}
	return packedNames(string(text))
}

func packedNames(text string) map[string]string {
	list := map[string]string{}
	for line := range strings.Lines(text) {
		if id, name, is := strings.Cut(strings.TrimSuffix(line, "\n"), " "); is && isID(id) {
			list[name] = id
		}
	}
	return list
}

// Refs lists what an attempt made of tags and branches. What it goes on with from an earlier one is named. In the project's own
// folder it is all that came there since, from the agent or a person. Describe finds out what they point at.
func (s *Slot) Refs(ctx context.Context, earlier ...string) (list []MadeRef, err error) {
	given := s.given()
	if given == nil || s.finished != nil {
		return nil, nil
	}
	now, err := s.refsNow(ctx)
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, was := given[name]; (!was || slices.Contains(earlier, name)) && gitTakes(name) && name != "refs/heads/"+s.p.o.Branch {
			list = append(list, MadeRef{Name: name, ID: now[name]})
		}
	}
	return list, err
}

// GoneRefs lists the refs that were in the project's own folder when the attempt began and are deleted, or moved to where their commit is not
// below, by the agent or a person. In a slot of an agent's own nothing is lost by that.
func (s *Slot) GoneRefs(ctx context.Context) (list []git.Ref, err error) {
	given := s.given()
	if !s.Here() || len(given) == 0 {
		return nil, nil
	}
	now, err := s.refsNow(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		id := given[name]
		if now[name] == id {
			continue
		}
		if now[name] != "" {
			if below, err := s.p.o.Repo.IsAncestor(ctx, id, now[name]); below || err != nil && ctx.Err() != nil {
				continue
			}
		}
		list = append(list, git.Ref{Name: name, ID: id})
	}
	return list, ctx.Err()
}

// gitTakes reports whether a ref may have a name: an agent can write any file.
func gitTakes(ref string) bool {
	strange := func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) }
	odd := func(part string) bool { return part == "" || part[0] == '.' || strings.HasSuffix(part, ".lock") }
	return !strings.ContainsFunc(ref, strange) && !strings.HasSuffix(ref, ".") && !strings.Contains(ref, "..") && !strings.Contains(ref, "@{") &&
		!slices.ContainsFunc(strings.Split(ref, "/"), odd)
}

// Unfit is why a ref is none that ralph makes in the repository of a person; "" if it can be.
func (r MadeRef) Unfit() string {
	_, short, _ := strings.Cut(strings.TrimPrefix(r.Name, "refs/"), "/")
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("./_+-@", r)
	}
	odd := func(part string) bool { return part[0] == '-' || part[0] == '@' }
	first, _, _ := strings.Cut(short, "/")
	switch {
	case len(r.Name) > maxRefName:
		return fmt.Sprintf("its name is longer than %d bytes", maxRefName)
	case strings.ContainsFunc(short, strange) || slices.ContainsFunc(strings.Split(short, "/"), odd):
		return "ralph lands names of letters a to z, digits and . / _ + - @, in which no part begins with - or @"
	case short == "HEAD" || slices.Contains([]string{"refs", "heads", "tags", "remotes"}, first):
		return "git reads its name as that of another ref"
	}
	return ""
}

const maxRefName = 200

// refsNow are the refs in the slot. They are read as files, because no git starts from what an agent wrote.
func (s *Slot) refsNow(ctx context.Context) (map[string]string, error) {
	if s.Here() {
		refs, err := s.p.o.Repo.Refs(ctx, refFolders...)
		now := map[string]string{}
		for _, r := range refs {
			now[r.Name] = r.ID
		}
		return now, err
	}
	if !isDir(filepath.Join(s.Top(), ".git", "objects")) || !s.ownObjects() {
		return nil, nil
	}
	root, err := os.OpenRoot(filepath.Join(s.Top(), ".git"))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	now := packedNames(read(root, "packed-refs"))
	for name := range now {
		if !git.Within(name, refFolders) {
			delete(now, name)
		}
	}
	for _, folder := range refFolders {
		_ = fs.WalkDir(root.FS(), folder, func(name string, d fs.DirEntry, err error) error { // what cannot be read is not there
			if err == nil && d.Type().IsRegular() {
				if id := strings.TrimSpace(read(root, name)); isID(id) {
					now[name] = id
				}
			}
			return nil
		})
	}
	return now, nil
}

// ownObjects reports whether the slot's git finds objects only where ralph had it look: another repository is not to be brought in.
func (s *Slot) ownObjects() bool {
	text, err := copyfile.Read(filepath.Join(s.Top(), ".git", "objects", "info", "alternates"), maxRead)
	return err == nil && string(text) == s.alternates()
}

// borrowing is a call that sees the slot's objects.
func (s *Slot) borrowing() git.Call {
	if s.Here() {
		return git.Call{}
	}
	return git.Call{Env: []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + git.Quote(filepath.Join(s.Top(), ".git", "objects"))}}
}

// Describe finds out what refs point at, beside a base.
func (s *Slot) Describe(ctx context.Context, base string, list []MadeRef) error {
	if len(list) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, messageTimeout)
	defer cancel()
	var ask strings.Builder
	for _, r := range list {
		fmt.Fprintf(&ask, "%s^{commit}\n%[1]s^{tree}\n", r.ID)
	}
	call := s.borrowing()
	call.In = strings.NewReader(ask.String())
	out, err := s.p.o.Repo.Git(ctx, call, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	if err != nil {
		return err
	}
	lines := strings.Split(out, "\n")
	for i := range list {
		r := &list[i]
		r.Commit, _ = strings.CutSuffix(lines[2*i], " commit")
		r.Tree, _ = strings.CutSuffix(lines[2*i+1], " tree")
		if !isID(r.Commit) || !isID(r.Tree) {
			r.Commit, r.Tree = "", ""
			continue
		}
		// What is only below refs/ralph is not part of the project's history yet, even the base: it may be held work.
		args := []string{"rev-list", "--max-count=1", r.Commit, "--not", "--exclude=refs/ralph/*", "--all"}
		if r.Commit != base {
			args = append(args, base)
		}
		out, err := s.p.o.Repo.Git(ctx, s.borrowing(), args...)
		if err != nil {
			return err
		}
		r.Known = out == ""
	}
	return nil
}

// Bring copies the objects that refs need into the project's repository. Each gets its ID anew from its content.
func (s *Slot) Bring(ctx context.Context, base string, refs []MadeRef) error {
	if s.Here() || len(refs) == 0 {
		return nil
	}
	there, err := s.p.o.Repo.Refs(ctx, "refs/heads", "refs/tags", "refs/remotes")
	if err != nil {
		return err
	}
	var in strings.Builder
	for _, r := range refs {
		in.WriteString(r.ID + "\n")
	}
	in.WriteString("^" + base + "\n")
	for _, r := range there {
		in.WriteString("^" + r.ID + "\n")
	}
	call := s.borrowing()
	call.In = strings.NewReader(in.String())
	pack, err := s.p.o.Repo.Git(ctx, call, "pack-objects", "-q", "--stdout", "--revs")
	if err == nil {
		_, err = s.p.o.Repo.Git(ctx, git.Call{In: strings.NewReader(pack)}, "index-pack", "--stdin", "--fix-thin", "--strict")
	}
	if err != nil {
		return fmt.Errorf("keep what the tags and branches of %s point at: %w", s.Name(), err)
	}
	return nil
}

// GiveRefs puts what an earlier attempt made into the slot.
func (s *Slot) GiveRefs(refs map[string]string) error {
	if s.Here() || len(refs) == 0 {
		return nil
	}
	root, err := os.OpenRoot(filepath.Join(s.Top(), ".git"))
	if err != nil {
		return err
	}
	defer root.Close()
	for name, id := range refs {
		err = errors.Join(err, put(root, path.Clean(name), []byte(id+"\n"), time.Time{}))
	}
	return err
}

// SetRefs has gates in the room see the tags and branches that work makes, by name, next to those of the project; "" for one that it
// deletes. Of other work, gates see none.
func (r Room) SetRefs(ctx context.Context, made map[string]string) error {
	note := r.note(refsNote)
	if _, err := os.Lstat(note); len(made) == 0 && errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	refs, err := r.p.o.Repo.Refs(ctx, seenRefs...)
	if err != nil {
		return err
	}
	refs = slices.DeleteFunc(refs, func(ref git.Ref) bool { _, is := made[ref.Name]; return is })
	for name, id := range made {
		if id != "" {
			refs = append(refs, git.Ref{Name: name, ID: id})
		}
	}
	slices.SortFunc(refs, func(a, b git.Ref) int { return strings.Compare(a.Name, b.Name) })
	root, err := os.OpenRoot(filepath.Join(r.Top(), ".git"))
	if err != nil {
		return err
	}
	defer root.Close()
	if err := os.WriteFile(note, nil, 0o600); err != nil { // first: a run that dies leaves what is to be taken out again
		return err
	}
	if err = put(root, "packed-refs", []byte(packedFile(refs)), time.Time{}); err == nil && len(made) == 0 {
		err = os.Remove(note)
	}
	return err
}

func isID(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}
