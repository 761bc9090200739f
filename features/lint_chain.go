package features

import (
	"slices"
	"strings"

	"ralph/dag"
)

// chain warns when most tasks wait for one another in a single file although some
// of them have nothing to do with each other. Tasks that name the same files may
// have to wait; where no files are named, nobody can tell, and a person should.
func (l *linter) chain(specs []dag.Spec) {
	leaves := l.leaves(specs)
	path := l.longest(leaves)
	if len(path) < longChain || float64(len(path)) < chainShare*float64(len(leaves)) {
		return
	}
	var loose []string
	for i := 1; i < len(path); i++ {
		if !related(path[i-1], path[i]) {
			loose = append(loose, name(path[i])+" after "+name(path[i-1]))
		}
	}
	if len(loose) > 0 {
		l.add(Warning, "chain", "%d of %d tasks wait for one another in a single line, and some could be done side by side: %s",
			len(path), len(leaves), strings.Join(loose[:min(len(loose), shownOfChain)], ", "))
	}
}

// longest is the longest way along dependencies between leaves. A cycle, which the
// import refuses anyway, is not walked twice.
func (l *linter) longest(leaves []*dag.Spec) []*dag.Spec {
	length, before := map[*dag.Spec]int{}, map[*dag.Spec]*dag.Spec{}
	var walk func(s *dag.Spec) int
	walk = func(s *dag.Spec) int {
		if n, known := length[s]; known {
			return n
		}
		length[s] = 0 // while it is under way: a cycle ends here
		longest := 0
		for _, ref := range s.After {
			blocker := l.byRef[ref]
			if blocker == nil || l.isGroup(blocker) {
				continue
			}
			if n := walk(blocker); n > longest {
				longest, before[s] = n, blocker
			}
		}
		length[s] = longest + 1
		return length[s]
	}
	var last *dag.Spec
	for _, s := range leaves {
		if n := walk(s); last == nil || n > length[last] {
			last = s
		}
	}
	var path []*dag.Spec
	for s := last; s != nil && len(path) < len(leaves); s = before[s] {
		path = append(path, s)
	}
	slices.Reverse(path)
	return path
}

// related says that two tasks name a file in common, or one of them the other.
func related(a, b *dag.Spec) bool {
	if mentions(a.Description, b.Ref) || mentions(b.Description, a.Ref) {
		return true
	}
	files := pathsIn(a.Description)
	return slices.ContainsFunc(pathsIn(b.Description), func(path string) bool { return slices.Contains(files, path) })
}

// mentions looks for a ref as a word of its own. One of a letter or two is no name.
func mentions(text, ref string) bool {
	if len(ref) < 3 {
		return false
	}
	for rest := text; ; {
		i := strings.Index(rest, ref)
		if i < 0 {
			return false
		}
		after := rest[i+len(ref):]
		if (i == 0 || !isWord(rest[i-1])) && (after == "" || !isWord(after[0])) {
			return true
		}
		rest = after
	}
}

func isWord(b byte) bool {
	return b == '_' || b == '-' || '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'z'
}
