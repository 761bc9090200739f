package template

import (
	"fmt"
	"strings"
	"testing"

	"ralph/internal/project"
	"ralph/internal/testing/check"
)

func TestWhatIsWrongIsNamedWithItsLine(t *testing.T) {
	t.Parallel()
	bomb := "a: &a [x, x]\n"
	for i := range 20 {
		bomb += fmt.Sprintf("b%d: &b%d [*a, *a]\n", i, i)
	}
	for name, tc := range map[string]struct{ text, want string }{
		"nothing":              {"", "line 1: there is nothing in it"},
		"no object":            {"- a\n", "line 1: a template is a list, not keys with values"},
		"no YAML":              {"steps:\n  - task: [\n", "not YAML: "},
		"a key twice":          {"name: a\nname: b\n", `line 2: not YAML: mapping key "name" already defined`},
		"two documents":        {"steps: [{task: a}]\n---\nsteps: []\n", "line 3: a file has one template; this is a second document"},
		"a bomb":               {bomb, "line 1: anchors and aliases are not read"},
		"nested":               {"steps: " + strings.Repeat("[", 10_000), "line 1: not YAML: nested more than 500 deep"},
		"an unknown key":       {"name: a\nstepz:\n  - task: a\n", `line 2: unknown key "stepz" of a template; did you mean steps?`},
		"an unknown step key":  {"steps:\n  - task: a\n    modell: b\n", `line 3: unknown key "modell" of a step; did you mean model?`},
		"an unknown input key": {"inputs:\n  a:\n    needed: true\nsteps: [{task: a}]\n", `line 3: unknown key "needed" of input a; there are required, default, list and description`},
		"a key that is a list": {"[a]: b\n", "line 1: "},
		"no steps":             {"name: a\n", "line 1: it has no steps"},
		"steps of a wrong type": {
			"steps: 3\n", "line 1: steps is a number, not a list of steps",
		},
		"a step of a wrong type": {"steps:\n  - a\n", "line 2: a step is a text, not keys with values"},
		"neither task nor shell": {"steps:\n  - title: a\n", "line 2: a step has one of task"},
		"both task and shell":    {"steps:\n  - task: a\n    shell: b\n", "line 2: a step has one of task"},
		"a task of a wrong type": {"steps:\n  - task: [a]\n", "line 2: task is a list, not a text"},
		"an empty task":          {"steps:\n  - task: ' '\n", "line 2: task is empty"},
		"a number of a wrong type": {
			"steps:\n  - task: a\n    max_retries: many\n", "line 3: max_retries is a whole number from 0",
		},
		"a negative number":      {"steps:\n  - task: a\n    max_retries: -1\n", "line 3: max_retries is a whole number from 0"},
		"yes as a text":          {"steps:\n  - task: a\n    foreach: [b]\n    serial: sure\n", "line 4: serial is a text; it can only be true or false"},
		"serial without foreach": {"steps:\n  - task: a\n    serial: true\n", "line 3: serial is for a step with foreach"},
		"a bad timeout":          {"steps:\n  - task: a\n    timeout: soon\n", `line 3: timeout: "soon" is not a duration`},
		"a bad on_fail":          {"steps:\n  - task: a\n    on_fail: contiune\n", `line 3: on_fail is stop or continue, not "contiune"; did you mean continue?`},
		"a bad step name":        {"steps:\n  - task: a\n    name: a/b\n", `line 3: a step cannot be called "a/b"`},
		"a shell with a model":   {"steps:\n  - shell: a\n    model: opus\n", "line 3: a shell step has no model: no model is asked"},
		"a tag":                  {"steps:\n  - task: !!binary aGk=\n", "line 2: task is a tag, not a text"},

		"an unknown variable":        {"inputs: {phases: {list: true}}\nsteps:\n  - task: a\n    description: |\n      one\n      ${phase}\n", `line 6: unknown variable "phase"; did you mean phases?`},
		"a shell variable":           {"steps:\n  - shell: echo ${HOME}\n", `line 2: unknown variable "HOME"; inputs declares them, and $${HOME} is the shell's own`},
		"a shell expansion":          {"steps:\n  - shell: echo ${HOME:-x}\n", `line 2: ${HOME:-x} is no expression`},
		"an open expression":         {"steps:\n  - shell: echo ${HOME\n", "line 2: ${ without }"},
		"an item without foreach":    {"steps:\n  - task: a ${item}\n", "line 2: ${item} is only known in a step with foreach"},
		"a field of an input":        {"inputs: {a: {}}\nsteps:\n  - task: ${a.b}\n", "line 3: ${a.b}: only an item has fields"},
		"an unknown gate variable":   {"gates:\n  - a\n  - ${b}\nsteps: [{task: a}]\n", `line 3: unknown variable "b"`},
		"a default that is unknown":  {"inputs:\n  a:\n    default: ${b}\nsteps: [{task: a}]\n", `line 3: unknown variable "b"`},
		"a default of itself":        {"inputs:\n  a: {default: 'x${a}'}\nsteps: [{task: a}]\n", "line 2: the default of input a leads back to itself: a, a"},
		"defaults in a circle":       {"inputs:\n  z: {default: '${a}'}\n  a: {default: '${b}'}\n  b: {default: '${a}'}\nsteps: [{task: a}]\n", "line 3: the default of input a leads back to itself: a, b, a"},
		"a default list of itself":   {"inputs:\n  a: {list: true, default: ['${a}']}\nsteps: [{task: a}]\n", "line 2: the default of input a leads back to itself"},
		"an input called item":       {"inputs: {item: {}}\nsteps: [{task: a}]\n", `line 1: an input cannot be called "item"`},
		"required with a default":    {"inputs:\n  a:\n    required: true\n    default: b\nsteps: [{task: a}]\n", "line 4: input a is required and has a default"},
		"a list for no list":         {"inputs:\n  a: {default: [b]}\nsteps: [{task: a}]\n", "line 2: the default is a list, and input a is none"},
		"foreach over itself":        {"steps:\n  - task: a\n    foreach: ${item}\n", "line 3: foreach repeats the step for ${item}"},
		"foreach over no list":       {"inputs: {a: {}}\nsteps:\n  - task: a\n    foreach: ${a}\n", "line 4: foreach needs a list, and input a is none"},
		"foreach over something":     {"inputs: {a: {list: true}}\nsteps:\n  - task: a\n    foreach: x${a}\n", "line 4: foreach is one list"},
		"foreach over the unknown":   {"steps:\n  - task: a\n    foreach: ${b}\n", `line 3: unknown variable "b"`},
		"an entry without a name":    {"steps:\n  - task: a\n    foreach:\n      - {path: b}\n", "line 4: an entry of foreach with fields needs one called name"},
		"an entry of a wrong type":   {"steps:\n  - task: a\n    foreach: [[b]]\n", "line 3: an entry of foreach is a list, not a text"},
		"two steps with one name":    {"steps:\n  - task: Do it\n  - task: do it!\n", "line 3: the step is called do-it, like that on line 2; give it another name"},
		"a name in another section":  {"before:\n  - {name: a, shell: b}\nafter:\n  - {name: a, shell: c}\n", "line 4: the step is called a, like that on line 2"},
		"a step that has no name":    {"steps:\n  - task: 日本\n", "line 2: the step needs a name"},
		"a step after itself":        {"steps:\n  - {name: a, task: x, after: a}\n", "line 2: the step waits for itself: a, which waits for a"},
		"steps after each other":     {"steps:\n  - {name: a, task: x, after: [c]}\n  - {name: b, task: x}\n  - {name: c, task: x}\n", "line 2: the step waits for itself: a, which waits for c, which waits for b, which waits for a"},
		"after an unknown step":      {"steps:\n  - {name: build, task: x}\n  - {name: b, task: x, after: [biuld]}\n", `line 3: after "biuld": there is no such step here; did you mean build?`},
		"a condition as a text":      {"inputs: {a: {}}\nsteps:\n  - task: a\n    when: ${a} == b\n", "line 4: when is a map, such as {input: NAME, is: TEXT} or {step: NAME, status: failed}, not a text"},
		"a condition of nothing":     {"steps:\n  - task: a\n    when: {}\n", "line 3: when names neither an input nor a step"},
		"a condition of no input":    {"steps:\n  - task: a\n    when: {is: b}\n", "line 3: is is said of an input, and when names none"},
		"a condition of the unknown": {"steps:\n  - task: a\n    when: {input: b, is: c}\n", `line 3: unknown variable "b"`},
		"a step that asks nothing":   {"steps:\n  - {name: b, shell: b}\n  - task: a\n    when: {step: b}\n", "line 4: refused: when asks nothing"},
		"a bad expression":           {"steps:\n  - {name: b, shell: b}\n  - task: a\n    when: {step: b, matches: '('}\n", "missing closing )"},
		"an expression with a value": {"steps:\n  - {name: b, shell: b}\n  - task: a\n    when: {step: b, lacks: '${a}'}\n", "line 4: lacks is a regular expression as written: no input varies it"},
		"an unknown step":            {"steps:\n  - {name: build, shell: b}\n  - task: a\n    when: {step: biuld, status: done}\n", `line 4: when looks at "biuld": there is no such step before this one; did you mean build?`},
		"a later step":               {"steps:\n  - task: a\n    when: {step: b, status: done}\n  - {name: b, shell: b}\n", `line 3: when looks at "b": there is no such step before this one`},
		"a failure that stops":       {"steps:\n  - {name: b, shell: b}\n  - task: a\n    when: {step: b, status: failed}\n", "line 4: when looks at a failure of b, after which nothing goes on; say there on_fail: continue"},
		"the exit status of a task":  {"steps:\n  - {name: b, task: b}\n  - task: a\n    when: {step: b, exit: 0}\n", "line 4: when looks at the exit status of b, which is no shell step"},
		"a repeated step":            {"steps:\n  - {name: b, shell: b, foreach: [a]}\n  - task: a\n    when: {step: b, status: done}\n", "line 4: when looks at b, which is repeated"},
		"a step inside a loop":       {"steps:\n  - {name: l, foreach: [a], steps: [{name: b, shell: b}]}\n  - task: a\n    when: {step: b, status: done}\n", `line 4: when looks at "b": there is no such step`},
		"steps without foreach":      {"steps:\n  - {name: l, steps: [{task: b}]}\n", "line 2: a step with steps has foreach"},
		"steps with a gate":          {"steps:\n  - {name: l, foreach: [a], gates: [x], steps: [{task: b}]}\n", "line 2: a step with steps has no gates: say it of those"},
		"steps and a task":           {"steps:\n  - {name: l, foreach: [a], task: x, steps: [{task: b}]}\n", "line 2: a step has one of task"},
		"an item twice":              {"steps:\n  - {name: l, foreach: [a], steps: [{task: b, foreach: [c]}]}\n", "line 2: ${item} is an input, or an item around this one; give this one another name with as"},
		"an item that is an input":   {"inputs: {p: {}}\nsteps:\n  - {task: l, foreach: [a], as: p}\n", "line 3: ${p} is an input"},
		"as without foreach":         {"steps:\n  - {task: l, as: p}\n", "line 2: as is for a step with foreach"},
		"a notice with a model":      {"steps:\n  - {notify: l, model: p}\n", "line 2: a notify step has no model: nothing is worked on"},
		"too large":                  {"description: " + strings.Repeat("a", project.MaxTemplate), "a template has at most 256 KiB"},
		"no text":                    {"name: \xff\n", "it is no text in UTF-8"},
		"too many steps":             {"steps:\n" + strings.Repeat("  - task: a\n", maxSteps+1), "line 1: it has 201 steps; at most 200 are read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse([]byte(tc.text))
			check.Err(t, "error", tc.want, err)
		})
	}
}

func TestAllFaultsAreNamed(t *testing.T) {
	t.Parallel()
	_, err := Parse([]byte("steps:\n  - task: do ${b}\n  - shell: a\n    when: {input: c}\n"))
	check.Err(t, "error", `(and 1 more, line 4)`, err)
}

func TestWhatIsBuiltInIsFine(t *testing.T) {
	t.Parallel()
	list, err := Library{Root: t.TempDir()}.List()
	check.OK(t, err)
	check.Equal(t, "how many", 4, len(list))
	for _, f := range list {
		check.OK(t, f.Err)
		check.Equal(t, f.Name+" has a description", true, f.Template.Description != "")
	}
	_, err = Parse([]byte(strings.Replace(starter, "NAME", "x", 1)))
	check.OK(t, err)
}
