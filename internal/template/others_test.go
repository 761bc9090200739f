package template

import (
	"testing"

	"ralph/internal/testing/check"
)

// TestTextThatOthersWrote is never read by a shell except as one quoted word, wherever a template puts it.
func TestTextThatOthersWrote(t *testing.T) {
	t.Parallel()
	inputs := "inputs: {t: {required: true}, d: {default: '${t}'}, q: {default: 'grep -- ${t|quote} f'}, e: {default: 'make ${t}'}}\nsteps:\n"
	for name, tt := range map[string]struct{ step, want string }{
		"a task":                       {"  - {name: s, task: 'Fix ${t}', description: 'It says ${t}.'}", ""},
		"quoted":                       {"  - {name: s, shell: 'echo ${t|quote}'}", ""},
		"quoted in a default":          {"  - {name: s, task: x, gates: ['${q}']}", ""},
		"a whole command":              {"  - {name: s, shell: '${t}'}", "is text that others wrote, and this is a command"},
		"a word":                       {"  - {name: s, shell: 'make ${t}'}", "is text that others wrote"},
		"raw":                          {"  - {name: s, shell: 'make ${t|raw}'}", "is text that others wrote"},
		"in quotation marks":           {"  - {name: s, shell: 'echo \"${t}\"'}", "is text that others wrote"},
		"a gate":                       {"  - {name: s, task: x, gates: ['${t}']}", "is text that others wrote"},
		"a gate by a default":          {"  - {name: s, task: x, gates: ['${d}']}", "is text that others wrote"},
		"a gate with a part of it":     {"  - {name: s, task: x, until: '${e}'}", "is text that others wrote"},
		"context":                      {"  - {name: s, task: x, context: ['cat ${t}']}", "is text that others wrote"},
		"a code block":                 {"  - name: s\n    task: |\n      x\n      ```sh\n      ${t}\n      ```", "is text that others wrote"},
		"an agent":                     {"  - {name: s, task: x, agent: '${t}'}", "agent and model would be text that others wrote"},
		"a model by a default":         {"  - {name: s, task: x, model: '${d}'}", "agent and model would be text that others wrote"},
		"an entry of a list":           {"  - {name: s, foreach: ['${t}'], shell: '${item}'}", "an entry of a list would have text in it that others wrote"},
		"a field of one":               {"  - {name: s, foreach: [{name: a, c: '${t}'}], shell: '${item.c}'}", "an entry of a list would have text in it that others wrote"},
		"an expected failure":          {"  - {name: s, task: x, expect_red: '${t}'}", "is text that others wrote"},
		"a title that no shell runs":   {"  - {name: s, title: '${t}', shell: 'true'}", ""},
		"a condition compares it only": {"  - {name: s, task: x, when: {input: t, is: a}}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, inputs+tt.step+"\n").Expand("", nil, Var{"t", "a b"})
			if tt.want == "" {
				check.OK(t, err)
				return
			}
			check.Err(t, "the error", tt.want, err)
		})
	}
	for what, text := range map[string]string{"lines": "a\nb", "a code block": "x ```sh", "another": "~~~"} {
		_, err := parse(t, inputs+"  - {name: s, task: '${t}'}\n").Expand("", nil, Var{"t", text})
		check.Err(t, what, "text that others wrote is one line, without the marks of code blocks", err)
	}
	_, err := parse(t, "inputs: {l: {list: true}}\nsteps:\n  - {name: s, task: '${l}'}\n").Expand("", nil, Var{"l", "a,b"})
	check.Err(t, "a list", "text that others wrote is one value", err)
}
