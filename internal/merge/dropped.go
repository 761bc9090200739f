package merge

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"ralph/internal/git"
)

// Drop is what landed in a file and is not in the resolution of conflicts with it.
type Drop struct {
	File   string
	Lines  []string // none of a file that is compared as a whole: it is not text, or too large
	Marked bool     // all of it was between conflict markers
}

// Dropped compares what has landed on the base of work, up to onto, with what came of resolving the conflicts between them: every line
// that landed must be in the resolution, or its new words must be in a line of it. What the resolution leaves as git merged it is not
// compared, and what the work itself removes was not dropped.
func Dropped(ctx context.Context, r *git.Repo, work, onto, resolved string) ([]Drop, error) {
	base, err := r.Commit(ctx, work+"^")
	if err == nil && base == "" {
		err = fmt.Errorf("commit %.10s is gone", work)
	}
	if err != nil {
		return nil, err
	}
	merged, err := r.Merge(ctx, base, onto, work)
	if err != nil {
		return nil, err
	}
	edited, err := r.DiffTrees(ctx, merged.Tree, resolved)
	if err != nil {
		return nil, err
	}
	own, err := changes(ctx, r, base, work)
	if err != nil {
		return nil, err
	}
	made, err := changes(ctx, r, onto, resolved)
	if err != nil {
		return nil, err
	}
	touched := map[string]bool{}
	for _, d := range edited {
		touched[d.Path] = true
	}
	for _, c := range own {
		if touched[c.path] {
			touched[c.old] = true
		}
	}
	files := slices.Collect(maps.Keys(touched))
	there, err := renames(ctx, r, base, onto)
	for old, name := range there {
		if touched[name] {
			files = append(files, old)
		}
	}
	if err != nil || len(files) == 0 {
		return nil, err
	}
	landed, err := changes(ctx, r, base, onto, files...) // which may be a lot
	if err != nil {
		return nil, err
	}
	marked, err := conflicts(ctx, r, merged)
	if err != nil {
		return nil, err
	}
	landed = slices.DeleteFunc(landed, func(c change) bool { return !touched[c.path] })
	return dropped(landed, own, made, marked), nil
}

// dropped is the comparison: of what landed with the work itself, both since the same base, and with what was made of what landed. It
// asks of each line that is missing whether it was in conflict, and of a whole file with the line "".
func dropped(landed, own, made []change, marked func(file, line string) bool) (drops []Drop) {
	left := newPool(made, own)
	theirs, after := map[string]change{}, map[string]change{}
	for _, c := range own {
		theirs[c.old] = c
	}
	for _, c := range made {
		after[c.old] = c
	}
	for _, c := range landed {
		is, changed := after[c.path]
		if !changed || c.now.Mode == git.Nothing {
			continue
		}
		d := Drop{File: c.path, Marked: true}
		if c.opaque || is.opaque {
			if !slices.ContainsFunc(made, func(other change) bool { return other.now.ID == c.now.ID }) {
				d.Marked = marked(c.path, "")
				drops = append(drops, d)
			}
			continue
		}
		came, gone, removed := c.net(), is.net(), theirs[c.old].net()
		for _, h := range c.hunks {
			for _, line := range h.plus {
				said := words(line)
				key := strings.Join(said, " ")
				if came[key] <= 0 || -gone[key] <= max(0, -removed[key]) || !strings.ContainsFunc(key, spoken) {
					continue
				}
				came[key]--
				gone[key]++
				if !left.has(said, h.minus) {
					d.Lines, d.Marked = append(d.Lines, line), d.Marked && marked(c.path, key)
				}
			}
		}
		if len(d.Lines) > 0 {
			drops = append(drops, d)
		}
	}
	return drops
}

// pool is the lines that a resolution added to what landed.
type pool struct {
	lines [][]string       // their words
	with  map[string][]int // which of them have a word
	more  map[string]int   // how many there are of each, beyond those that the work itself added
	gone  map[string]int   // how often the work removes a word
}

func newPool(made, own []change) pool {
	p := pool{with: map[string][]int{}, more: map[string]int{}, gone: map[string]int{}}
	for _, c := range made {
		for key, n := range c.net() {
			p.more[key] += max(n, 0)
		}
		for _, h := range c.hunks {
			for _, line := range h.plus {
				said := words(line)
				for _, word := range unique(said) {
					p.with[word] = append(p.with[word], len(p.lines))
				}
				p.lines = append(p.lines, said)
			}
		}
	}
	for _, c := range own {
		for key, n := range c.net() {
			p.more[key] -= max(n, 0)
			for word := range strings.SplitSeq(key, " ") {
				p.gone[word] -= n
			}
		}
	}
	return p
}

// has reports whether a line is in the pool, or at least what it has that the lines did not have which it replaced: in another one that
// is like it. Names that the work itself gave up may be missing there: the line follows it then.
func (p pool) has(said, replaced []string) bool {
	key := strings.Join(said, " ")
	if p.more[key] > 0 {
		p.more[key]--
		return true
	}
	was := map[string]int{}
	for _, line := range replaced {
		for _, word := range words(line) {
			was[word]++
		}
	}
	fresh := missing(said, was)
	if len(fresh) == 0 { // it says nothing new
		return true
	}
	fresh = slices.DeleteFunc(fresh, func(word string) bool { return p.gone[word] > 0 && strings.ContainsFunc(word, spoken) })
	like := func(line []string) bool {
		return len(missing(fresh, counts(line))) == 0 && 2*len(missing(said, counts(line))) <= len(said) && !slices.Equal(line, said)
	}
	if len(fresh) == 0 {
		return slices.ContainsFunc(p.lines, like)
	}
	rarest := slices.MinFunc(fresh, func(a, b string) int { return len(p.with[a]) - len(p.with[b]) })
	return slices.ContainsFunc(p.with[rarest], func(i int) bool { return like(p.lines[i]) })
}

// missing are the words that are not among others, each of which counts once.
func missing(list []string, others map[string]int) (left []string) {
	for _, word := range list {
		if others[word]--; others[word] < 0 {
			left = append(left, word)
		}
	}
	return left
}

func counts(list []string) map[string]int {
	n := map[string]int{}
	for _, word := range list {
		n[word]++
	}
	return n
}

func unique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// words are what a line says, whatever white space is between them. A sign is a word.
func words(line string) (list []string) {
	for line != "" {
		line = strings.TrimLeftFunc(line, unicode.IsSpace)
		end := strings.IndexFunc(line, func(r rune) bool { return !spoken(r) })
		switch {
		case line == "":
			return list
		case end < 0:
			end = len(line)
		case end == 0:
			for _, r := range line {
				end = len(string(r))
				break
			}
		}
		list, line = append(list, line[:end]), line[end:]
	}
	return list
}

func spoken(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }
