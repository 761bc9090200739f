package suite

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/lazyregexp"
)

// renaming is a name of the work that became another.
type renaming struct {
	was *regexp.Regexp // with what stands before it as a group
	is  string
}

func (r renaming) in(text string) string { return r.was.ReplaceAllString(text, "${1}"+r.is) }

var identifier = lazyregexp.New(`[a-zA-Z_]\w{2,}`)

const maxNames = 200 // of a task

// renamings are the names in the text of the task of which one took the place of the other: the work has a line that is an
// old one with the new name, which is new, and has the old name no more, unless it is that of a file. So what the old name
// was tested for, the new one can be.
func (b *builder) renamings(changes []git.Change) (list []renaming) {
	var before, after []string // all lines of the work in files that it changed
	for _, c := range changes {
		if (c.Kind == git.Modified || c.Kind == git.Renamed) && b.Kind(c.Path) == "" {
			was, _ := b.base.Read(cmp.Or(c.Old, c.Path)) // what cannot be read has no lines
			is, _ := b.after(c.Path)
			before = append(before, strings.Split(string(was), "\n")...)
			after = append(after, strings.Split(string(is), "\n")...)
		}
	}
	var gone, added []string
	for _, name := range identifier().FindAllString(b.base.Task, maxNames) {
		word := wordOf(name)
		switch was, is := slices.ContainsFunc(before, word.MatchString), slices.ContainsFunc(after, word.MatchString); {
		case was && !is && !slices.Contains(gone, name):
			gone = append(gone, name)
		case is && !was && !slices.Contains(added, name):
			added = append(added, name)
		}
	}
	for _, old := range gone {
		for _, name := range added {
			r := renaming{wordOf(old), name}
			if slices.ContainsFunc(before, func(line string) bool { return r.was.MatchString(line) && slices.Contains(after, r.in(line)) }) {
				list = append(list, r)
			}
		}
	}
	return list
}

func wordOf(name string) *regexp.Regexp { return regexp.MustCompile(`(^|[^\w/])` + name + `\b`) }

// inNewNames is a text of the base in the names that the work has now, but for lines that it kept.
func (b *builder) inNewNames(base, work []byte) []byte {
	lines := strings.SplitAfter(string(base), "\n")
	kept := strings.SplitAfter(string(work), "\n")
	for _, r := range b.renamed() {
		for i, line := range lines {
			if r.was.MatchString(line) && !slices.Contains(kept, line) {
				lines[i] = r.in(line)
			}
		}
	}
	return []byte(strings.Join(lines, ""))
}
