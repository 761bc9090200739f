package slot

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

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

// setUp copies what slots get of the project and runs Setup, if the slot is new, if something
// has changed that they depend on, or if what they brought is gone.
func (s *Slot) setUp(ctx context.Context, head, tree string) error {
	key, err := s.setupKey(ctx)
	if err != nil {
		return err
	}
	if s.made.Setup == key && s.isThere() {
		return s.copyIn(ctx, s.made.Copied)
	}
	if s.made.Copied, err = s.toCopy(ctx); err == nil {
		if err := s.refuseBound(s.made.Copied); err != nil {
			return &SetupError{err}
		}
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
	if err == nil && (s.p.o.Setup != nil || len(s.made.Copied) > 0) {
		s.made.There, err = s.ignored(ctx)
	}
	s.made.Setup, s.made.Size = key, s.size()
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
	include, err := copyfile.Read(filepath.Join(s.p.o.Project, includeFile), maxInclude)
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // git would wait for a pipe
		return "", &SetupError{fmt.Errorf("%w; correct or remove it", err)}
	}
	sum := sha256.New()
	// The number changes with the checks below: a slot that an older ralph made has to pass them, too.
	fmt.Fprintf(sum, "2 %q %q %q %q %v\n", s.p.o.Copy, s.p.o.SetupOn, include, s.p.o.SetupIs, s.p.o.Setup == nil)
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

// toCopy lists the files and folders of the project that slots get too. Those that git would
// not ignore in the slot are left out: they would become part of the work.
func (s *Slot) toCopy(ctx context.Context) ([]string, error) {
	o := s.p.o
	if _, err := os.Stat(filepath.Join(o.Project, includeFile)); err != nil && len(o.Copy) == 0 {
		return nil, nil
	}
	args := []string{"ls-files", "-oiz", "--directory", "--exclude-per-directory=" + includeFile}
	for _, pattern := range o.Copy {
		if strings.HasPrefix(pattern, "/") {
			pattern = path.Join("/", o.Sub, pattern)
		}
		args = append(args, "--exclude="+pattern)
	}
	if args = append(args, "--"); o.Sub != "" {
		args = append(args, ":(top,literal)"+o.Sub)
	}
	out, err := o.Repo.Git(ctx, s.call(o.Repo.Dir(), filepath.Join(o.Repo.Own(), "index")), args...)
	names := git.Split(out)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	// Git lists a folder too of which it lists what is in it.
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return strings.HasSuffix(name, "/") && slices.ContainsFunc(names, func(other string) bool {
			return other != name && strings.HasPrefix(other, name)
		})
	})
	call := s.call(s.Top(), s.index())
	call.In = git.Lines(names)
	out, err = o.Repo.Git(ctx, call, "check-ignore", "-z", "--stdin")
	if git.Status(err) == 1 {
		return nil, nil
	}
	return slices.DeleteFunc(git.Split(out), func(name string) bool { return git.Within(name, []string{s.ralph()}) }), err
}

// maxDotenv is how large a file with variables may be.
const maxDotenv = 1 << 20

// isDotenv says that a file of this name holds variables, and thus secrets.
func isDotenv(name string) bool {
	return name == ".envrc" || strings.HasSuffix(name, ".env") || strings.HasPrefix(name, ".env.")
}

// copyIn copies files that differ from the project's, and folders that are missing. An agent
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
		if _, err := root.Lstat(strings.TrimSuffix(name, "/")); err == nil && strings.HasSuffix(name, "/") {
			continue
		}
		from := filepath.Join(s.p.o.Repo.Dir(), filepath.FromSlash(name))
		err := filepath.WalkDir(from, func(at string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(s.p.o.Repo.Dir(), at)
			if err == nil && s.p.o.Dotenv != nil && isDotenv(d.Name()) {
				if rel := filepath.ToSlash(rel); rel != name {
					s.made.Copied = append(s.made.Copied, rel) // the next attempt skips the folder, which is there
				}
				text, rerr := copyfile.Read(at, maxDotenv)
				if s.p.o.Dotenv(ctx, string(text)); d.Type().IsRegular() { // else it is not copied, or leads nowhere
					err = rerr
				}
			}
			if err != nil {
				return err
			}
			return copyfile.Into(root, rel, at)
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // the project may not have it any more
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}
