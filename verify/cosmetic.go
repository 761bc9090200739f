package verify

import (
	"path"
	"slices"
	"strings"
	"unicode"
)

// commentMarks are how lines begin that are comments, by how names of files end.
var commentMarks = map[string][]string{
	"#":  {".py", ".rb", ".sh", ".bash", ".yaml", ".yml", ".toml", ".pl", ".r", ".ex", ".mk", "makefile", "dockerfile", "justfile"},
	"--": {".sql", ".lua", ".hs", ".elm"},
	"//": {".go", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".java", ".kt", ".scala", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".rs", ".swift", ".dart", ".php"},
}

// instructions are what looks like a comment and is none.
var instructions = []string{"#!", "//go:", "//+build"}

// Cosmetic reports whether a patch changes only white space and lines that are comments. It does not see a comment
// behind code or over several lines, and knows the comments of some languages only: it misses some patches, and is
// never wrong about what is code.
func Cosmetic(patch string) bool {
	files := sections(patch)
	return len(files) > 0 && !slices.ContainsFunc(files, func(section []string) bool {
		_, hunks := splitSection(section)
		removed, added := code(fileOf(section), hunks)
		return len(hunks) == 0 || removed != added
	})
}

// code is what a change removes and adds, without comments and white space.
func code(name string, hunks []string) (removed, added string) {
	mark := commentMark(name)
	for _, hunk := range hunks {
		for line := range strings.Lines(hunk) {
			text := strings.Map(func(r rune) rune {
				if unicode.IsSpace(r) {
					return -1
				}
				return r
			}, line[1:])
			switch {
			case mark != "" && strings.HasPrefix(text, mark) && !slices.ContainsFunc(instructions, func(i string) bool { return strings.HasPrefix(text, i) }):
			case line[0] == '-':
				removed += text
			case line[0] == '+':
				added += text
			}
		}
	}
	return removed, added
}

func commentMark(name string) string {
	base := strings.ToLower(path.Base(name))
	for mark, ends := range commentMarks {
		if slices.Contains(ends, base) || slices.Contains(ends, path.Ext(base)) {
			return mark
		}
	}
	return ""
}
