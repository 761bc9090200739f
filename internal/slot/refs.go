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

// maxRefs is how many an attempt may make. A clone of something into the slot's own repository has more.
const maxRefs = 50

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

// Refs lists what an attempt made of tags and branches, on base. What it goes on with from an earlier one is named. In the project's own
// folder it is all that came there since, whoever made it.
func (s *Slot) Refs(ctx context.Context, base string, earlier ...string) ([]MadeRef, error) {
	given := s.given()
	if given == nil || s.finished != nil {
		return nil, nil
	}
	now, err := s.refsNow(ctx)
	if err != nil {
		return nil, err
	}
	var list []MadeRef
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if _, was := given[name]; (!was || slices.Contains(earlier, name)) && plainName(name) && name != "refs/heads/"+s.p.o.Branch {
			list = append(list, MadeRef{Name: name, ID: now[name]})
		}
	}
	if len(list) == 0 || len(list) > maxRefs {
		return nil, nil
	}
	return list, s.describe(ctx, base, list)
}

// plainName reports whether git takes a name, and nothing in it is special to a shell: an agent can write any file.
func plainName(ref string) bool {
	strange := func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("./_+-@", r)
	}
	odd := func(part string) bool {
		return part == "" || strings.ContainsRune(".-@", rune(part[0])) || strings.HasSuffix(part, ".") || strings.HasSuffix(part, ".lock")
	}
	return len(ref) <= maxRefName && !strings.ContainsFunc(ref, strange) && !strings.Contains(ref, "..") && !slices.ContainsFunc(strings.Split(ref, "/"), odd)
}

const maxRefName = 200

// refsNow are the refs in the slot. They are read as files, because no git starts from what an agent wrote.
func (s *Slot) refsNow(ctx context.Context) (map[string]string, error) {
	if s.here() {
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
	if s.here() {
		return git.Call{}
	}
	return git.Call{Env: []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + git.Quote(filepath.Join(s.Top(), ".git", "objects"))}}
}

// describe finds out what refs point at.
func (s *Slot) describe(ctx context.Context, base string, list []MadeRef) error {
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
		// What is only below refs/ralph is nobody's history yet.
		out, err := s.p.o.Repo.Git(ctx, s.borrowing(), "rev-list", "--max-count=1", r.Commit, "--not", base, "--exclude=refs/ralph/*", "--all")
		if err != nil {
			return err
		}
		r.Known = out == ""
	}
	return nil
}

// Bring copies the objects that refs need into the project's repository. Each gets its ID anew from its content.
func (s *Slot) Bring(ctx context.Context, base string, refs []MadeRef) error {
	if s.here() || len(refs) == 0 {
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
	if s.here() || len(refs) == 0 {
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

func isID(id string) bool {
	return (len(id) == 40 || len(id) == 64) && strings.Trim(id, "0123456789abcdef") == ""
}
