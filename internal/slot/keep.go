package slot

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/internal/git"
)

// gitlink is the mode by which a tree names a commit of another repository.
const gitlink = "160000"

// maxNested is how many repositories that an agent made are looked into.
const maxNested = 100

// messageTimeout bounds reading objects that an agent may have written.
const messageTimeout = 30 * time.Second

// Work is what an agent left, as a commit.
type Work struct {
	Commit string // the base itself if nothing has changed
	Tree   string
	Left   []Left   // changes that are not part of it
	Nested []string // repositories that the agent made; their files are part of it
}

// Left is a change that could not be kept.
type Left struct{ Path, Why string }

func (l Left) String() string { return l.Path + ": " + l.Why }

const (
	whySubmodule = "a submodule can only be changed in place: its commit would exist in this slot only"
	whyLarge     = "the file is too large"
	whyNested    = "there are too many repositories"
)

// Keep makes a commit of the files as they are now: the whole work as one change of base. It
// changes no file, so that an agent may be at work. What cannot be kept is listed and stays as
// it was in base; the rest is never lost for it.
func (s *Slot) Keep(ctx context.Context, base, message string) (Work, error) {
	var w Work
	err := s.load()
	if err == nil {
		err = s.withIndex(ctx, s.Top(), func(g gitIn) error { return s.tree(ctx, &w, g, base) })
	}
	if err == nil {
		var was string
		if was, err = s.p.o.Repo.Line(ctx, "rev-parse", "--verify", base+"^{tree}"); err == nil && was == w.Tree {
			w.Commit = base
			return w, nil
		}
	}
	if err == nil {
		w.Commit, err = s.p.o.Repo.CommitTree(ctx, w.Tree, message, base)
	}
	if err != nil {
		return Work{}, fmt.Errorf("keep the work in slot %d: %w", s.n, err)
	}
	return w, nil
}

// ralph is the folder of the project's state in the repository: no agent's work.
func (s *Slot) ralph() string { return path.Join(s.p.o.Sub, ".ralph") }

// tree makes a tree of the files. It is not "git add -A", which runs git in every submodule
// and so whatever an agent has put into its configuration.
func (s *Slot) tree(ctx context.Context, w *Work, g gitIn, base string) error {
	list, err := g(nil, "ls-files", "-zt", "--modified", "--deleted", "--others", "--exclude-standard")
	if err != nil {
		return err
	}
	var gone, there []string
	folders := map[string]error{".": nil}
	last := ""
	for _, entry := range split(list) {
		tag, name, _ := strings.Cut(entry, " ")
		if name == last { // what is deleted is listed as modified, too
			continue
		}
		last = name
		err := s.folder(folders, path.Dir(name))
		if err == nil {
			_, err = os.Lstat(filepath.Join(s.Top(), filepath.FromSlash(name)))
		}
		switch {
		case git.Within(name, []string{s.ralph()}):
		case errors.Is(err, fs.ErrPermission): // which git takes for removed
			w.Left = append(w.Left, Left{name, err.Error()})
		case tag == "R" || tag != "?" && (err != nil || s.isFolder(name)):
			gone = append(gone, name) // a folder took its place, a link that of its folder, or it is a submodule
		case tag == "?" && strings.HasSuffix(name, "/"):
			there = append(there, s.nested(ctx, w, strings.TrimSuffix(name, "/"))...)
		default:
			there = append(there, name)
		}
	}
	there = slices.DeleteFunc(there, func(name string) bool {
		info, err := os.Lstat(filepath.Join(s.Top(), filepath.FromSlash(name)))
		large := err == nil && info.Mode().IsRegular() && info.Size() > s.p.o.MaxFile
		if large {
			w.Left = append(w.Left, Left{name, whyLarge})
		}
		return large
	})
	if len(gone) > 0 { // first: a folder may have become a file
		if _, err := g(nulled(gone), "update-index", "--force-remove", "-z", "--stdin"); err != nil {
			return err
		}
	}
	if err := add(g, w, there); err != nil {
		return err
	}
	if w.Tree, err = line(g(nil, "write-tree")); err == nil {
		err = s.restoreLinks(w, g, base)
	}
	if err == nil {
		err = s.dirtyLinks(ctx, w, g)
	}
	return err
}

func (s *Slot) isFolder(name string) bool {
	return isDir(filepath.Join(s.Top(), filepath.FromSlash(name)))
}

// folder says why a name is no folder of the slot: it may be beyond a link.
func (s *Slot) folder(known map[string]error, name string) error {
	err, looked := known[name]
	if !looked {
		if err = s.folder(known, path.Dir(name)); err == nil {
			var info fs.FileInfo
			if info, err = os.Lstat(filepath.Join(s.Top(), filepath.FromSlash(name))); err == nil && !info.IsDir() {
				err = fs.ErrNotExist
			}
		}
		known[name] = err
	}
	return err
}

// add puts files into the index. One that git cannot read is found by halving.
func add(g gitIn, w *Work, names []string) error {
	if len(names) == 0 {
		return nil
	}
	_, err := g(nulled(names), "update-index", "--add", "--remove", "--replace", "-z", "--stdin")
	var failed *git.CommandError
	switch {
	case err == nil || !errors.As(err, &failed) || failed.Status() < 0:
		return err
	case len(names) == 1:
		w.Left = append(w.Left, Left{names[0], strings.TrimSpace(failed.Stderr)})
		return nil
	}
	return errors.Join(add(g, w, names[:len(names)/2]), add(g, w, names[len(names)/2:]))
}

// nested lists the files of a repository that the agent made, by its ignore rules. Git would
// keep only the name of its commit, which nobody else has.
func (s *Slot) nested(ctx context.Context, w *Work, dir string) (names []string) {
	if len(w.Nested) >= maxNested {
		w.Left = append(w.Left, Left{dir, whyNested})
		return nil
	}
	w.Nested = append(w.Nested, dir)
	call := git.Call{WorkTree: filepath.Join(s.Top(), filepath.FromSlash(dir)), Index: s.note("none"), Own: s.p.o.Repo.Own()} // an empty one
	list, err := s.p.o.Repo.Git(ctx, call, "ls-files", "-z", "--others", "--exclude-standard")
	if err != nil {
		w.Left = append(w.Left, Left{dir, err.Error()})
	}
	for _, name := range split(list) {
		name = dir + "/" + name
		if inner, is := strings.CutSuffix(name, "/"); is {
			names = append(names, s.nested(ctx, w, inner)...)
		} else {
			names = append(names, name)
		}
	}
	return names
}

// restoreLinks sets submodules back to what base has.
func (s *Slot) restoreLinks(w *Work, g gitIn, base string) error {
	out, err := g(nil, "diff-tree", "-r", "-z", "--no-renames", base, w.Tree)
	if err != nil {
		return err
	}
	var entries []string
	for pair := range slices.Chunk(split(out), 2) {
		fields := strings.Fields(strings.TrimPrefix(pair[0], ":")) // modes, IDs, status
		if len(pair) < 2 || len(fields) < 4 || fields[0] != gitlink && fields[1] != gitlink {
			continue
		}
		entries = append(entries, fields[0]+" "+fields[2]+"\t"+pair[1])
		w.Left = append(w.Left, Left{pair[1], whySubmodule})
	}
	if len(entries) == 0 {
		return nil
	}
	if _, err := g(nulled(entries), "update-index", "--replace", "-z", "--index-info"); err != nil {
		return err
	}
	w.Tree, err = line(g(nil, "write-tree"))
	return err
}

// dirtyLinks finds submodules with changes that were not even committed there: a gate would see
// them, and they would not land. It goes by the submodule's own index, read as a file.
func (s *Slot) dirtyLinks(ctx context.Context, w *Work, g gitIn) error {
	if _, err := os.Lstat(filepath.Join(s.Top(), ".gitmodules")); err != nil {
		return nil
	}
	list, err := g(nil, "ls-files", "-sz")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, entry := range split(list) {
		_, name, _ := strings.Cut(entry, "\t")
		if !strings.HasPrefix(entry, gitlink) || slices.Contains(w.Left, Left{name, whySubmodule}) {
			continue
		}
		at := strings.TrimPrefix(strings.TrimSpace(read(root, name+"/.git")), "gitdir: ")
		data := read(root, path.Join(name, at, "index"))
		if data == "" { // it is not set up
			continue
		}
		index := s.note("submodule")
		if err := os.WriteFile(index, []byte(data), 0o600); err != nil {
			return err
		}
		call := git.Call{WorkTree: filepath.Join(s.Top(), filepath.FromSlash(name)), Index: index, Own: s.p.o.Repo.Own()}
		changes, err := s.p.o.Repo.Git(ctx, call, "ls-files", "-zmo", "--exclude-standard")
		if err != nil || changes != "" {
			w.Left = append(w.Left, Left{name, whySubmodule})
		}
	}
	return nil
}

func line(out string, err error) (string, error) { return strings.TrimSuffix(out, "\n"), err }

// Conflict is how two commits do not merge.
type Conflict struct {
	Tree  string   // the merge, with markers in files
	Paths []string // in conflict; none if the commits do merge
}

// Conflict shows what comes of merging work into onto, with conflict markers: onto is checked
// out, and git in the slot says which paths are unmerged.
func (s *Slot) Conflict(ctx context.Context, onto, work string) (Conflict, error) {
	out, err := s.p.o.Repo.Git(ctx, git.Call{}, "merge-tree", "--write-tree", "-z", "--no-messages", onto, work)
	var failed *git.CommandError
	if err != nil && (!errors.As(err, &failed) || failed.Status() != 1) {
		return Conflict{}, fmt.Errorf("merge in slot %d: %w", s.n, err)
	}
	fields := split(out)
	if len(fields) == 0 {
		return Conflict{}, fmt.Errorf("merge in slot %d: %w", s.n, io.ErrUnexpectedEOF)
	}
	c := Conflict{Tree: fields[0]}
	var stages []string
	for _, entry := range fields[1:] { // mode, ID, stage, path
		_, name, _ := strings.Cut(entry, "\t")
		if !slices.Contains(c.Paths, name) {
			c.Paths = append(c.Paths, name)
			stages = append(stages, "0 "+strings.Repeat("0", len(c.Tree))+"\t"+name)
		}
		stages = append(stages, entry)
	}
	return c, s.show(ctx, onto, onto, c.Tree, stages, c.Paths)
}

// Base is the commit below the work in the slot.
func (s *Slot) Base() string { return s.made.Base }

// Unresolved lists the files in conflict that still have conflict markers: what is in the
// slot is then a merge that nobody finished.
func (s *Slot) Unresolved() []string {
	return slices.DeleteFunc(slices.Clone(s.made.Conflicts), func(name string) bool {
		text, err := os.ReadFile(filepath.Join(s.Top(), filepath.FromSlash(name)))
		return err != nil || !bytes.Contains(text, []byte("<<<<<<< ")) || !bytes.Contains(text, []byte(">>>>>>> "))
	})
}

// Message is what the agent wrote into its own commits since the slot was last shown a commit,
// the oldest first; "" if it made none. Its objects are read by the project's git.
func (s *Slot) Message(ctx context.Context) (string, error) {
	if err := s.load(); err != nil {
		return "", err
	}
	id, objects := s.head(), filepath.Join(s.Top(), ".git", "objects")
	if id == "" || id == s.made.Commit || !isDir(objects) {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, messageTimeout)
	defer cancel()
	call := git.Call{Env: []string{"GIT_ALTERNATE_OBJECT_DIRECTORIES=" + quoted(objects)}}
	// 4,000 characters of each will do; git fills up what is shorter with blanks.
	out, err := s.p.o.Repo.Git(ctx, call, "log", "-z", "--reverse", "--no-merges", "--max-count=100", "--encoding=UTF-8", "--no-show-signature", "--no-notes",
		"--no-color", "--format=%<(4000,trunc)%B", s.made.Commit+".."+id)
	if err != nil {
		return "", fmt.Errorf("messages of slot %d: %w", s.n, err)
	}
	var messages []string
	for _, message := range split(out) {
		if message = strings.TrimSpace(message); message != "" {
			messages = append(messages, message)
		}
	}
	return strings.Join(messages, "\n\n"), nil
}

// quoted is a path in a list of them, in which a colon ends one.
func quoted(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
