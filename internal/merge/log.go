package merge

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"ralph/internal/git"
)

// Commit is one that came to a branch.
type Commit struct {
	ID, Title string
	Task      string // that it is the work of; "" for a person's
	Author    string
}

// Who names the task, or else the author, to ask about a commit.
func (c Commit) Who() string { return cmp.Or(c.Task, c.Author) }

// String names who made a commit, and what for.
func (c Commit) String() string { return c.Who() + " (" + c.Title + ")" }

// Log lists the commits that are in the history of one and not in that of another, the newest
// first; with files only those that changed one of them.
func Log(ctx context.Context, r *git.Repo, not, in string, files ...string) ([]Commit, error) {
	args := []string{"log", "-z", "--no-show-signature", "--encoding=UTF-8", "--format=%H%n%(trailers:key=Ralph-Task,valueonly,separator=%x20)%n%an%n%s", not + ".." + in, "--"}
	out, err := r.Git(ctx, git.Call{Env: []string{"GIT_LITERAL_PATHSPECS=1"}}, append(args, files...)...)
	var list []Commit
	for entry := range strings.SplitSeq(out, "\x00") {
		if lines := strings.SplitN(entry, "\n", 4); len(lines) == 4 {
			list = append(list, Commit{ID: lines[0], Task: oneLine(lines[1]), Author: oneLine(lines[2]), Title: oneLine(lines[3])})
		}
	}
	return list, err
}

// Change is the patch of a commit, as far as it is about files.
func Change(ctx context.Context, r *git.Repo, commit string, files ...string) (string, error) {
	args := []string{"show", "--no-show-signature", "--no-ext-diff", "--no-textconv", "--no-color", "--format=", "-p", commit, "--"}
	return r.Git(ctx, git.Call{Env: []string{"GIT_LITERAL_PATHSPECS=1"}}, append(args, files...)...)
}

// recent is how many commits say who changes a file. More cost more than they tell.
const recent = 500

// Authors has who changed each file lately: people, and agents by what they are called.
type Authors map[string]map[string]bool

// Read adds who made the last commits that are in the history of tip, and not in that of another commit, unless that is "".
// The names of files begin at dir, a folder of the working tree; files outside of it are left out.
func (a Authors) Read(ctx context.Context, r *git.Repo, not, tip, dir string) error {
	if author, agent, is := r.Only(not, tip, assisted); is && not != "" { // what has just landed
		changes, err := r.DiffTrees(ctx, not, tip)
		for _, c := range changes {
			a.add(r, dir, c.Path, cmp.Or(agent, author))
		}
		return err
	}
	args := []string{
		"log", "-z", "--no-show-signature", "--encoding=UTF-8", "--no-renames", "--no-merges", "--name-only", "-n", strconv.Itoa(recent),
		"--format=%x01%an%x01%(trailers:key=" + assisted + ",valueonly,separator=%x20)", tip,
	}
	if not != "" {
		args = append(args, "^"+not)
	}
	out, err := r.Git(ctx, git.Call{}, append(args, "--")...)
	who := ""
	for field := range strings.SplitSeq(out, "\x00") {
		field = strings.TrimPrefix(field, "\n") // between what is said of a commit and its files
		if said := strings.Split(field, "\x01"); len(said) == 3 {
			who = cmp.Or(strings.TrimSpace(said[2]), said[1])
			continue
		}
		if field != "" {
			a.add(r, dir, field, who)
		}
	}
	return err
}

func (a Authors) add(r *git.Repo, dir, file, who string) {
	name, within := r.Within(dir, file)
	if within && a[name] == nil {
		a[name] = map[string]bool{}
	}
	if within {
		a[name][who] = true
	}
}

// Size is what a commit changes, as far as it can be counted: binary files have no lines.
type Size struct {
	Files []string // from dir on, those outside of it left out
	Lines int
}

// Sizes counts what each of these commits changes, in one call. Commits that are gone are left out.
func Sizes(ctx context.Context, r *git.Repo, dir string, commits []string) (map[string]Size, error) {
	there, err := Existing(ctx, r, commits)
	if err != nil || len(there) == 0 {
		return nil, err
	}
	in := strings.NewReader(strings.Join(there, "\n") + "\n")
	out, err := r.Git(ctx, git.Call{In: in}, "diff-tree", "--stdin", "-r", "-z", "--root", "-M", "--numstat", "--no-ext-diff", "--no-textconv")
	sizes, of := map[string]Size{}, ""
	fields := git.Split(out)
	for i := 0; i < len(fields); i++ {
		added, removed, path, is := git.Numstat(fields[i])
		if !is {
			of = fields[i]
			continue
		}
		if path == "" && i+2 < len(fields) { // it was renamed
			i += 2
			path = fields[i]
		}
		s := sizes[of]
		s.Lines += added + removed
		if name, within := r.Within(dir, path); within {
			s.Files = append(s.Files, name)
		}
		sizes[of] = s
	}
	return sizes, err
}

// Existing are those of these commits that git still has.
func Existing(ctx context.Context, r *git.Repo, commits []string) (there []string, err error) {
	if len(commits) == 0 {
		return nil, nil
	}
	out, err := r.Git(ctx, git.Call{In: strings.NewReader(strings.Join(commits, "\n") + "\n")}, "cat-file", "--batch-check=%(objectname) %(objecttype)")
	for line := range strings.Lines(out) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind == "commit" {
			there = append(there, id)
		}
	}
	return there, err
}
