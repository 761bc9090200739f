package sigils

import (
	"bytes"
	"slices"
	"strconv"
	"strings"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

const (
	tagDone       = "task-done"
	tagFailed     = "task-failed"
	tagModel      = "next-model"
	tagJournal    = "journal"
	tagKnowledge  = "knowledge"
	tagPromise    = "promise"
	tagVerifyPass = "verify-pass"
	tagVerifyFail = "verify-fail"
	tagAsked      = "verify-asked"
	tagWeakened   = "verify-weakened"
	tagFulfilled  = "verify-fulfilled"
	tagFinding    = "finding"
	tagProven     = "verify-proven"
	tagDropped    = "merge-dropped"
	tagWitness    = "witness"
)

var names = []string{
	tagDone, tagFailed, tagModel, tagJournal, tagKnowledge, tagPromise, tagVerifyPass, tagVerifyFail, tagAsked, tagWeakened, tagFulfilled, tagFinding, tagProven,
	tagDropped, tagWitness,
}

// attributes are those that we know, of the sigils that may have some.
var attributes = map[string][]string{tagFailed: {"id"}, tagKnowledge: {"title", "tags"}, tagAsked: {"changes"}, tagWeakened: {"changes"}, tagFinding: {"file", "line", "title"}, tagProven: {"criterion"}, tagWitness: {"file", "run"}}

// tag is an opening tag as it was written.
type tag struct {
	name  string
	attr  map[string]string
	empty bool // <name/>
}

func isNameByte(c byte) bool { return c == '-' || 'a' <= c && c <= 'z' }

// parseTag reads the opening tag that line begins with and returns what follows.
func parseTag(line []byte) (t tag, rest []byte, ok bool) {
	if len(line) < len("<a>") || line[0] != '<' {
		return tag{}, nil, false
	}
	n := 1
	for n < len(line) && isNameByte(line[n]) {
		n++
	}
	t.name, ok = sigilName(line[1:n])
	if !ok {
		return tag{}, nil, false
	}
	end := min(len(line), n+maxTag)
	rest, ok = t.parseAttributes(line[n:end])
	if !ok {
		return tag{}, nil, false
	}
	return t, line[end-len(rest):], true
}

// sigilName returns the constant, so that a line that is no sigil costs no memory.
func sigilName(b []byte) (string, bool) {
	i := slices.IndexFunc(names, func(name string) bool { return name == string(b) })
	if i < 0 {
		return "", false
	}
	return names[i], true
}

// parseAttributes reads up to and including the > of the tag.
func (t *tag) parseAttributes(b []byte) (rest []byte, ok bool) {
	for {
		trimmed := bytes.TrimLeft(b, " \t")
		spaced := len(trimmed) < len(b)
		b = trimmed
		switch {
		case bytes.HasPrefix(b, []byte("/>")):
			t.empty = true
			return b[2:], t.name == tagVerifyPass || t.name == tagVerifyFail || t.name == tagWeakened
		case len(b) > 0 && b[0] == '>':
			return b[1:], !spaced || attributes[t.name] != nil
		case !spaced:
			return nil, false
		}
		eq := bytes.IndexByte(b, '=')
		if eq < 1 || eq+1 >= len(b) || b[eq+1] != '"' && b[eq+1] != '\'' {
			return nil, false
		}
		end := bytes.IndexByte(b[eq+2:], b[eq+1])
		if end < 0 || !t.setAttribute(b[:eq], b[eq+2:eq+2+end]) {
			return nil, false
		}
		b = b[eq+2+end+1:]
	}
}

// setAttribute takes what we know, and on knowledge, findings and witnesses ignores what we do not.
func (t *tag) setAttribute(key, value []byte) bool {
	if bytes.ContainsFunc(key, func(r rune) bool { return !plain.IsLetter(r) && r != '-' && r != '_' }) {
		return false
	}
	if !slices.Contains(attributes[t.name], string(key)) {
		return t.name == tagKnowledge || t.name == tagFinding || t.name == tagWitness
	}
	if t.attr == nil {
		t.attr = map[string]string{}
	}
	t.attr[string(key)] = string(value)
	switch string(key) {
	case "id":
		return validID(string(value))
	case "changes":
		_, ok := parseRanges(string(value))
		return ok
	}
	return true
}

// block says whether the sigil may span lines.
func (t *tag) block() bool {
	switch t.name {
	case tagFailed, tagJournal, tagKnowledge, tagVerifyFail, tagAsked, tagWeakened, tagFulfilled, tagFinding, tagProven, tagDropped, tagWitness:
		return !t.empty
	}
	return false
}

// parseRanges reads numbers and ranges of them, such as "1-3, 7".
func parseRanges(list string) ([]Range, bool) {
	var ranges []Range
	for part := range strings.SplitSeq(list, ",") {
		first, last, more := strings.Cut(part, "-")
		if !more {
			last = first
		}
		from, ok := number(first)
		to, too := number(last)
		if !ok || !too || from > to || len(ranges) == maxRanges {
			return nil, false
		}
		ranges = append(ranges, Range{from, to})
	}
	return ranges, true
}

func number(text string) (int, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	return int(n), err == nil && n > 0
}

func validID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	return plain.IsAlnum(id[0]) && allOf(id, "-_.")
}

// ValidModel allows names as agents have them, such as vendor/name-1.5[1m], and
// nothing that a placeholder like a|b or {name} would need.
func ValidModel(name string) bool {
	return name != "" && len(name) <= maxName && allOf(name, "._:/@[]-")
}

// allOf says that s has only letters, digits and the given signs.
func allOf(s, signs string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return !plain.IsAlnum(r) && !strings.ContainsRune(signs, r) })
}

// inertBracket looks like a bracket to people and models and like nothing to us.
const inertBracket = "‹"

// Inert returns text in which every tag of a sigil, opening or closing, in any
// case and however malformed, has lost its bracket: "<task-done>" becomes
// "‹task-done>". Parse finds nothing in the result or in any text put together
// from such results line by line. Other text is untouched, and doing it twice is
// the same as doing it once.
func Inert(text string) string {
	return tagLike.Get().ReplaceAllStringFunc(text, func(tag string) string {
		name := strings.ReplaceAll(strings.ToLower(strings.TrimLeft(tag, "</ ")), "_", "-")
		if !slices.Contains(names, name) {
			return tag
		}
		return inertBracket + tag[len("<"):]
	})
}

// tagLike is broader than the grammar, so that a near miss that a model would repair is
// inert too.
var tagLike = lazyregexp.New(`<[/ ]*[A-Za-z_-]+`)
