package proof

import (
	"slices"
	"strings"

	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

var (
	codeSpan    = lazyregexp.New("^\\s*(?:(?:[-*+]|\\d+[.)])\\s+)?(?:\\[[ xX]\\]\\s+)?`([^`]+)`(?:\\s+(?:passes|succeeds))?[.,;:]?$")
	commandWord = lazyregexp.New(`^(?:[A-Za-z_./~][\w./+:=@~-]*|!|\[)$`)
)

// Commands are the criteria of a specification that are commands, and the text of the others. These are commands:
//
//   - a line, or an item of a list, that is nothing but one code span, or one that "passes" or "succeeds"; but not the name of a
//     file, or another single word that is not a command. The ID of a criterion may stand in front
//   - each line of a code block in no language or in that of a shell; in one with lines that begin with "$ ", only those.
//     A backslash at the end joins a line with the next.
func Commands(spec string) (commands []string, others string) {
	var rest, block []string
	var fence plain.Fence
	flush := func(language string) {
		found, whole := commandsIn(language, block[1:])
		if commands = append(commands, found...); !whole { // what is left means nothing without the rest
			rest = append(rest, block...)
		}
		block = nil
	}
	language := ""
	for _, l := range read(spec) {
		if !l.inside {
			continue
		}
		switch border := fence.Next(l.text); {
		case border && fence.Open():
			block, language = []string{l.text}, fence.Language
		case border:
			block = append(block, l.text)
			flush(language)
		case fence.Open():
			block = append(block, l.text)
		default:
			if command, is := command(l.text); is {
				commands = append(commands, command)
			} else {
				rest = append(rest, l.text)
			}
		}
	}
	if block != nil { // it has no end
		flush(language)
	}
	var once []string
	for _, command := range commands {
		if !slices.Contains(once, command) {
			once = append(once, command)
		}
	}
	return once, strings.TrimSpace(strings.Join(rest, "\n"))
}

// commandsOf are those that a criterion is.
func commandsOf(lines []line, p place) (commands []string) {
	if found, is := command(lines[p.first].text); is {
		commands = append(commands, found)
	}
	var fence plain.Fence
	var block []string
	language := ""
	for _, l := range lines[p.first+1 : p.last+1] {
		switch border := fence.Next(l.text); {
		case border && fence.Open():
			block, language = nil, fence.Language
		case border:
			found, _ := commandsIn(language, block)
			commands = append(commands, found...)
		case fence.Open():
			block = append(block, l.text)
		}
	}
	return commands
}

// command is what a line says that is nothing but a command.
func command(text string) (string, bool) {
	if m := item.Get().FindStringSubmatch(text); m != nil {
		text = m[3]
	}
	if m := named.Get().FindString(text); m != "" {
		text = text[len(m):]
	}
	m := codeSpan.Get().FindStringSubmatch(text)
	if m == nil || !isCommand(m[1]) {
		return "", false
	}
	return strings.TrimSpace(m[1]), true
}

func isCommandLine(text string) bool { _, is := command(text); return is }

// commandsIn are those of a code block, with the line that ends it. Whole says that there is nothing else in it.
func commandsIn(language string, block []string) (commands []string, whole bool) {
	if !slices.Contains([]string{"", "sh", "bash", "shell", "zsh", "console"}, language) {
		return nil, false
	}
	prompted := slices.ContainsFunc(block, func(line string) bool { return strings.HasPrefix(strings.TrimSpace(line), "$ ") })
	whole, joined := true, ""
	for _, line := range block {
		line = strings.TrimSpace(line)
		command, prompt := strings.CutPrefix(line, "$ ")
		switch {
		case joined != "":
			command = joined + command
		case line == "" || strings.Trim(line, "`~") == "":
			continue
		case prompted && !prompt || strings.HasPrefix(line, "#"):
			whole = false
			continue
		}
		if before, more := strings.CutSuffix(command, "\\"); more {
			joined = strings.TrimSpace(before) + " "
			continue
		}
		commands, joined = append(commands, strings.TrimSpace(command)), ""
	}
	if joined != "" {
		commands = append(commands, strings.TrimSpace(joined))
	}
	return commands, whole && len(commands) > 0
}

// isCommand tells commands from what else is written as code: the names of files, options and values.
func isCommand(code string) bool {
	words := strings.Fields(code)
	if len(words) == 0 || !commandWord.Get().MatchString(words[0]) {
		return false
	}
	if len(words) > 1 || !plain.HasEnding(words[0]) {
		return true
	}
	return strings.HasPrefix(words[0], "./") || strings.HasPrefix(words[0], "/")
}
