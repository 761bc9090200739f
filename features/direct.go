package features

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
	"ralph/internal/taskfile"
)

// DirectTask is a specification as one task.
type DirectTask struct {
	dag.NewTask
	Others string // success criteria that are no commands; the description has them
}

// ErrNoSpec is a feature without a specification.
var ErrNoSpec = fmt.Errorf("%w: it has no %s", dag.ErrRefused, Spec.File())

// Direct reads the specification as one task, with its success criteria as gates.
func (p *Planner) Direct() (t DirectTask, err error) {
	text, err := ReadDocument(p.Path(Spec.File()))
	switch {
	case errors.Is(err, os.ErrNotExist):
		return t, fmt.Errorf("feature %s: %w", p.Name, ErrNoSpec)
	case err != nil:
		return t, fmt.Errorf("feature %s: %w", p.Name, err)
	}
	t.Gates, t.Others = Criteria(text)
	t.Title, t.Feature = "Implement "+p.Name, p.Name
	t.Description = fmt.Sprintf("Do all that the specification of the feature asks for: .ralph/features/%s/%s.", p.Name, Spec.File())
	if t.Others != "" {
		t.Description += "\n\nAcceptance, besides the gates:\n\n" + t.Others
	}
	return t, nil
}

// Keep adds the task, unless the feature has it: then it returns that one, and added is false. It refuses a feature that has other
// tasks. The feature's file is written, too. With dry it changes nothing, and says what it would do.
func (p *Planner) Keep(ctx context.Context, t DirectTask, dry bool) (kept dag.Task, added bool, err error) {
	err = p.Store.Update(ctx, func(g *dag.Graph) error {
		tasks, err := g.List(dag.Filter{Feature: p.Name})
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(tasks, func(task dag.Task) bool { return task.Title == t.Title }); i >= 0 {
			kept = tasks[i]
			return nil
		}
		if len(tasks) > 0 {
			return ErrBuilt
		}
		if added = true; dry {
			return nil
		}
		id, err := g.Add(t.NewTask)
		if err != nil {
			return err
		}
		kept, _ = g.Task(id) // the first error of the database is that of what follows
		return g.Audit(id, "", t.Title)
	})
	if err == nil && added && !dry {
		_, err = p.Plans.Save(ctx, p.Name)
	}
	if err != nil {
		return kept, added, fmt.Errorf("feature %s: %w", p.Name, err)
	}
	return kept, added, nil
}

var (
	criteriaHeading = lazyregexp.New(`(?i)^(?:\d+[.)]?\s+)?(?:success criteri(?:a|on)|acceptance(?: criteri(?:a|on))?):?$`)
	criterion       = lazyregexp.New("^\\s*(?:(?:[-*+]|\\d+[.)])\\s+)?(?:\\[[ xX]\\]\\s+)?`([^`]+)`(?:\\s+(?:passes|succeeds))?[.,;:]?$")
	commandWord     = lazyregexp.New(`^(?:[A-Za-z_./~][\w./+:=@~-]*|!|\[)$`)
)

// Criteria are the success criteria of a specification: those that are commands, and the text of the others. They stand below a
// heading "Success criteria", "Acceptance criteria" or "Acceptance". These are commands:
//
//   - a line, or an item of a list, that is nothing but one code span, or one that "passes" or "succeeds"; but not the name of a
//     file, or another single word that nobody could run
//   - each line of a code block in no language or in that of a shell; in one with lines that begin with "$ ", only those.
//     A backslash at the end joins a line with the next.
func Criteria(spec string) (commands []string, others string) {
	var rest []string
	var fence plain.Fence
	var block []string
	flush := func(language string) {
		found, whole := commandsIn(language, block[1:])
		if commands = append(commands, found...); !whole { // what is left means nothing without the rest
			rest = append(rest, block...)
		}
		block = nil
	}
	language := ""
	for _, line := range criteriaLines(spec) {
		switch border := fence.Next(line); {
		case border && fence.Open():
			block, language = []string{line}, fence.Language
		case border:
			block = append(block, line)
			flush(language)
		case fence.Open():
			block = append(block, line)
		default:
			m := criterion().FindStringSubmatch(line)
			if m != nil && isCommand(m[1]) {
				commands = append(commands, strings.TrimSpace(m[1]))
			} else {
				rest = append(rest, line)
			}
		}
	}
	if block != nil { // nobody ended it
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

// criteriaLines are those below the headings, each up to the next heading that is not below it.
func criteriaLines(spec string) (lines []string) {
	var fence plain.Fence
	inside := 0 // the level of the heading above
	for line := range strings.Lines(spec) {
		line = strings.TrimRight(line, " \t\r\n")
		if border := fence.Next(line); !border && !fence.Open() {
			level, title, is := taskfile.Heading(line)
			if is && level <= inside {
				inside = 0
			}
			if is && inside == 0 && criteriaHeading().MatchString(strings.Trim(title, "*_ ")) {
				inside = level
				continue
			}
		}
		if inside > 0 {
			lines = append(lines, line)
		}
	}
	return lines
}

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
	if len(words) == 0 || !commandWord().MatchString(words[0]) {
		return false
	}
	return len(words) > 1 || strings.HasPrefix(words[0], "./") || strings.HasPrefix(words[0], "/") || !ending().MatchString(words[0])
}
