package suite

import (
	"strings"

	"ralph/internal/lazyregexp"
)

var testModule = lazyregexp.New(`#\[cfg\(\s*(?:all\(\s*)?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)\s*[{;]`)

// testMod is a module of tests within a source file of Rust.
type testMod struct {
	name       string
	start, end int
}

// modules finds those of a file, none within another.
func modules(text string) (list []testMod) {
	if !strings.Contains(text, "#[cfg(") {
		return nil
	}
	code := MaskRust(text)
	for at := 0; at < len(code); {
		m := testModule.Get().FindStringSubmatchIndex(code[at:])
		if m == nil {
			break
		}
		end, depth := at+m[1], 1
		if code[end-1] == ';' { // it is in a file of its own
			depth = 0
		}
		for ; end < len(code) && depth > 0; end++ {
			switch code[end] {
			case '{':
				depth++
			case '}':
				depth--
			}
		}
		list = append(list, testMod{code[at+m[2] : at+m[3]], at + m[0], end})
		at = end
	}
	return list
}

// mergeRust puts the base's modules of tests into a source file, each in the place of the work's one of that name.
func mergeRust(base, work []byte) ([]byte, error) {
	was, is := modules(string(base)), modules(string(work))
	if len(was) == 0 {
		return work, nil
	}
	old := map[string][]string{}
	for _, m := range was {
		old[m.name] = append(old[m.name], string(base[m.start:m.end]))
	}
	var out strings.Builder
	at := 0
	for _, m := range is {
		out.Write(work[at:m.start])
		if texts := old[m.name]; len(texts) > 0 {
			out.WriteString(texts[0])
			old[m.name] = texts[1:]
		}
		at = m.end
	}
	out.Write(work[at:])
	for _, m := range was { // those that are gone
		for _, text := range old[m.name] {
			out.WriteString("\n" + text + "\n")
		}
		old[m.name] = nil
	}
	return []byte(out.String()), nil
}

// MaskRust returns a text of Rust with the insides of comments, strings and characters blanked, byte for byte in place: a
// bracket or an attribute in it is code. A quote may also begin a lifetime.
func MaskRust(text string) string {
	return notCode.Get().ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)) })
}

var notCode = lazyregexp.New(`(?s)//[^\n]*|/\*.*?\*/|r"[^"]*"|r#".*?"#|r##".*?"##|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\[^\n]{1,9}?)'`)
