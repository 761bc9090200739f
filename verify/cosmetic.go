package verify

import (
	"path"
	"slices"
	"strings"

	"ralph/internal/git"
)

// commentMarks are how lines begin that are comments, by how names of files end.
var commentMarks = map[string][]string{
	"#":  {".py", ".rb", ".sh", ".bash", ".yaml", ".yml", ".toml", ".pl", ".r", ".ex", ".mk", "makefile", "dockerfile", "justfile"},
	"--": {".sql", ".lua", ".hs", ".elm"},
	"//": {".go", ".js", ".mjs", ".cjs", ".jsx", ".ts", ".tsx", ".java", ".kt", ".scala", ".c", ".h", ".cc", ".cpp", ".hpp", ".cs", ".rs", ".swift", ".dart", ".php"},
}

// instructions are what looks like a comment and is none.
var instructions = []string{"#!", "//go:", "//+build"}

// Cosmetic reports whether changes are only to white space and lines that are comments. It does not see a comment
// behind code or over several lines, and knows the comments of some languages only: it misses some, and is
// never wrong about what is code.
func Cosmetic(changes []git.Change) bool {
	return len(changes) > 0 && !slices.ContainsFunc(changes, func(c git.Change) bool {
		_, hunks := splitPatch(c.Patch)
		return len(hunks) == 0 || code(c.Path, hunks, '-') != code(c.Path, hunks, '+')
	})
}

// code is what a change removes or adds, without comments and white space.
func code(name string, hunks []string, sign byte) string {
	var b strings.Builder
	mark := commentMark(name)
	for line := range strings.Lines(strings.Join(hunks, "")) {
		text := strings.Join(strings.Fields(line[1:]), "")
		comment := mark != "" && strings.HasPrefix(text, mark) && !slices.ContainsFunc(instructions, func(i string) bool { return strings.HasPrefix(text, i) })
		if line[0] == sign && !comment {
			b.WriteString(text)
		}
	}
	return b.String()
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
