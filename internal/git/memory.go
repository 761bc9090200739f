package git

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/internal/copyfile"
)

// memory is what is kept beside an index of ours: of which tree it is, and what that rests
// on besides the files. It is kept only where the index holds all of the tree, without
// repositories inside and large files.
type memory struct {
	Index   string // what it belongs to
	Tree    string
	Theirs  string   // their index, whose tracked files are in ours although they are ignored
	Exclude []string // what was left out
	Missing []string // files that were not there: ignored or not, they count if they come back
	Uses    int      // how often it was asked
}

const (
	maxMissing = 1000 // files that are looked for although they are not there
	// Git notes in the index which folders it read, so that it need not read them again. To
	// write the index costs about as much as to read the folders that a few attempts change.
	usesPerNote = 16
)

// noHead says in our repository that nothing is checked out.
const noHead = "ref: refs/heads/none"

func (s *store) remembered() string { return s.index() + ".json" }

// mark tells one state of a file from another: of an index by its checksum at the end, too.
func mark(path string) string {
	f, info, err := copyfile.OpenPath(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := make([]byte, 20)
	_, _ = f.ReadAt(sum, max(info.Size()-int64(len(sum)), 0)) // as much as there is
	return fmt.Sprintf("%d %d %x", info.Size(), info.ModTime().UnixNano(), sum)
}

// keep puts the index in its place. Without files there is none.
func (s *store) keep(w *walk) error {
	w.memory.Index = mark(w.index())
	if w.memory.Index == mark(s.index()) {
		return nil
	}
	if err := os.Rename(w.index(), s.index()); err != nil && exists(w.index()) {
		return err
	}
	return nil
}

// remember keeps of which tree the index is that was put in its place. Another worker may have
// put its own there meanwhile.
func (s *store) remember(w *walk, exclude []string, tree string) error {
	now := w.memory
	now.Tree, now.Exclude = tree, exclude
	if !w.dated || len(now.Missing) > maxMissing {
		return nil
	}
	data, err := json.Marshal(now)
	if err == nil {
		err = put(s.remembered(), data)
	}
	return err
}

// dated says that a folder gets another time when a file is made in it, by which git knows
// whether it has to read the folder again.
func dated(folder string) bool {
	old := time.Unix(1e9, 0)
	if os.Chtimes(folder, old, old) != nil || os.WriteFile(filepath.Join(folder, "new"), nil, 0o600) != nil {
		return false
	}
	info, err := os.Stat(folder)
	return err == nil && !info.ModTime().Equal(old)
}

// changed lists what differs from the tree that the index is of, which is the same one if
// there is nothing. It does not know if nothing is remembered, or if there are repositories.
func (s *store) changed(ctx context.Context, w *walk, env, exclude []string) (names []string, known bool, err error) {
	if !w.dated {
		return nil, false, nil
	}
	theirs := mark(filepath.Join(s.theirs, "index"))
	w.memory = memory{Theirs: theirs}
	var was memory
	data, _ := os.ReadFile(s.remembered()) // what cannot be read names no index
	if err := json.Unmarshal(data, &was); err != nil {
		was.Index = ""
	}
	if was.Index == "" || was.Index != mark(w.index()) || !slices.Equal(was.Exclude, exclude) {
		return nil, false, nil
	}
	if w.memory.Uses = was.Uses + 1; was.Uses%usesPerNote != 0 {
		env = append(env, "GIT_OPTIONAL_LOCKS=0")
	}
	where := []string{"--"}
	if s.dir != s.top {
		where = append(where, ".")
	}
	branch, commit := head(s.dir)
	if err := put(filepath.Join(s.path, "HEAD"), []byte(cmp.Or(commit, noHead))); err != nil {
		return nil, false, err
	}
	out, err := s.git(ctx, env, nil, append([]string{"status", "--porcelain", "-z", "--untracked-files=all", "--no-renames", "--ignore-submodules=dirty"}, where...)...)
	if err != nil {
		return nil, false, err
	}
	var differ []string // from what is committed, at least
	rules := theirs != was.Theirs
	for _, entry := range Split(out) {
		name := strings.TrimPrefix(entry[3:], s.prefix())
		if strings.HasSuffix(name, "/") {
			return nil, false, nil
		}
		if differ = append(differ, name); entry[1] != ' ' {
			names = append(names, name)
			rules = rules || path.Base(name) == ".gitignore"
		}
	}
	if rules {
		for _, entry := range s.tracked(ctx, w, "--ignored", "--exclude-per-directory=.gitignore", "--exclude-from="+filepath.Join(s.path, "info", "exclude")) {
			mode, name, _ := strings.Cut(entry, "\t")
			if strings.HasPrefix(mode, Gitlink) && exists(filepath.Join(s.dir, name, ".git")) {
				return nil, false, nil
			}
			names = append(names, name)
		}
	}
	for _, name := range was.Missing {
		if exists(filepath.Join(s.dir, filepath.FromSlash(name))) {
			names = append(names, name)
		} else {
			w.memory.Missing = append(w.memory.Missing, name)
		}
	}
	slices.Sort(names) // a file goes before what takes its place as a folder
	if w.same = was.Tree; s.dir == s.top {
		differ = append(differ, names...)
		slices.Sort(differ)
		w.taken.branch, w.taken.head, w.taken.differ = branch, commit, slices.Compact(differ)
	}
	return slices.Compact(names), true, nil
}
