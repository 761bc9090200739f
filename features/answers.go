package features

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"ralph/dag"
	"ralph/internal/plain"
)

// taskFiles are those in which an agent may answer.
var taskFiles = []string{"tasks.jsonl", "tasks.yaml", "tasks.yml"}

// answers finds the tasks that an agent gives, wherever it puts them.
type answers struct {
	*builder
	seen map[string]string // what each place held after the turn before
}

// errNoTasks is an answer without any task file.
var errNoTasks = errors.New("there is no task file: neither tasks.jsonl or tasks.yaml in your working folder, nor tasks that were added there by commands, nor a code block with JSON lines in your answer")

// errSame is an answer that was refused before.
var errSame = errors.New("the tasks are the same as those that were refused before")

// find looks at the files first, then at what was added by commands, then at the
// answer itself. What was refused before and is still the same does not count again.
func (a *answers) find(ctx context.Context, said string) ([]dag.Spec, string, error) {
	text, where, err := a.newest(ctx, said)
	if err != nil {
		return nil, where, err
	}
	switch {
	case where == "" && len(a.seen) > 0:
		return nil, "your answer", errSame
	case where == "":
		return nil, "your answer", errNoTasks
	}
	specs, err := parse(text)
	if err == nil && len(specs) == 0 {
		err = errNoTasks
	}
	return specs, where, err
}

func (a *answers) newest(ctx context.Context, said string) (text, where string, err error) {
	var broken error // what is no task file counts only if there is no other
	for _, name := range taskFiles {
		read, err := a.at.read(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			broken = errors.New(reason(err))
			continue
		}
		if where == "" && a.isNew(name, read) {
			text, where = read, name
		}
	}
	added, err := a.addedToScratch(ctx, a.at.work())
	if err != nil {
		return "", "the scratch project", err
	}
	if len(added) > 0 && a.isNew("scratch", string(added)) && where == "" {
		text, where = string(added), "the scratch project"
	}
	if block := taskBlock(said); block != "" && where == "" {
		text, where = block, "your answer"
	}
	if where == "" {
		return "", "", broken
	}
	return text, where, nil
}

func (a *answers) isNew(place, text string) bool {
	before, was := a.seen[place]
	a.seen[place] = text
	return !was || before != text
}

// taskBlock returns the last code block of an answer that could be a task file, or
// its bare lines of JSON.
func taskBlock(said string) string {
	block := ""
	var inside, bare []string
	var code plain.Fence
	for line := range strings.Lines(said) {
		trimmed := strings.TrimSpace(line)
		marked := code.Next(trimmed)
		if !marked && code.Open() && (strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~")) {
			code, marked = plain.Fence{}, true // models write words after the end of a block
		}
		switch {
		case marked && code.Open():
			inside = nil
		case marked:
			if text := strings.Join(inside, ""); couldBeTasks(text) {
				block = text
			}
		case code.Open():
			inside = append(inside, line)
		case strings.HasPrefix(trimmed, "{") && strings.Contains(trimmed, `"title"`):
			bare = append(bare, trimmed+"\n")
		}
	}
	if text := strings.Join(inside, ""); code.Open() && couldBeTasks(text) {
		block = text // it was never closed
	}
	if block == "" {
		block = strings.Join(bare, "")
	}
	return block
}

func couldBeTasks(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && strings.ContainsRune("{[-", rune(text[0])) && strings.Contains(text, "title")
}

// faultsOf lists what is wrong with a plan, a line each.
func faultsOf(where string, err error) []Finding {
	var plan dag.PlanError
	if !errors.As(err, &plan) {
		return []Finding{{Level: Fault, Rule: "answer", Text: err.Error()}}
	}
	var list []Finding
	for _, e := range plan {
		rule := "answer"
		switch {
		case errors.As(e.Err, new(*dag.CycleError)):
			rule = "cycle"
		case errors.Is(e.Err, dag.ErrUnknownRef):
			rule = "orphan"
		}
		list = append(list, Finding{Level: Fault, Rule: rule, Text: fmt.Sprintf("%s, %v", where, e)})
	}
	return list
}
