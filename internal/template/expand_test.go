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
before: [{shell: b1}, {shell: b2, when: {input: mode, is: slow}}]
steps:
  - {name: s1, task: one, when: {input: mode, not: fast}}
  - {name: s2, task: two, foreach: "${phases}"}
  - {name: s3, task: three, after: [s2]}
  - {name: s4, task: four, after: []}
  - {name: s5, task: five, when: {input: mode, in: [a, fast]}}
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
		"{input: word}": true, "{input: none}": false, "{input: no}": false, "{input: list}": true, "{input: nobody}": false,
		"{input: word, is: yes}": true, "{input: word, not: yes}": false, "{input: word, is: 'yes '}": false, "{input: word, is: '${word}'}": true,
		"{input: none, is: ''}": true, "{input: none, not: ''}": false, "{input: word, in: [yes, no]}": true, "{input: word, in: [no, never]}": false,
		"{input: list, has: a}": true, "{input: list, has: c}": false, "{input: word, in: [x, '${list}', '${word}']}": true, "{input: list, is: 'a, b'}": true,
		"{input: word, in: '${list}'}": false, "{input: word, is: yes, not: no}": true, "{input: word, in: [yes], not: yes}": false,
	} {
		text := "inputs: {word: {default: yes}, none: {}, no: {default: false}, list: {list: true, default: [a, b]}, nobody: {list: true}}\n" +
			"steps:\n  - {name: always, task: a}\n  - name: maybe\n    task: b\n    when: " + when + "\n"
		specs, err := parse(t, text).Expand("", nil)
		check.OK(t, err)
		check.Equal(t, when, want, len(specs) == 2)
	}
}

func TestItemsHaveFields(t *testing.T) {
	t.Parallel()
	text := "inputs: {pkgs: {list: true, default: [{name: a, path: ./a, skip: yes}, {name: b, path: ./b, skip: no}]}}\n" +
		"steps:\n  - name: s\n    foreach: ${pkgs}\n    task: ${item.name} in ${item.path}, ${item}\n    when: {input: item.skip, not: yes}\n"
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

func TestALoopInALoop(t *testing.T) {
	t.Parallel()
	text := `
inputs:
  phases: {list: true, default: [{name: scan, parts: [lexer, tables]}, {name: none, parts: ""}, {name: parse, parts: tree}]}
steps:
  - {name: plan, task: Plan}
  - name: phase
    foreach: ${phases}
    as: phase
    serial: true
    on_fail: continue
    title: "Phase ${phase}"
    when: {input: phase, not: skipped}
    steps:
      - name: part
        foreach: ${phase.parts}
        as: part
        task: "Build ${part} of ${phase.name}"
      - {name: test, shell: "make test-${phase.name}", on_fail: continue, when: {input: phase.parts}}
      - {name: fix, task: "Fix ${phase}", when: {step: test, status: failed}}
after:
  - {name: tell, notify: "Done: ${phases}"}
`
	specs, err := parse(t, text).Expand("", nil)
	check.OK(t, err)
	check.Equal(t, "tasks", `plan: Plan
phase: Phase … after plan
phase/scan: Phase scan in phase
phase/scan/part: Build … of scan in phase/scan
phase/scan/part/lexer: Build lexer of scan in phase/scan/part
phase/scan/part/tables: Build tables of scan in phase/scan/part
phase/scan/test: make test-scan in phase/scan after phase/scan/part
phase/scan/fix: Fix scan in phase/scan after phase/scan/test
phase/parse: Phase parse in phase after phase/scan
phase/parse/part: Build … of parse in phase/parse
phase/parse/part/tree: Build tree of parse in phase/parse/part
phase/parse/test: make test-parse in phase/parse after phase/parse/part
phase/parse/fix: Fix parse in phase/parse after phase/parse/test
tell: Done: scan, none, parse after phase`, outline(specs))
	check.Equal(t, "what waits for a phase goes on", []dag.OnFail{dag.Continue, dag.Continue}, []dag.OnFail{specs[1].OnFail, specs[2].OnFail})
	check.Equal(t, "the test gives", "phase/scan/test", specs[6].Output)
	check.Equal(t, "what the fix looks at", &dag.When{Output: "phase/scan/test", Status: dag.Failed}, specs[7].When)
	check.Equal(t, "what is told", "Done: scan, none, parse", specs[13].Notify)
}

func TestAFieldThatIsAListStaysAWordInACommand(t *testing.T) {
	t.Parallel()
	text := `
inputs: {target: {required: true}}
steps:
  - name: all
    foreach: [{name: x, commands: '[{"name":"a","run":"make ${target}"}]'}]
    as: x
    steps:
      - {name: one, foreach: "${x.commands}", as: c, shell: "${c.run}"}
`
	_, err := parse(t, text).Expand("", []Var{{"target", "x; rm -rf ~"}})
	check.That(t, err != nil, "the value is part of a command")
}

func TestAConditionLooksAtAnEarlierStep(t *testing.T) {
	t.Parallel()
	text := `
inputs: {mode: {default: all}}
before:
  - {name: build, shell: make, on_fail: continue, when: {input: mode, is: all}}
steps:
  - {name: scan, shell: scan, output: report}
  - {name: fix, task: Fix, when: {step: build, exit: 2}}
  - {name: each, foreach: [a, b], task: "See to ${item}", when: {step: scan, matches: "x", lacks: "y"}, after: []}
`
	specs, err := parse(t, text).Expand("", nil)
	check.OK(t, err)
	check.Equal(t, "tasks", `build: make
scan: scan after build
fix: Fix after scan build
each: See to … after scan
each/a: See to a in each after scan
each/b: See to b in each after scan`, outline(specs))
	two := 2
	check.Equal(t, "fix", &dag.When{Output: "build", Exit: &two}, specs[2].When)
	check.Equal(t, "an item", &dag.When{Output: "report", Matches: "x", Lacks: "y"}, specs[5].When)
	specs, err = parse(t, text).Expand("", []Var{{"mode", "some"}})
	check.OK(t, err)
	check.Equal(t, "without the step there is nothing to look at", "scan: scan\neach: See to … after scan\neach/a: See to a in each after scan\neach/b: See to b in each after scan", outline(specs))
}
