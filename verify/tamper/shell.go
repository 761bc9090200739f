package tamper

import (
	"slices"
	"strings"

	"ralph/internal/lazyregexp"
)

var (
	assignment = lazyregexp.New(`^\w+=\S*$`)
	leaves     = lazyregexp.New(`^(?:exit|exit 0|exec true|return 0)$`)
	opens      = lazyregexp.New(`^(?:if|for|while|until|case|select)\b|\{$`)
	ends       = lazyregexp.New(`^(?:fi|done|esac|\})`)
	// dullWords do nothing that could fail.
	dullWords = strings.Fields(`set echo printf cd true : export local readonly shopt umask pwd date fi done esac } exit return`)
	// openWords stand before a command.
	openWords = strings.Fields(`then else do { !`)
)

// commandsOf lists the commands of a shell script that do something, up to where it
// ends in any case. It is no parser: what it does not understand does something.
func commandsOf(script string) (commands []string) {
	depth := 0
	script = strings.ReplaceAll(script, "\\\n", " ")
	for line := range strings.Lines(script) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if ends().MatchString(line) {
			depth = max(0, depth-1)
		}
		if parts, last := steps(line); len(parts) > 0 {
			if depth == 0 && last {
				return commands
			}
			commands = append(commands, line)
		} else if depth == 0 && last {
			return commands
		}
		if opens().MatchString(line) && !closesItself(line) {
			depth++
		}
	}
	return commands
}

// steps are those of a line's commands that do something, and whether the line
// leaves the script before or after them whatever comes of them.
func steps(line string) (doing []string, leaving bool) {
	if strings.Contains(line, "||") {
		return []string{line}, false
	}
	for part := range strings.FieldsFuncSeq(strings.ReplaceAll(line, "&&", ";"), func(r rune) bool { return r == ';' }) {
		part, _, _ = strings.Cut(part, " #")
		part = strings.TrimSpace(part)
		words := strings.Fields(part)
		for len(words) > 0 && slices.Contains(openWords, words[0]) {
			words = words[1:]
		}
		switch {
		case leaves().MatchString(part):
			return doing, len(doing) == 0
		case len(words) == 0, assignment().MatchString(part):
		case slices.Contains(dullWords, words[0]) && !strings.Contains(part, "$(") && !strings.Contains(part, "|"):
		default:
			doing = append(doing, part)
		}
	}
	return doing, false
}

func closesItself(line string) bool {
	words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == ';' })
	return slices.ContainsFunc(words, func(w string) bool { return w == "fi" || w == "done" || w == "esac" || w == "}" })
}
