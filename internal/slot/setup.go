package slot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ralph/internal/copyfile"
	"ralph/internal/git"
	"ralph/internal/seq"
)

// includeFile names ignored files of a project that its copies need, in the syntax of .gitignore.
const includeFile = ".worktreeinclude"

const maxInclude = 1 << 20

// maxThere is how many names are looked for to see whether a slot is still set up.
const maxThere = 1000

// SetupError says that Setup failed: no slot can be used before somebody has looked.
type SetupError struct{ Err error }

func (e *SetupError) Error() string { return "set up: " + e.Err.Error() }

func (e *SetupError) Unwrap() error { return e.Err }

// found is what slots get of the project.
type found struct {
	files   []string
	folders []Brought
}

// setUp makes a slot ready whose files are set.
func (s *Slot) setUp(ctx context.Context, head, tree string) error {
	err := s.prepare(ctx, head, tree)
	if err == nil {
		err = s.modules(ctx)
	}
	return err
}

// prepare brings what slots get of the project and runs Setup, if the slot is new, if something
// has changed that they depend on, or if what they brought is gone.
func (s *Slot) prepare(ctx context.Context, head, tree string) error {
	if s.found == nil || s.p.judges {
		all, err := s.find(ctx)
		if err != nil {
			return err
		}
		s.found = &all
	}
	key, err := s.setupKey(ctx)
	if err != nil {
		return err
	}
	if s.made.Setup == key && s.isThere() {
		return s.copyIn(ctx, s.made.Copied)
	}
	if err = s.place(ctx); err == nil {
		err = s.copyIn(ctx, s.made.Copied)
	}
	if err == nil && s.p.o.Setup != nil {
		if s.p.setting != nil {
			s.p.setting(s.Name())
		}
		s.ranSetup = true
		if err = s.p.o.Setup(ctx, s); err != nil {
			return &SetupError{err}
		}
		err = s.back(ctx, head, tree)
	}
	if err == nil && (s.p.o.Setup != nil || len(s.made.Copied)+len(s.made.Brought) > 0) {
		s.made.There, err = s.ignored(ctx)
	}
	s.made.Setup, s.made.Size = key, s.size()
	return err
}

// find looks for what the slot gets of the project.
func (s *Slot) find(ctx context.Context) (all found, err error) {
	names, err := s.p.names(ctx)
	if err != nil {
		return all, err
	}
	var folders []string
	for _, name := range names {
		if dir, is := strings.CutSuffix(name, "/"); is {
			folders = append(folders, dir)
		} else {
			all.files = append(all.files, name)
		}
	}
	all.folders, err = s.bring(ctx, folders)
	return all, err
}

// place gives the slot the folders that it is to have, and no other that it had. Those that git would not ignore in it are left
// out, as files are: they would become part of the work.
func (s *Slot) place(ctx context.Context) (err error) {
	names := append(slices.Clone(s.found.files), seq.Map(s.found.folders, func(b Brought) string { return b.Name + "/" })...)
	if names, err = s.ignores(ctx, names); err != nil {
		return err
	}
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return err
	}
	defer root.Close()
	had := s.made.Brought
	s.made.Brought, s.made.Copied = nil, slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.HasSuffix(name, "/") })
	for _, b := range s.found.folders {
		if slices.Contains(names, b.Name+"/") {
			s.made.Brought = append(s.made.Brought, b)
		}
	}
	for _, b := range had {
		if !slices.Contains(s.made.Brought, b) {
			err = errors.Join(err, root.RemoveAll(filepath.FromSlash(b.Name)))
		}
	}
	for _, b := range s.made.Brought {
		name := filepath.FromSlash(b.Name)
		if s.p.judges && s.p.o.Setup != nil {
			err = errors.Join(err, os.MkdirAll(filepath.Join(s.underGates(), b.ID), 0o700))
		}
		if info, lerr := root.Lstat(name); err != nil || lerr == nil && info.IsDir() && slices.Contains(had, b) {
			continue
		}
		if err = copyfile.Clear(root, name); err == nil {
			err = root.Mkdir(name, 0o700)
		}
		if err == nil && !b.Laid {
			err = copyTree(ctx, root, name, s.p.tree(b.ID))
		}
	}
	return err
}

// back undoes what Setup changed of the commit's own files: it is not the work of an agent.
func (s *Slot) back(ctx context.Context, head, tree string) error {
	if err := s.files(ctx, tree); err != nil {
		return err
	}
	return s.point(ctx, head, nil)
}

// setupKey changes when Setup has to run again, or files are to be copied again.
func (s *Slot) setupKey(ctx context.Context) (string, error) {
	include, err := s.p.include()
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	// The number changes with the checks below: a slot that an older ralph made has to pass them, too.
	fmt.Fprintf(sum, "3 %q %q %q %q %v %v\n", s.p.o.Copy, s.p.o.SetupOn, include, s.p.o.SetupIs, s.p.o.Setup == nil, *s.found)
	specs := seq.Map(s.p.o.SetupOn, func(name string) string { return ":(top,glob)" + path.Join(s.p.o.Sub, name) })
	_, err = os.Lstat(filepath.Join(s.Top(), ".gitmodules"))
	submodules := err == nil
	if len(specs) > 0 || submodules {
		args := []string{"ls-files", "-sz", "--"}
		if !submodules {
			args = append(args, specs...)
		}
		out, err := s.p.o.Repo.Git(ctx, s.call(s.Top(), s.index()), args...)
		if err != nil {
			return "", err
		}
		for _, entry := range git.Split(out) {
			if !submodules || strings.HasPrefix(entry, git.Gitlink) {
				fmt.Fprintln(sum, entry)
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// isThere says that nobody has removed what the slot was set up with.
func (s *Slot) isThere() bool {
	return !slices.ContainsFunc(s.made.There, func(name string) bool {
		_, err := os.Lstat(filepath.Join(s.Top(), filepath.FromSlash(name)))
		return err != nil
	})
}

// ignored lists what git ignores in the slot: whole folders where it can.
func (s *Slot) ignored(ctx context.Context) ([]string, error) {
	out, err := s.p.o.Repo.Git(ctx, s.call(s.Top(), s.index()), "ls-files", "-oiz", "--directory", "--exclude-standard")
	list := git.Split(out)
	return list[:min(len(list), maxThere)], err
}

// Lacks lists what git ignores in the project and is not in the slot, what is on top first: whole folders where it can.
func (s *Slot) Lacks(ctx context.Context) ([]string, error) {
	repo := s.p.o.Repo
	out, err := repo.Git(ctx, git.Call{WorkTree: repo.Dir(), Index: filepath.Join(repo.Own(), "index"), Own: repo.Own()}, "ls-files", "-oiz", "--directory", "--exclude-standard")
	list := slices.DeleteFunc(s.p.others(out), func(name string) bool {
		_, err := os.Lstat(s.at(name))
		return err == nil
	})
	depth := func(name string) int { return strings.Count(strings.TrimSuffix(name, "/"), "/") }
	slices.SortStableFunc(list, func(a, b string) int { return depth(a) - depth(b) })
	return list, err
}

// include is what the project's file names that slots get.
func (p *Pool) include() ([]byte, error) {
	text, err := copyfile.Read(filepath.Join(p.o.Project, includeFile), maxInclude)
	if gone(err) != nil { // git would wait for a pipe
		return nil, &SetupError{fmt.Errorf("%w; correct or remove it", err)}
	}
	return text, nil
}

// listing is what slots get of the project, by name. To look for it takes as long as the project is large, so that is done once for
// each text of the file that names it.
type listing struct {
	sync.Mutex
	done    bool
	include string
	names   []string

	resolved bool // no file of Git LFS is a pointer
}

func (p *Pool) names(ctx context.Context) ([]string, error) {
	include, err := p.include()
	if err != nil {
		return nil, err
	}
	l := p.listed
	l.Lock()
	defer l.Unlock()
	if l.done && l.include == string(include) {
		return l.names, nil
	}
	names, err := p.list(ctx, p.o.Copy)
	if err == nil {
		l.done, l.include, l.names = true, string(include), names
	}
	return names, err
}

// list lists the files and folders of the project that patterns or its own file name for slots.
func (p *Pool) list(ctx context.Context, patterns []string) ([]string, error) {
	o := p.o
	if _, err := os.Stat(filepath.Join(o.Project, includeFile)); err != nil && len(patterns) == 0 {
		return nil, nil
	}
	args := []string{"ls-files", "-oiz", "--directory", "--exclude-per-directory=" + includeFile}
	for _, pattern := range patterns {
		if strings.HasPrefix(pattern, "/") {
			pattern = path.Join("/", o.Sub, pattern)
		}
		args = append(args, "--exclude="+pattern)
	}
	if args = append(args, "--"); o.Sub != "" {
		args = append(args, ":(top,literal)"+o.Sub)
	}
	out, err := o.Repo.Git(ctx, git.Call{WorkTree: o.Repo.Dir(), Index: filepath.Join(o.Repo.Own(), "index"), Own: o.Repo.Own()}, args...)
	return p.others(out), err
}

// others are the names in what git lists, without ralph's own. Git lists a folder too of which it lists what is in it.
func (p *Pool) others(out string) []string {
	names := git.Split(out)
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return git.Within(name, []string{path.Join(p.o.Sub, ".ralph")}) || strings.HasSuffix(name, "/") && slices.ContainsFunc(names, func(other string) bool {
			return other != name && strings.HasPrefix(other, name)
		})
	})
}

// ignores lists those of some names that git ignores in the slot.
func (s *Slot) ignores(ctx context.Context, names []string) ([]string, error) {
	if len(names) == 0 {
		return nil, nil
	}
	call := s.call(s.Top(), s.index())
	call.In = git.Lines(names)
	out, err := s.p.o.Repo.Git(ctx, call, "check-ignore", "-z", "--stdin")
	if git.Status(err) == 1 {
		return nil, nil
	}
	return git.Split(out), err
}

// maxDotenv is how large a file with variables may be.
const maxDotenv = 1 << 20

// isDotenv says that a file of this name holds variables, and thus secrets.
func isDotenv(name string) bool {
	return name == ".envrc" || strings.HasSuffix(name, ".env") || strings.HasPrefix(name, ".env.")
}

// copyIn copies files that differ from the project's. An agent
// may have put links in the way: none is followed out of the slot.
func (s *Slot) copyIn(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return nil
	}
	root, err := os.OpenRoot(s.Top())
	if err != nil {
		return err
	}
	defer root.Close()
	for _, name := range names {
		from := filepath.Join(s.p.o.Repo.Dir(), filepath.FromSlash(name))
		if info, err := os.Lstat(from); err == nil && s.p.o.Dotenv != nil && isDotenv(path.Base(name)) {
			text, err := copyfile.Read(from, maxDotenv)
			if err != nil && info.Mode().IsRegular() { // else it is not copied, or leads nowhere
				return fmt.Errorf("copy %s: %w", name, err)
			}
			s.p.o.Dotenv(ctx, string(text))
		}
		if err := gone(copyfile.Into(root, filepath.FromSlash(name), from)); err != nil { // the project may not have it any more
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}
