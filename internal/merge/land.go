package merge

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

	"ralph/internal/git"
	"ralph/internal/testing/failpoint"
)

// What keeps a candidate from landing.
var (
	ErrMoved  = errors.New("the target has moved")
	ErrLocked = errors.New("somebody else is changing the repository") // try again
)

// BlockedError says that the working tree which has the target checked out cannot follow it.
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

// Land moves a target, a full ref name, from onto to candidate. The working tree that has it checked out follows. If something of a
// person's keeps it from there, the candidate lands beyond the branch, and waits is why; so it does if a lock of git is there that was
// waited for long enough. If it has landed already, nothing happens.
// With ErrMoved and ErrLocked the target and all files are as they were. After any other error
// Unfinish says whether the target has moved; it is fs.ErrPermission if a person has to let us write first.
func Land(ctx context.Context, r *git.Repo, target, onto, candidate string, waited bool) (waits, err error) {
	l := &landing{repo: r, target: target, onto: onto, candidate: candidate}
	err = l.alone(ctx, func(p Place) error {
		if p.Landed == "" {
			err := l.move(ctx, p.Branch)
			if !errors.As(err, new(*BlockedError)) && (!waited || !errors.Is(err, ErrLocked)) {
				return err
			}
			waits = err
			_, err = l.landBeyond(ctx, p)
			return err
		}
		p, err := l.landBeyond(ctx, p)
		if err == nil {
			waits, err = l.advance(ctx, p)
		}
		return err
	})
	return waits, err
}

// alone moves a target while no other process does, after it has removed what an interrupted landing left.
func (l *landing) alone(ctx context.Context, do func(Place) error) error {
	last, err := l.begin(ctx)
	if err == nil {
		defer l.end()
		if last.candidate != "" {
			_, err = last.takeBack(ctx)
		}
	}
	var p Place
	if err == nil {
		p, err = At(ctx, l.repo, l.target)
	}
	if err == nil && p.stale {
		err = l.forgetLanded(ctx)
	}
	if err == nil {
		err = do(p)
	}
	if err != nil {
		return fmt.Errorf("land on %s: %w", l.target, err)
	}
	return nil
}

// landing is one fast-forward of a target.
type landing struct {
	repo                    *git.Repo
	target, onto, candidate string

	tree   git.Worktree // follows, if any does
	record *os.File     // see begin
}

// move fast-forwards a target that is at a tip.
func (l *landing) move(ctx context.Context, tip string) error {
	if done, err := l.look(ctx, tip); done || err != nil {
		return err
	}
	if err := l.checkout(ctx); err != nil {
		return err
	}
	var before os.FileInfo
	if l.tree.Dir != "" {
		var err error
		if before, err = l.clear(ctx); err != nil {
			return err
		}
		if err := l.install(); err != nil {
			return err
		}
	}
	if err := l.note(); err != nil {
		return err
	}
	failpoint.Hit("before-move")
	return l.fastForward(ctx, before)
}

// clear is a *BlockedError if files of the working tree are in the way. It returns the index as it was then.
func (l *landing) clear(ctx context.Context) (before os.FileInfo, err error) {
	if err = l.makeIndex(ctx); err == nil {
		before, err = l.copyIndex()
	}
	if err != nil {
		return nil, err
	}
	files, err := l.inTheWay(ctx)
	if err == nil && len(files) > 0 {
		err = &BlockedError{Dir: l.tree.Dir, Files: files}
	}
	return before, err
}

// look reports whether the branch, which is at a tip, has the candidate already; the error is why it cannot get it.
func (l *landing) look(ctx context.Context, tip string) (done bool, err error) {
	if tip == l.onto {
		return l.onto == l.candidate, nil
	}
	if done, err = (Place{Branch: tip}).has(ctx, l.repo, l.candidate); !done && err == nil {
		err = fmt.Errorf("%w: to %.10q", ErrMoved, tip)
	}
	return done, err
}

// checkout finds the working tree that has the target checked out.
func (l *landing) checkout(ctx context.Context) error {
	list, err := l.repo.Worktrees(ctx)
	if Detached(l.target) {
		return l.detached(list, err)
	}
	for _, w := range list {
		switch {
		case w.Rebase == l.target: // it expects the tip to be as it was
			return &BlockedError{Dir: w.Dir, Why: "a rebase of the target is in progress"}
		case w.Branch != l.target:
		case l.tree.Dir != "":
			return &BlockedError{Dir: w.Dir, Why: "the target is checked out in " + l.tree.Dir + " too"}
		default:
			l.tree = w
		}
	}
	return err
}

// detached finds the working tree whose HEAD the target is. While a branch is checked out there, that HEAD is not it.
func (l *landing) detached(list []git.Worktree, err error) error {
	head := filepath.Join(l.repo.Common(), filepath.FromSlash(l.target))
	i := slices.IndexFunc(list, func(w git.Worktree) bool { return filepath.Join(w.GitDir, "HEAD") == head })
	switch {
	case err != nil:
		return err
	case i < 0 || list[i].Branch != "":
		return fmt.Errorf("%w: HEAD is not detached any more", ErrMoved)
	case list[i].Rebase != "": // it detaches HEAD for itself
		return &BlockedError{Dir: list[i].Dir, Why: "a rebase is in progress"}
	}
	l.tree = list[i]
	return nil
}

// hook runs while git holds the locks of the target and of HEAD, and we that of the index: nobody
// can commit to the target, or leave it, between its files and the target itself. It closes
// the descriptor that is locked for whatever a filter leaves running.
const hook = `#!/bin/sh
[ "$1" = prepared ] || exit 0
head=
[ ! -f "$GIT_DIR/HEAD" ] || read -r head < "$GIT_DIR/HEAD"
if [ "$head" != "ref: $RALPH_TARGET" ] && [ "$(git symbolic-ref -q HEAD)" != "$RALPH_TARGET" ]; then
	echo "ralph: switched away" >&2
	exit 1
fi
echo "ralph: writing" >&2
git -c core.hooksPath=/dev/null read-tree -m -u "$RALPH_ONTO" "$RALPH_CANDIDATE" 3>&- &&
	mv -f "$GIT_INDEX_FILE" "$RALPH_INDEX" && rm -f "$RALPH_INDEX.lock"
exit $?
`

func (l *landing) hooks() string { return filepath.Join(filepath.Dir(l.record.Name()), "hooks") }

func (l *landing) install() error {
	at := filepath.Join(l.hooks(), "reference-transaction")
	if text, err := os.ReadFile(at); err == nil && string(text) == hook {
		return nil
	}
	return errors.Join(os.MkdirAll(l.hooks(), 0o755), os.WriteFile(at, []byte(hook), 0o755))
}

// fastForward moves the target, and the working tree with it whose index was as before. One git
// process that outlives us does both.
func (l *landing) fastForward(ctx context.Context, before os.FileInfo) error {
	was := parentOn(l.onto)
	if was == "" { // no branch may be there
		was = strings.Repeat("0", len(l.onto))
	}
	var call git.Call
	if l.tree.Dir != "" {
		if err := l.lockIndex(before); err != nil {
			l.forget()
			return err
		}
		call = l.call()
		call.Hooks = l.hooks()
		call.Env = []string{"RALPH_TARGET=" + l.tree.Branch, "RALPH_ONTO=" + l.onto, "RALPH_CANDIDATE=" + l.candidate, "RALPH_INDEX=" + l.index()}
	}
	call.Outlive, call.Holds = true, l.record
	command := []string{"update-ref", "-m", "ralph: land", l.target, l.candidate, was}
	if Detached(l.target) {
		command = slices.Insert(command, 1, "--no-deref") // should hooks not run, no branch moves that is checked out just now
	}
	said, err := l.repo.Git(ctx, call, command...)
	l.unlockIndex()
	ctx = context.WithoutCancel(ctx)
	if err != nil {
		return l.explain(ctx, err)
	}
	l.forget()
	if strings.Contains(said, "ralph: writing") {
		return nil
	}
	return l.follow(ctx)
}

// follow brings the files to a target that has moved without them: it was checked out just before, or hooks cannot
// be run. Git refuses to overwrite changes.
func (l *landing) follow(ctx context.Context) (err error) {
	if l.tree.Dir == "" {
		err = l.checkout(ctx)
	}
	if l.tree.Dir == "" { // nor does a rebase have its files
		return nil
	}
	command := []string{"read-tree", "-m", "-u", l.onto, l.candidate}
	if err == nil {
		err = l.withIndex(func(call git.Call) error {
			_, err := l.repo.Git(ctx, call, command...)
			return err
		})
	}
	if err != nil { // no ErrLocked: it is not to be tried again
		typed := git.Typed(l.tree.Dir)
		if typed == "git" {
			typed = fmt.Sprintf("git -C %q", l.tree.Dir)
		}
		err = fmt.Errorf("it has landed, but the files in %s are still the old ones, and a commit of all of them would take it back (%s); to bring them up to date: %s %s",
			l.tree.Dir, err.Error(), typed, strings.Join(command, " "))
	}
	return err
}

// explain finds out why git did not move the target, and puts back the files of a
// fast-forward that broke off, because the disk or the memory was full for example.
func (l *landing) explain(ctx context.Context, cause error) error {
	said := ""
	if failed := new(git.CommandError); errors.As(cause, &failed) {
		failed.Stderr = strings.TrimSuffix(failed.Stderr, "fatal: ref updates aborted by hook\n") // its last line is the reason
		said = failed.Stderr
	}
	has := func(word string) bool { return strings.Contains(said, word) }
	refused := slices.ContainsFunc([]string{"would be overwritten", "not uptodate", "would lose untracked", "resolve your current index"}, has)
	if has("ralph: writing") && !refused || git.Status(cause) < 0 {
		if _, err := l.takeBack(ctx); err != nil {
			return errors.Join(cause, err)
		}
	}
	l.forget()
	switch {
	case has("ralph: switched away"):
		return ErrLocked
	case refused: // it was changed a moment ago, or git was told not to look
		return &BlockedError{Dir: l.tree.Dir, Why: strings.TrimSpace(said)}
	}
	p, err := At(ctx, l.repo, l.target)
	if err != nil {
		return err
	}
	if done, err := l.look(ctx, p.Branch); done || err != nil {
		return err
	}
	if has(".lock': File exists") {
		return fmt.Errorf("%w: %w", ErrLocked, cause)
	}
	if has("Permission denied") || has("Read-only file system") {
		return fmt.Errorf("%w: %w", fs.ErrPermission, cause)
	}
	return cause
}

// maxNamed is how many files are named to git; of more, all are looked at.
const maxNamed = 200

// inTheWay lists the files of the working tree that are not as in onto where the candidate
// changes them. git would overwrite some of them: ignored ones.
func (l *landing) inTheWay(ctx context.Context) (files []string, err error) {
	changes, err := l.repo.DiffTrees(ctx, l.onto, l.candidate)
	if err != nil {
		return nil, err
	}
	if files, err = l.unmerged(ctx); err != nil { // git does not even begin while a merge is unresolved
		return nil, err
	}
	changed, going := map[string]bool{}, map[string]bool{}
	status := []string{"--literal-pathspecs", "status", "--porcelain", "-z", "--no-renames", "--untracked-files=no", "--ignore-submodules=dirty", "--"}
	for _, c := range changes {
		going[c.Path] = c.Now.Mode == git.Nothing
		status = append(status, c.Path)
	}
	if len(changes) > maxNamed { // of others it does not matter
		status = status[:slices.Index(status, "--")]
	}
	out, err := l.repo.Git(ctx, l.call(), status...)
	if err != nil {
		return nil, err
	}
	for _, line := range git.Split(out) {
		changed[line[3:]] = true
	}
	for _, c := range changes {
		if changed[c.Path] {
			files = append(files, c.Path)
		} else if c.Was.Mode == git.Nothing {
			found, err := l.inPlaceOf(ctx, c.Path, going)
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), nil
}

// inPlaceOf lists the files that are where a new one comes, or instead of a folder above it. Those
// that are going do not matter.
func (l *landing) inPlaceOf(ctx context.Context, name string, going map[string]bool) ([]string, error) {
	for at := name; at != "."; at = path.Dir(at) {
		info, err := os.Lstat(filepath.Join(l.tree.Dir, filepath.FromSlash(at)))
		switch {
		case err != nil:
			continue
		case going[at] || info.IsDir() && at != name:
			return nil, nil
		case !info.IsDir():
			return []string{at}, nil
		}
		out, err := l.repo.Git(ctx, l.call(), "--literal-pathspecs", "ls-files", "--others", "-z", "--", at)
		return git.Split(out), err
	}
	return nil, nil
}
