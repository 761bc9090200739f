// Package template owns templates: YAML files that become tasks. It reads and checks them, fills in what varies, and adds
// the tasks to a graph that are not there yet. It runs nothing: what it makes are tasks like any others.
package template

import "ralph/dag"

// The limits. A template is a page that a person writes, and each of its tasks is work that somebody pays for.
const (
	maxInputs = 100
	maxSteps  = 200
	maxFaults = 50
	maxTasks  = 1000     // that one application makes
	maxText   = 64 << 10 // bytes of one text once it is filled in
	maxFilled = 8 << 20  // of all of them together
)

// Template is a file that was read and checked.
type Template struct {
	Name        string
	Description string
	Inputs      []Input

	gates, context []text
	before         []step
	steps          []step
	after          []step
}

// Input is something that varies from one application to the next.
type Input struct {
	Name        string
	Description string
	Required    bool
	List        bool
	Default     string // as it is written, lists with commas

	line  int
	value text   // the default, unless it is a list
	items []item // the default of a list
}

// stepKind is what a step makes of its body.
type stepKind string

// Each is the key of its body.
const (
	taskStep   stepKind = "task"
	shellStep  stepKind = "shell"
	notifyStep stepKind = "notify"
	loopStep   stepKind = "steps" // which has steps instead
)

// step is one entry of before, steps or after: a task, or one task, or the tasks of several steps, for each of several items.
type step struct {
	line        int
	name        string
	kind        stepKind
	body        text // the task, the command, or what people are told
	steps       []step
	title       text // empty where the body has it
	description text

	foreach  *loop
	serial   bool
	when     *condition
	captured bool         // a later step looks at what it came to
	after    *[]reference // nil waits for the step above

	said           dag.Detail // what no input varies
	model, agent   text
	effort         text
	gates, context []text
	until          text
	expectRed      text
}

// loop is what a step is repeated for: the items of an input or of a field of an item around it, or those that are written there.
type loop struct {
	line  int
	as    string // the name of an item
	from  part
	items []item
}

// item is one of a list: a text, or some fields, of which name tells it from the others.
type item struct {
	line   int
	text   text
	fields map[string]text // nil if it is a text
}

// reference is the name of a step.
type reference struct {
	line int
	name string
}

// sections are the steps in the order in which they run.
func (t *Template) sections() [][]step { return [][]step{t.before, t.steps, t.after} }

// input finds one by its name; nil if there is none.
func (t *Template) input(name string) *Input {
	for i := range t.Inputs {
		if t.Inputs[i].Name == name {
			return &t.Inputs[i]
		}
	}
	return nil
}
