package template

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func parse(t testing.TB, text string) Template {
	t.Helper()
	tpl, err := Parse([]byte(text))
	check.OK(t, err)
	tpl.Name = "x"
	return tpl
}

// outline is one line a task: its ref, what it is below and what it waits for.
func outline(specs []dag.Spec) string {
	var lines []string
	for _, s := range specs {
		line := s.Ref + ": " + s.Title
		if s.Parent != "" {
			line += " in " + s.Parent
		}
		if len(s.After) > 0 {
			line += " after " + strings.Join(s.After, " ")
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

const whole = `
inputs: {feature: {required: true}, phases: {list: true}, lint: {default: ""}, test: {default: "test ${feature}"}}
gates: ["${test}", "${lint}"]
before:
  - shell: fetch
context: [git log]
steps:
  - foreach: ${phases}
    name: phase
    serial: true
    task: "Implement phase ${item}"
    model: opus
    effort: high
    until: test --all
    max_retries: 10
    output: notes
    timeout: 1h
  - name: sum
    task: |
      Sum it up
      with $${care}, $1
    description: "for ${phases}"
    on_fail: continue
    may_change: ["tests/**", go.sum]
after:
  - shell: build
`

func TestATemplateBecomesTasks(t *testing.T) {
	t.Parallel()
	specs, err := parse(t, whole).Expand("login", []Var{{"phases", "a, b c"}})
	check.OK(t, err)
	check.Equal(t, "tasks", `fetch: fetch
phase: Implement phase … after fetch
phase/a: Implement phase a in phase
phase/b-c-47d8a4a8: Implement phase b c in phase after phase/a
sum: Sum it up after phase
build: build after sum`, outline(specs))
	retries := 10
	check.Equal(t, "a shell step", dag.Spec{
		Line: 5, Ref: "fetch", Detail: dag.Detail{Title: "fetch", Description: "```sh\nfetch\n```", Agent: "shell"}, Feature: "login", Origin: "template:x:login/fetch",
	}, specs[0])
	check.Equal(t, "a task", dag.Spec{
		Line: 8, Ref: "phase/a", Parent: "phase", Detail: dag.Detail{Title: "Implement phase a", Model: "opus", Effort: dag.HighEffort, Gates: []string{"test login", "test --all"}, Context: []string{"git log"}, MaxRetries: &retries, Output: "notes", Timeout: time.Hour}, Feature: "login", Origin: "template:x:login/phase/a",
	}, specs[2])
	check.Equal(t, "a description", "with ${care}, $1\n\nfor a, b c", specs[4].Description)
	check.Equal(t, "on_fail", dag.Continue, specs[4].OnFail)
	check.Equal(t, "may_change", []string{"tests/**", "go.sum"}, specs[4].MayChange)
}

func TestStepsThatMakeNothingAreWaitedThrough(t *testing.T) {
	t.Parallel()
	text := `
inputs: {phases: {list: true}, mode: {default: fast}}
before: [{shell: b1}, {shell: b2, when: "${mode} == slow"}]
steps:
  - {name: s1, task: one, when: "${mode} != fast"}
  - {name: s2, task: two, foreach: "${phases}"}
  - {name: s3, task: three, after: [s2]}
  - {name: s4, task: four, after: []}
  - {name: s5, task: five, when: "${mode} in [a, 'fast']"}
after: [{shell: a1}]
`
	specs, err := parse(t, text).Expand("", nil)
	check.OK(t, err)
	check.Equal(t, "tasks", `b1: b1
s3: three after b1
s4: four after b1
s5: five after s4
a1: a1 after s3 s5`, outline(specs))
	specs, err = parse(t, text).Expand("", []Var{{"mode", "slow"}, {"phases", `[{"name":"p","n":1},"q"]`}})
	check.OK(t, err)
	check.Equal(t, "tasks", `b1: b1
b2: b2 after b1
s1: one after b2
s2: two after s1
s2/p: two in s2
s2/q: two in s2
s3: three after s2
s4: four after b2
a1: a1 after s3 s4`, outline(specs))
}

func TestConditions(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]bool{
		"${word}": true, "${none}": false, "${no}": false, "${list}": true, "${nobody}": false,
		"${word} == yes": true, "${word}==yes": true, "yes == ${word}": true, "${word} != yes": false, "${word} == 'yes '": false,
		"${none} == ''": true, `${none} != ""`: false, "${word} in yes, no": true, "${word} in [no,never]": false,
		"a in ${list}": true, "c in ${list}": false, "${word} in [x, ${list}, ${word}]": true, "${list} == 'a, b'": true, "${word} == ${word}": true,
	} {
		text := "inputs: {word: {default: yes}, none: {}, no: {default: false}, list: {list: true, default: [a, b]}, nobody: {list: true}}\n" +
			"steps:\n  - {name: always, task: a}\n  - name: maybe\n    task: b\n    when: " + when + "\n"
		if strings.HasPrefix(when, `"`) {
			continue
		}
		specs, err := parse(t, text).Expand("", nil)
		check.OK(t, err)
		check.Equal(t, when, want, len(specs) == 2)
	}
}

func TestItemsHaveFields(t *testing.T) {
	t.Parallel()
	text := "inputs: {pkgs: {list: true, default: [{name: a, path: ./a, skip: yes}, {name: b, path: ./b, skip: no}]}}\n" +
		"steps:\n  - name: s\n    foreach: ${pkgs}\n    task: ${item.name} in ${item.path}, ${item}\n    when: ${item.skip} != yes\n"
	specs, err := parse(t, text).Expand("", nil)
	check.OK(t, err)
	check.Equal(t, "tasks", "s: … in …, …\ns/b: b in ./b, b in s", outline(specs))
	_, err = parse(t, text).Expand("", []Var{{"pkgs", "a,b"}})
	check.Err(t, "no fields", `line 6: ${item.skip}: "a" is a text without fields`, err)
	_, err = parse(t, text).Expand("", []Var{{"pkgs", `[{"name":"c","skip":false,"psth":"x"}]`}})
	check.Err(t, "a missing field", `line 5: "c" has no field path; did you mean psth?`, err)
}

func TestValuesThatDoNotFit(t *testing.T) {
	t.Parallel()
	text := "inputs: {a: {required: true}, b: {required: true}, c: {}, l: {list: true}}\nsteps:\n  - {name: s, task: t, foreach: '${l}'}\n" +
		"  - name: cmd\n    shell: echo ${a}\n"
	fine := []Var{{"a", "1"}, {"b", "2"}}
	with := func(more ...Var) []Var { return append(fine[:2:2], more...) }
	many := strings.TrimSuffix(strings.Repeat("x,", maxTasks), ",")
	for name, tc := range map[string]struct {
		vars  []Var
		want  string
		value bool
	}{
		"missing":              {nil, "no value for a and b", true},
		"one missing":          {fine[:1], "no value for b", true},
		"empty":                {[]Var{{"a", "1"}, {"b", ""}}, "no value for b", true},
		"unknown":              {with(Var{"d", "1"}), `the template has no input "d"; did you mean a?`, true},
		"unknown and far":      {with(Var{"nothing", "1"}), `the template has no input "nothing"; there are a, b, c and l`, true},
		"twice":                {with(Var{"a", "2"}), "a is given twice, and is no list", true},
		"no text":              {with(Var{"c", "\x1b[31m"}), "c: a value is text of at most 64 KiB", true},
		"too long":             {with(Var{"c", strings.Repeat("a", maxText+1)}), "c: a value is text of at most 64 KiB", true},
		"bad JSON":             {with(Var{"l", "[a"}), "l: it begins like JSON and is none", true},
		"a list of lists":      {with(Var{"l", "[[1]]"}), "l: an entry is a text or an object, not [1]", true},
		"a list with nothing":  {with(Var{"l", "[1,null]"}), "l: an entry is a text or an object, not null", true},
		"an object unnamed":    {with(Var{"l", `[{"x":1}]`}), "l: an entry with fields needs one called name", true},
		"an object of lists":   {with(Var{"l", `[{"name":[1]}]`}), "l: name: a field is a text", true},
		"an item twice":        {with(Var{"l", "x,y"}, Var{"l", "x"}), `line 3: "x" is in the list twice`, false},
		"too many tasks":       {with(Var{"l", numbers(maxTasks)}), "line 3: that makes more than 1000 tasks", false},
		"too many items":       {with(Var{"l", numbers(maxTasks + 1)}), "line 3: the list has 1001 entries; at most 1000 tasks are made", false},
		"a second command":     {[]Var{{"a", "1\nrm -rf /"}, {"b", "2"}}, "line 5: the value of ${a} has a line break, and this is a command", false},
		"one item many a time": {with(Var{"l", many}), `"x" is in the list twice`, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, text).Expand("", tc.vars)
			check.Err(t, "error", tc.want, err)
			check.Equal(t, "it is the value's fault", tc.value, errors.As(err, new(*VarError)))
		})
	}
}

func numbers(n int) string {
	var words []string
	for i := range n {
		words = append(words, fmt.Sprint(i))
	}
	return strings.Join(words, ",")
}

// TestTextThatGrowsEnds: each default is twice as long as the one before.
func TestTextThatGrowsEnds(t *testing.T) {
	t.Parallel()
	text := "inputs:\n  v0: {default: 0123456789}\n"
	for i := range 60 {
		text += fmt.Sprintf("  v%d: {default: '${v%d}${v%d}'}\n", i+1, i, i)
	}
	_, err := parse(t, text+"steps: [{task: a}]\n").Expand("", nil)
	check.Err(t, "error", "filled in, this is too long: at most 64 KiB a text", err)
	long := strings.Repeat("x", maxText-100)
	_, err = parse(t, "inputs: {a: {}, l: {list: true}}\nsteps:\n  - {name: s, foreach: '${l}', task: t, description: '${a}'}\n").
		Expand("", []Var{{"a", long}, {"l", numbers(900)}})
	check.Err(t, "error", "line 3: filled in, this is too long", err)
}

// TestApplicationsAreToldApart by the feature and by what is required, not by what is optional or a list.
func TestApplicationsAreToldApart(t *testing.T) {
	t.Parallel()
	tpl := parse(t, "inputs: {bug: {required: true}, how: {}, l: {list: true}}\nsteps: [{name: s, task: t}]\n")
	origin := func(feature string, vars ...Var) string {
		specs, err := tpl.Expand(feature, vars)
		check.OK(t, err)
		return specs[0].Origin
	}
	one := origin("", Var{"bug", "a"})
	check.Equal(t, "the same", one, origin("", Var{"bug", "a"}, Var{"how", "x"}, Var{"l", "y"}))
	check.That(t, one != origin("", Var{"bug", "b"}), "two bugs are one: %s", one)
	check.That(t, one != origin("f", Var{"bug", "a"}), "two features are one: %s", one)
}

// TestAScriptStaysInItsBlock whatever marks it has.
func TestAScriptStaysInItsBlock(t *testing.T) {
	t.Parallel()
	specs, err := parse(t, "steps:\n  - name: s\n    shell: |\n      cat <<'X'\n      ```\n      ````\n      X\n").Expand("", nil)
	check.OK(t, err)
	check.Equal(t, "description", "`````sh\ncat <<'X'\n```\n````\nX\n`````", specs[0].Description)
}
