package coverage

import (
	"path"
	"strings"

	"ralph/internal/bounded"
)

// sourceMap leads from lines that a tool made to those that it was given.
type sourceMap struct {
	SourceRoot string
	Sources    []string
	Mappings   string
}

// segment is one place of a made line, and what it was made of.
type segment struct{ column, source, line int }

// segments are those of each made line, from 0. Mappings are differences in base 64, five bits at a time.
func (m sourceMap) segments() (made [][]segment) {
	var source, line int
	for text := range strings.SplitSeq(m.Mappings, ";") {
		var list []segment
		column := 0
		for one := range strings.SplitSeq(text, ",") {
			n, ok := vlq(one)
			if !ok || len(n) == 0 {
				continue
			}
			column += n[0]
			if len(n) >= 4 {
				source, line = source+n[1], line+n[2]
				list = append(list, segment{column, source, line})
			}
		}
		made = append(made, list)
	}
	return made
}

const base64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

func vlq(text string) (numbers []int, ok bool) {
	value, shift := 0, 0
	for _, c := range text {
		digit := strings.IndexRune(base64, c)
		if digit < 0 || shift > 30 {
			return nil, false
		}
		value |= (digit & 31) << shift
		if digit&32 != 0 {
			shift += 5
			continue
		}
		n := value >> 1
		if value&1 != 0 {
			n = -n
		}
		numbers, value, shift = append(numbers, n), 0, 0
	}
	return numbers, shift == 0
}

// mapped notes the lines of the changed files that a script was made of.
func (p Profile) mapped(file, root string, m sourceMap, lengths []int, ranges []v8Range, wanted, seen map[string]bool, read Read) {
	names, wants := make([]string, len(m.Sources)), false
	for i, source := range m.Sources {
		if made, ok := projectFile(source, root); ok {
			names[i] = made
		} else if !strings.Contains(source, "://") {
			names[i] = path.Join(path.Dir(file), m.SourceRoot, source)
			if path.IsAbs(source) {
				names[i], _ = projectFile("file://"+source, root)
			}
		}
		seen[names[i]] = true
		wants = wants || wanted[names[i]]
	}
	total := max(len(lengths)-1, 0)
	for _, n := range lengths {
		if total += n; n < 0 || total > bounded.Data { // a gate may have written anything
			return
		}
	}
	if end := ranges[0].EndOffset; !wants || ranges[0].StartOffset != 0 || end < total || end > total+1 {
		return
	}
	ran, offset := ranIn(ranges[0].EndOffset, ranges), 0
	if ran == nil {
		return
	}
	executable := map[string]map[int]bool{}
	for _, name := range names {
		if !wanted[name] || executable[name] != nil {
			continue
		}
		if src, err := read(name); err == nil {
			executable[name] = jsLines(string(src))
		}
	}
	for i, segments := range m.segments() {
		if i >= len(lengths) {
			return
		}
		for _, s := range segments {
			at := offset + s.column
			if !within(s.source, names) || !within(at, ran) || s.column >= lengths[i] {
				continue
			}
			if executable[names[s.source]][s.line+1] {
				p.add(names[s.source], s.line+1, ran[at])
			}
		}
		offset += lengths[i] + 1
	}
}

// within reports whether a list has such an index: a gate may have written anything.
func within[T any](i int, list []T) bool { return 0 <= i && i < len(list) }
