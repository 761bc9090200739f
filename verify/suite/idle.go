package suite

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"ralph/internal/git"
	"ralph/internal/lazyregexp"
)

// entry is what a gate itself names: a script, or something that a file has by a name.
type entry struct{ file, name string }

// Idle lists what gates name, and the work changed or added, that runs nothing which could fail.
func (s *Suite) Idle(changes []git.Change, after Read) (list []string) {
	changed := map[string]bool{}
	for _, c := range changes {
		changed[c.Path] = true
	}
	for _, e := range s.runs.entries {
		if !changed[e.file] {
			continue
		}
		now, err := after(e.file)
		was, _ := s.base.Read(e.file)
		if is := e.commands(string(now)); err == nil && is != "" && idle(is) && (len(was) == 0 || !idle(e.commands(string(was)))) {
			list = append(list, strings.TrimSuffix(e.file+" ("+e.name+")", " ()"))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// commands is the text that is run; empty if there is none of that name. What a target needs is done, too.
func (e entry) commands(text string) string {
	switch {
	case e.name == "":
		return text
	case path.Base(e.file) == "package.json":
		table, _ := readJSON([]byte(text))
		scripts, _ := table["scripts"].(map[string]any)
		command, _ := scripts[e.name].(string)
		return command
	}
	m := regexp.MustCompile(`(?m)^@?` + regexp.QuoteMeta(e.name) + `\b[^:=\n]*:([^=\n#]*).*\n((?:[ \t]+.*\n|\n)*)`).FindStringSubmatch(text + "\n")
	if m == nil {
		return ""
	}
	recipe := regexp.MustCompile(`(?m)^\s*[@+-]*`).ReplaceAllString(m[2], "")
	return strings.TrimPrefix(strings.TrimSpace(m[1]), ";") + "\n" + recipe
}

var (
	assignment = lazyregexp.New(`^\w+=\S*$`)
	leaving    = lazyregexp.New(`^(?:exit|exit 0|exec true|return 0)$`)
	dull       = set(`set echo printf cd true : export local readonly shopt umask pwd date sleep`)
)

// idle says that no command of a shell script could fail. What it does not understand could.
func idle(script string) bool {
	for _, part := range separator.Get().Split(comment.Get().ReplaceAllString(script, ""), -1) {
		words := strings.Fields(part)
		switch {
		case leaving.Get().MatchString(strings.Join(words, " ")):
			return true
		case len(words) == 0, len(words) == 1 && assignment.Get().MatchString(words[0]):
		case !dull.has(words[0]) || strings.ContainsAny(part, "|`") || strings.Contains(part, "$("):
			return false
		}
	}
	return true
}
