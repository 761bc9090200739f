package features

import (
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/lazyregexp"
)

var (
	inCode   = lazyregexp.New("`([^`\n]+)`")
	pathLike = lazyregexp.New(`^\.?/?[\w.@-]+(/[\w.@-]+)*$`)
	ending   = lazyregexp.New(`\.[A-Za-z][A-Za-z0-9]{0,5}$`)
	bareFile = lazyregexp.New(`(^|[\s(])((?:[\w@-][\w.@-]*/)+[\w@-][\w.@-]*\.[A-Za-z][A-Za-z0-9]{0,5})\b`)
	creates  = lazyregexp.New(`(?i)\b(create[sd]?|creating|add(s|ed|ing)?|new|writes?|writing|generate[sd]?|introduce[sd]?|into a|make[s]?|output)\b`)
)

// pathsIn lists the files that a text names: between backticks, or with a folder
// and an ending.
func pathsIn(text string) []string {
	var list []string
	note := func(path string) {
		path = strings.TrimPrefix(strings.TrimSuffix(path, "/"), "./")
		if path != "" && !strings.Contains(path, "..") && !slices.Contains(list, path) {
			list = append(list, path)
		}
	}
	for _, m := range inCode().FindAllStringSubmatch(text, -1) {
		if pathLike().MatchString(m[1]) && ending().MatchString(m[1]) && !isSymbol(m[1]) {
			note(m[1])
		}
	}
	for _, m := range bareFile().FindAllStringSubmatch(inCode().ReplaceAllString(text, ""), -1) {
		note(m[2])
	}
	return list
}

// isSymbol tells fmt.Println and os.File from files: after the dot comes a capital.
func isSymbol(word string) bool {
	_, last, _ := strings.Cut(word, ".")
	return !strings.Contains(word, "/") && last != "" && last[0] >= 'A' && last[0] <= 'Z'
}

// files warns about files that neither exist nor are made by any task.
func (l *linter) files(specs []dag.Spec) {
	if l.ground.Exists == nil {
		return
	}
	made := map[string]bool{}
	for i := range specs {
		for line := range strings.Lines(specs[i].Title + "\n" + specs[i].Description) {
			if creates().MatchString(line) {
				for _, path := range pathsIn(line) {
					made[path] = true
				}
			}
		}
	}
	for i := range specs {
		for _, path := range pathsIn(specs[i].Description) {
			if !made[path] && !l.ground.Exists(path) {
				l.add(Warning, "file", "%s names %s, which does not exist and which no task says it makes", name(&specs[i]), path)
			}
		}
	}
}
