package merge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/testing/failpoint"
)

// What keeps a candidate from landing.
var (
	ErrMoved   = errors.New("the target has moved")
	ErrDeleted = errors.New("the target does not exist")
	ErrLocked  = errors.New("another git process holds a lock") // try again
)

// BlockedError says that the working tree which has the target checked out cannot follow it.
// Nothing was changed.
type BlockedError struct {
	Dir   string   // the working tree
	Files []string // changed or untracked, where the candidate has other content
	Why   string   // if it is not because of files
}

func (e *BlockedError) Error() string {
	if e.Why != "" {
		return e.Dir + ": " + e.Why
	}
	return fmt.Sprintf("%s has changes that landing would overwrite: %s", e.Dir, strings.Join(e.Files, ", "))
}

// errChanged says that the working tree changed while it was about to follow.
var errChanged = errors.New("the working tree is changing")

// Land moves a target, a full ref name, from onto to candidate by fast-forward. The working tree
// that has it checked out follows. If the target is there already, nothing happens. Errors
// are ErrMoved, ErrDeleted, ErrLocked, a *BlockedError, or what git said; the target and all
// files are then as they were.
func Land(ctx context.Context, r *git.Repo, target, onto, candidate string) error {
	l := &landing{repo: r, target: target, onto: onto, candidate: candidate}
	if err := l.begin(ctx); err != nil {
		return fmt.Errorf("land on %s: %w", target, err)
	}
	defer l.end()
	if err := l.heal(ctx); err != nil {
		l.torn = true
		return fmt.Errorf("land on %s: %w", target, err)
	}
	for tries := 0; ; tries++ {
		done, err := l.move(ctx)
		switch {
		case done:
			return nil
		case errors.Is(err, errChanged) && tries < 3:
			continue
		}
		return fmt.Errorf("land on %s: %w", target, err)
	}
}

// landing is one fast-forward of a target.
type landing struct {
	repo                    *git.Repo
	target, onto, candidate string

	record *os.File // see begin
	torn   bool     // files could not be put back
}

// move tries once.
func (l *landing) move(ctx context.Context) (done bool, err error) {
	if done, err := l.look(ctx); done || err != nil {
		return done, err
	}
	w, err := l.checkout(ctx)
	if err != nil {
		return false, err
	}
	if w.Dir != "" {
		changes, err := l.repo.DiffTrees(ctx, l.onto, l.candidate)
		if err != nil {
			return false, err
		}
		files, err := inTheWay(ctx, l.repo, w, l.onto, changes)
		if err != nil {
			return false, err
		}
		if len(files) > 0 {
			return false, &BlockedError{Dir: w.Dir, Files: files}
		}
		if err := l.install(ctx, w); err != nil {
			return false, err
		}
	}
	if err := l.note(w.Dir); err != nil {
		return false, err
	}
	failpoint.Hit("K20")
	failpoint.Hit("K21")
	err = l.fastForward(ctx, w)
	if err == nil && w.Dir == "" {
		l.follow(ctx)
	}
	if err != nil {
		return l.explain(context.WithoutCancel(ctx), w, err)
	}
	return true, nil
}

// look says whether the target has the candidate already, or cannot get it.
func (l *landing) look(ctx context.Context) (done bool, err error) {
	tip, err := l.repo.Commit(ctx, l.target)
	switch {
	case err != nil:
		return false, err
	case tip == "":
		return false, ErrDeleted
	case tip == l.onto:
		return l.onto == l.candidate, nil
	}
	if done, err = l.repo.IsAncestor(ctx, l.candidate, tip); done || err != nil {
		return done, err
	}
	return false, fmt.Errorf("%w: to %.10s", ErrMoved, tip)
}

// checkout finds the working tree that has the target checked out.
func (l *landing) checkout(ctx context.Context) (git.Worktree, error) {
	list, err := l.repo.Worktrees(ctx)
	if err != nil {
		return git.Worktree{}, err
	}
	var found git.Worktree
	for _, w := range list {
		switch {
		case w.Rebase == l.target: // it expects the tip to be as it was
			return found, &BlockedError{Dir: w.Dir, Why: "a rebase of the target is in progress"}
		case w.Branch != l.target:
		case found.Dir != "":
			return found, &BlockedError{Dir: w.Dir, Why: "the target is checked out in " + found.Dir + " too"}
		default:
			found = w
		}
	}
	return found, nil
}

// hook runs while git holds the locks of the target and of HEAD: nobody can commit to the target,
// or leave it, between its files and the target itself. It closes the descriptor that is
// locked for whatever a filter leaves running.
const hook = `#!/bin/sh
[ "$1" = prepared ] || exit 0
if [ "$(git symbolic-ref -q HEAD)" != "$RALPH_TARGET" ]; then
	echo "ralph: switched away" >&2
	exit 1
fi
echo "ralph: writing" >&2
git -c core.hooksPath=/dev/null read-tree -m -u "$RALPH_ONTO" "$RALPH_CANDIDATE" 3>&-
exit $?
`

// fastForward moves the target, and w with it unless nobody has it checked out. One git process
// that outlives us does both.
func (l *landing) fastForward(ctx context.Context, w git.Worktree) error {
	var call git.Call
	if w.Dir != "" {
		call = w.Call()
		call.Hooks = l.hooks()
		call.Env = []string{"RALPH_TARGET=" + l.target, "RALPH_ONTO=" + l.onto, "RALPH_CANDIDATE=" + l.candidate}
	}
	call.Outlive, call.Holds = true, l.record
	_, err := l.repo.Git(ctx, call, "update-ref", "-m", "ralph: land", l.target, l.candidate, l.onto)
	return err
}

func (l *landing) hooks() string { return filepath.Join(filepath.Dir(l.record.Name()), "hooks") }

// install writes the hook, and makes sure that git would run it: without it, the target
// would move and leave its files behind.
func (l *landing) install(ctx context.Context, w git.Worktree) error {
	at := filepath.Join(l.hooks(), "reference-transaction")
	if text, err := os.ReadFile(at); err != nil || string(text) != hook {
		if err := os.MkdirAll(l.hooks(), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(at, []byte(hook), 0o755); err != nil {
			return err
		}
	}
	call := w.Call()
	call.Hooks = l.hooks()
	_, err := l.repo.Git(ctx, call, "hook", "run", "reference-transaction", "--", "check")
	return err
}

// follow is for a working tree that has checked out the target just before it moved.
func (l *landing) follow(ctx context.Context) {
	if w, err := l.checkout(ctx); err == nil && w.Dir != "" {
		_ = inWorktree(ctx, l.repo, w, "", "read-tree", "-m", "-u", l.onto, l.candidate) // git refuses to overwrite changes
	}
}

// inWorktree runs git that writes to the index of a person: killed halfway, it would leave a lock.
func inWorktree(ctx context.Context, r *git.Repo, w git.Worktree, in string, args ...string) error {
	call := w.Call()
	call.Outlive, call.In = true, strings.NewReader(in)
	_, err := r.Git(ctx, call, args...)
	return err
}

// explain finds out why git did not move the target, and puts back the files of a
// fast-forward that broke off, because the disk or the memory was full for example.
func (l *landing) explain(ctx context.Context, w git.Worktree, cause error) (done bool, err error) {
	said := ""
	var failed *git.CommandError
	if errors.As(cause, &failed) {
		said = strings.TrimSuffix(failed.Stderr, "fatal: ref updates aborted by hook\n")
		failed.Stderr = said // whose last line is the reason
	}
	refused := slices.ContainsFunc([]string{"would be overwritten", "not uptodate", "would lose untracked", "resolve your current index"}, func(s string) bool {
		return strings.Contains(said, s)
	})
	switch {
	case strings.Contains(said, "ralph: switched away"):
		return false, errChanged
	case w.Dir != "" && refused: // it was changed a moment ago
		changes, err := l.repo.DiffTrees(ctx, l.onto, l.candidate)
		if err != nil {
			return false, err
		}
		files, err := inTheWay(ctx, l.repo, w, l.onto, changes)
		switch {
		case err != nil:
		case len(files) > 0:
			err = &BlockedError{Dir: w.Dir, Files: files}
		default: // git knows of more, such as files that it was told not to look at
			err = fmt.Errorf("%w: %w", errChanged, &BlockedError{Dir: w.Dir, Why: strings.TrimSpace(said)})
		}
		return false, err
	case strings.Contains(said, "ralph: writing") && !isLocked(cause):
		_, err := l.unlock(w, true)
		if err == nil {
			_, _, err = l.restore(ctx, w)
		}
		if err != nil {
			l.torn = true
			return false, errors.Join(cause, err)
		}
	}
	if done, err := l.look(ctx); done || err != nil {
		return done, err
	}
	if isLocked(cause) {
		return false, fmt.Errorf("%w: %w", ErrLocked, cause)
	}
	return false, cause
}

// isLocked says that git found the lock of somebody else.
func isLocked(err error) bool {
	var failed *git.CommandError
	return errors.As(err, &failed) && strings.Contains(failed.Stderr, ".lock': File exists")
}

// inTheWay lists the files of a working tree that are not as in onto where the candidate
// changes them. git would overwrite some of them: ignored ones.
func inTheWay(ctx context.Context, r *git.Repo, w git.Worktree, onto string, changes []git.Diff) ([]string, error) {
	files, err := differing(ctx, r, w, onto, changes)
	if err != nil || len(files) == 0 {
		return nil, err
	}
	// Some may only have been touched.
	if err := inWorktree(ctx, r, w, "", "update-index", "--unmerged", "--refresh"); isLocked(err) {
		return nil, fmt.Errorf("%w: %w", ErrLocked, err)
	}
	return differing(ctx, r, w, onto, changes)
}

func differing(ctx context.Context, r *git.Repo, w git.Worktree, onto string, changes []git.Diff) ([]string, error) {
	var files []string
	dirty := map[string]bool{}
	for _, args := range [][]string{{"diff-files", "--name-status", "-z"}, {"diff-index", "--cached", "--name-status", "--no-renames", "-z", onto}} {
		out, err := r.Git(ctx, w.Call(), args...)
		if err != nil {
			return nil, err
		}
		for pair := range slices.Chunk(git.Split(out), 2) {
			dirty[pair[1]] = true
			if pair[0] == "U" { // git does not even begin while a merge is unresolved
				files = append(files, pair[1])
			}
		}
	}
	going := map[string]bool{}
	for _, c := range changes {
		going[c.Path] = c.Now.Mode == git.Nothing
	}
	for _, c := range changes {
		if dirty[c.Path] {
			files = append(files, c.Path)
		}
		if c.Was.Mode != git.Nothing {
			continue
		}
		at, info := c.Path, os.FileInfo(nil)
		for at != "." { // itself, or what is there instead of a folder above it
			if found, err := os.Lstat(filepath.Join(w.Dir, filepath.FromSlash(at))); err == nil {
				info = found
				break
			}
			at = filepath.ToSlash(filepath.Dir(filepath.FromSlash(at)))
		}
		switch {
		case info == nil || info.IsDir() && at != c.Path || going[at] || dirty[c.Path]:
		case !info.IsDir():
			files = append(files, at)
		default: // a folder becomes a file
			out, err := r.Git(ctx, w.Call(), "--literal-pathspecs", "ls-files", "--others", "-z", "--", at)
			if err != nil {
				return nil, err
			}
			files = append(files, git.Split(out)...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}
