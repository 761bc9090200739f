package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ralph/verify/suite"
)

// history makes a corpus of a repository's own commits that changed code and tests. Right work is such a commit without its
// tests; wrong work is the same with one hunk left out, or one line mutated, so that those tests fail. The gate is what runs
// the tests, as they were before; the oracle is the same with the tests of the commit.
func history(ctx context.Context, o options) error {
	if made, err := filepath.Glob(filepath.Join(o.Corpus, "*.json")); err != nil || len(made) >= 2*o.History {
		return err // it was made before
	}
	if err := os.MkdirAll(o.Corpus, 0o700); err != nil {
		return err
	}
	place, err := os.MkdirTemp(o.Work, "history")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(place) }()
	source, err := repository(o.Bases, "")
	if err != nil {
		return err
	}
	log, err := command{dir: source}.git(ctx, "log", "--no-merges", "--format=%H %P")
	if err != nil {
		return err
	}
	h := historian{o, source, filepath.Join(place, "tree")}
	found := 0
	for line := range strings.Lines(log) {
		commit, parent, _ := strings.Cut(strings.TrimSpace(line), " ")
		if parent == "" || found == o.History {
			break
		}
		if h.has(commit) { // it was interrupted
			found++
			continue
		}
		good, bad, err := h.pair(ctx, commit, parent)
		if errors.Is(err, errOther) {
			continue
		}
		if errors.Is(err, errUnfit) {
			fmt.Fprintf(o.Stderr, "%.10s is left out: %v\n", commit, err)
			continue
		}
		if err == nil {
			err = errors.Join(writeInstance(o.Corpus, bad), writeInstance(o.Corpus, good))
		}
		if err != nil {
			return err
		}
		found++
		fmt.Fprintf(o.Stderr, "%.10s is %d of %d\n", commit, found, o.History)
	}
	if found == 0 {
		return errors.New("no commit changed both code and tests so that the tests tell")
	}
	return nil
}

var (
	errOther = errors.New("it does not change both code and tests")
	errUnfit = errors.New("no instance can be made from it")
)

type historian struct {
	options
	source string
	tree   string // a checkout for trying
}

// has reports whether both instances of a commit are there. The right one is written last.
func (h historian) has(commit string) bool {
	_, err := os.Stat(filepath.Join(h.Corpus, idOf(commit, right)+".json"))
	return err == nil
}

func idOf(commit, label string) string { return commit[:12] + "-" + label }

// pair makes right and wrong work of a commit.
func (h historian) pair(ctx context.Context, commit, parent string) (good, bad instance, err error) {
	in := command{dir: h.source}
	names, err := in.git(ctx, "diff", "--name-only", "--no-renames", "-z", parent, commit)
	if err != nil {
		return good, bad, err
	}
	var code, tests []string
	for _, name := range strings.Split(strings.TrimSuffix(names, "\x00"), "\x00") {
		if suite.IsTest(name) {
			tests = append(tests, name)
		} else {
			code = append(code, name)
		}
	}
	if len(code) == 0 || len(tests) == 0 {
		return good, bad, errOther
	}
	diff := func(names []string) string {
		out, failed := in.git(ctx, append([]string{"diff", "--no-renames", "--no-color", "--no-ext-diff", "--binary", parent, commit, "--"}, names...)...)
		err = errors.Join(err, failed)
		return out
	}
	words, failed := in.git(ctx, "log", "-1", "--format=%B", commit)
	good = instance{
		ID: idOf(commit, right), Repo: filepath.Base(h.source), Base: parent, Problem: words, Patch: diff(code), Resolved: true, Files: code,
		OldTests: h.Gate, HiddenTests: h.Gate, TestPatch: diff(tests),
	}
	if err = errors.Join(err, failed); err != nil {
		return good, bad, err
	}
	good.GoldPatch = good.Patch
	good.Added, good.Removed = lines(good.Patch)
	for _, want := range []struct {
		patch, truth, otherwise string
		hidden                  bool
	}{
		{"", right, "the tests fail before it", false},
		{good.Patch, right, "its own tests fail", true},
		{"", wrong, "its tests pass without it", true},
	} {
		truth, err := h.try(ctx, good, want.patch, want.hidden)
		if err != nil {
			return good, bad, err
		}
		if truth != want.truth {
			return good, bad, fmt.Errorf("%w: %s", errUnfit, want.otherwise)
		}
	}
	bad, err = h.spoil(ctx, good)
	return good, bad, err
}

func lines(patch string) (added, removed int) {
	for line := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(line, "+++ "), strings.HasPrefix(line, "--- "):
		case strings.HasPrefix(line, "+"):
			added++
		case strings.HasPrefix(line, "-"):
			removed++
		}
	}
	return added, removed
}

// maxTries is how many ways to spoil a commit are tried: each costs two runs of the tests.
const maxTries = 12

// spoil makes wrong work of right work. Best is what the old tests accept.
func (h historian) spoil(ctx context.Context, good instance) (bad instance, err error) {
	bad, bad.ID, bad.Resolved = good, strings.TrimSuffix(good.ID, right)+wrong, false
	for i, patch := range slices.Concat(without(good.Patch), mutants(good.Patch)) {
		if i == maxTries {
			break
		}
		truth, err := h.try(ctx, good, patch, true)
		if err != nil {
			return bad, err
		}
		if truth != wrong {
			continue
		}
		if bad.Patch == good.Patch { // the first
			bad.Patch = patch
		}
		if truth, err = h.try(ctx, good, patch, false); err != nil {
			return bad, err
		}
		if truth == right {
			bad.Patch = patch
			break
		}
	}
	if bad.Patch == good.Patch {
		return bad, fmt.Errorf("%w: its tests pass without any hunk of it", errUnfit)
	}
	bad.Added, bad.Removed = lines(bad.Patch)
	return bad, nil
}

// try runs the tests, old or hidden, with a patch on the base of an instance.
func (h historian) try(ctx context.Context, i instance, patch string, hidden bool) (string, error) {
	if err := checkout(ctx, h.source, i.Base, h.tree); err != nil {
		return "", err
	}
	if patch != "" {
		if _, err := (command{dir: h.tree, stdin: patch}).git(ctx, "apply", "--whitespace=nowarn", "-"); err != nil {
			return unknown, ctx.Err() // such as a mutant of a line that stands twice
		}
	}
	if hidden {
		return h.judge(ctx, i, h.tree)
	}
	return h.tests(ctx, h.tree, i.OldTests)
}

// part is a file of a patch: what comes before its hunks, and them.
type part struct {
	head  string
	hunks []string
}

var hunk = regexp.MustCompile(`(?m)^@@ `)

func parts(patch string) (list []part) {
	starts := append(patched.FindAllStringIndex(patch, -1), []int{len(patch)})
	for i := range len(starts) - 1 {
		text := patch[starts[i][0]:starts[i+1][0]]
		at := append(hunk.FindAllStringIndex(text, -1), []int{len(text)})
		p := part{head: text[:at[0][0]]}
		for j := range len(at) - 1 {
			p.hunks = append(p.hunks, text[at[j][0]:at[j+1][0]])
		}
		list = append(list, p)
	}
	return list
}

// without lists a patch without each of its hunks. git finds the place of the others.
func without(patch string) (list []string) {
	all := parts(patch)
	if len(all) == 1 && len(all[0].hunks) < 2 {
		return nil // nothing would be left
	}
	for i, p := range all {
		for j := range p.hunks {
			var b strings.Builder
			for k, q := range all {
				hunks := q.hunks
				if k == i {
					hunks = slices.Delete(slices.Clone(hunks), j, j+1)
				}
				if len(hunks) > 0 || len(q.hunks) == 0 {
					b.WriteString(q.head + strings.Join(hunks, ""))
				}
			}
			list = append(list, b.String())
		}
	}
	return list
}

// mutations are what may be exchanged in a line that was added.
var mutations = []struct {
	from *regexp.Regexp
	to   string
}{
	{regexp.MustCompile(` == `), " != "},
	{regexp.MustCompile(` != `), " == "},
	{regexp.MustCompile(` <= `), " > "},
	{regexp.MustCompile(` >= `), " < "},
	{regexp.MustCompile(` < `), " >= "},
	{regexp.MustCompile(` > `), " <= "},
	{regexp.MustCompile(` && `), " || "},
	{regexp.MustCompile(` \|\| `), " && "},
	{regexp.MustCompile(`\btrue\b`), "false"},
	{regexp.MustCompile(`\bfalse\b`), "true"},
	{regexp.MustCompile(`\bTrue\b`), "False"},
	{regexp.MustCompile(`\bFalse\b`), "True"},
	{regexp.MustCompile(` and `), " or "},
	{regexp.MustCompile(` \+ `), " - "},
	{regexp.MustCompile(` - `), " + "},
	{regexp.MustCompile(` \* `), " + "},
	{regexp.MustCompile(`\b0\b`), "1"},
	{regexp.MustCompile(`\b1\b`), "2"},
}

// mutants lists a patch with one added line changed, in each way that there is.
func mutants(patch string) (list []string) {
	at := 0
	for line := range strings.Lines(patch) {
		from := at
		at += len(line)
		if !strings.HasPrefix(line, "+") || strings.HasPrefix(line, "+++ ") {
			continue
		}
		for _, m := range mutations {
			if where := m.from.FindStringIndex(line); where != nil {
				list = append(list, patch[:from]+line[:where[0]]+m.to+line[where[1]:]+patch[at:])
			}
		}
	}
	return list
}
