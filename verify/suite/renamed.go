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

// says matches a text that asks for a rename: the names elsewhere in it may be values, or new things beside old ones.
var says = lazyregexp.New("(?i)\\brename\\s+(?:[a-z]+\\s+){0,3}?[^\\w\\s]*(?:\\w+\\.)*(\\w{3,})\\S*\\s+(?:to|into|as|->|=>|→)\\s+[^\\w\\s]*(?:\\w+\\.)*(\\w{3,})")

const maxNames = 100 // of a task

// renamings are the names that the task has renamed, as far as the work did it: it has a line that is an old one with the
// new name, which is new, and has the old name no more, unless it is that of a file. So what the old name was tested for,
// the new one can be.
func (b *builder) renamings(changes []git.Change) (list []renaming) {
	asked := says.Get().FindAllStringSubmatch(b.base.Task, maxNames)
	if asked == nil {
		return nil
	}
	var before, after []string // all lines of the work in files that it changed
	for _, c := range changes {
		if (c.Kind == git.Modified || c.Kind == git.Renamed) && b.Kind(c.Path) == "" {
			was, _ := b.base.Read(cmp.Or(c.Old, c.Path)) // what cannot be read has no lines
			is, _ := b.after(c.Path)
			before = append(before, strings.Split(string(was), "\n")...)
			after = append(after, strings.Split(string(is), "\n")...)
		}
	}
	for _, names := range asked {
		r, now := renaming{wordOf(names[1]), names[2]}, wordOf(names[2])
		moved := func(line string) bool { return r.was.MatchString(line) && slices.Contains(after, r.in(line)) }
		if slices.ContainsFunc(before, moved) && !slices.ContainsFunc(after, r.was.MatchString) && !slices.ContainsFunc(before, now.MatchString) {
			list = append(list, r)
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
