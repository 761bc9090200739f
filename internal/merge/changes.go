package merge

import (
	"context"
	"fmt"
	"strings"

	"ralph/internal/git"
)

// change is what two trees have of one file. Both names are the same unless it was renamed.
type change struct {
	old, path string
	was, now  git.Entry
	opaque    bool // there are no lines to compare
	hunks     []hunk
}

type hunk struct{ minus, plus []string }

// net counts how many more of each line there are, known by their words.
func (c change) net() map[string]int {
	n := map[string]int{}
	for _, h := range c.hunks {
		for _, line := range h.plus {
			n[strings.Join(words(line), " ")]++
		}
		for _, line := range h.minus {
			n[strings.Join(words(line), " ")]--
		}
	}
	return n
}

// largest is the size from which files are compared as a whole.
const largest = "2m"

// changes lists what differs between two trees, line by line: of all files, or of these.
func changes(ctx context.Context, r *git.Repo, from, to string, files ...string) (list []change, err error) {
	args := []string{
		"diff-tree", "-r", "-z", "--raw", "-p", "-U0", "-M", "--no-abbrev", "--no-ext-diff", "--no-textconv", "--no-color",
		"--inter-hunk-context=0", "--ignore-submodules=none", "--submodule=short", from, to, "--",
	}
	out, err := r.Git(ctx, git.Call{Set: "core.bigFileThreshold=" + largest, Env: []string{"GIT_LITERAL_PATHSPECS=1"}}, append(args, files...)...)
	if err != nil {
		return nil, err
	}
	raw, patch, _ := strings.Cut(out, "\x00\x00")
	fields := strings.Split(raw, "\x00")
	for len(fields) > 1 {
		entry := strings.Fields(strings.TrimPrefix(fields[0], ":")) // modes, IDs, letter
		if len(entry) != 5 {
			return nil, fmt.Errorf("git diff-tree prints %q", fields[0])
		}
		c := change{old: fields[1], path: fields[1], was: git.Entry{Mode: entry[0], ID: entry[2]}, now: git.Entry{Mode: entry[1], ID: entry[3]}}
		fields = fields[2:]
		if entry[4][0] == 'R' {
			if len(fields) == 0 {
				return nil, fmt.Errorf("git diff-tree prints no new name for %q", c.old)
			}
			c.path, fields = fields[0], fields[1:]
		}
		list = append(list, c)
	}
	at, last, open := -1, "", (*hunk)(nil)
	for line := range strings.Lines(patch) {
		if strings.HasPrefix(line, "diff --git ") {
			if line != last { // a file that became a link has two parts
				at++
			}
			last, open = line, nil
		}
		if at < 0 || at >= len(list) {
			return nil, fmt.Errorf("git diff-tree prints a patch of an unknown file: %q", line)
		}
		c := &list[at]
		switch {
		case strings.HasPrefix(line, "@@"):
			c.hunks = append(c.hunks, hunk{})
			open = &c.hunks[len(c.hunks)-1]
		case open == nil: // it is about the whole file
			c.opaque = c.opaque || strings.HasPrefix(line, "Binary files ")
		case line[0] == '+':
			open.plus = append(open.plus, strings.TrimSuffix(line[1:], "\n"))
		case line[0] == '-':
			open.minus = append(open.minus, strings.TrimSuffix(line[1:], "\n"))
		}
	}
	return list, nil
}

// conflicts reports of files and lines, known by their words, whether a merge has them in conflict: on the side of what landed. A file
// without markers is in conflict as a whole.
func conflicts(ctx context.Context, r *git.Repo, m git.Merged) (func(file, line string) bool, error) {
	whole, lines := map[string]bool{}, map[string]bool{}
	for _, name := range m.Files {
		text, err := r.Git(ctx, git.Call{}, "cat-file", "blob", m.Tree+":"+name)
		if err != nil && git.Status(err) <= 0 {
			return nil, err
		}
		ours, any := false, false
		for line := range strings.Lines(text) {
			switch {
			case strings.HasPrefix(line, "<<<<<<<"):
				ours, any = true, true
			case strings.HasPrefix(line, "|||||||"), strings.HasPrefix(line, "======="), strings.HasPrefix(line, ">>>>>>>"):
				ours = false
			case ours:
				lines[strings.Join(words(line), " ")] = true
			}
		}
		whole[aside.Get().ReplaceAllString(name, "")] = !any
	}
	return func(file, line string) bool { return whole[file] || line != "" && lines[line] }, nil
}
