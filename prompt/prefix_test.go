package prompt_test

import (
	"fmt"
	"strings"
	"testing"

	"ralph/internal/testing/check"
	"ralph/prompt"
)

// specification has so many requirements, a section each.
func specification(n int) string {
	var b strings.Builder
	b.WriteString("# Invoices\n\n## Purpose\n\nBookkeepers send invoices by hand today, and every tenth has a wrong sum.\n")
	for i := range n {
		fmt.Fprintf(&b, "\n## Requirement %d\n\n- R%d: An invoice of kind %d is rounded once, at the end, to whole cents.\n"+
			"- A sum beyond 10^%d is refused with the number of the line, and nothing is stored.\n"+
			"- `ralph-invoice check %d.json` exits with 2 and names the field.\n", i, i, i, i, i)
	}
	return b.String()
}

func steps(n int) string {
	var b strings.Builder
	b.WriteString("# Plan\n")
	for i := range n {
		fmt.Fprintf(&b, "\n## Step %d\n\nIn invoice/kind%d.go: the type, its parser and its table of tests. Covers R%d.\n", i, i, i)
	}
	return b.String()
}

// iterations is the journal of a run, as much as it may be in a prompt.
func iterations(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Iteration %d of run r-1: task t-1111111%d \"Parse a line\": done\n  took 40s\n  notes:\n%s\n", i, i, strings.Repeat("    The table has a row for each kind.\n", 36))
	}
	return b.String()
}

// tasksOfAFeature are two tasks that have only their feature in common: other words, other
// dependencies, another history. The second one names what the first does not.
func tasksOfAFeature(requirements int) (a, b prompt.Input) {
	a = prompt.Input{
		Spec:         prompt.Document{Text: specification(requirements), From: ".ralph/features/invoices/spec.md"},
		Plan:         prompt.Document{Text: steps(requirements), From: ".ralph/features/invoices/plan.md"},
		Knowledge:    prompt.Document{Text: "\"Money\" (lesson; tags invoices)\n  Cents are int64.\n", From: ".ralph/knowledge"},
		Journal:      prompt.Document{Text: iterations(7) + "Earlier iterations that speak of the same things:\n\nIteration 2 of run r-0: rounding\n", From: "ralph journal list"},
		Instructions: []string{"AGENTS.md"},
	}
	b = a
	a.Task = prompt.Task{
		ID: "t-1f0c9a3e", Title: "Round the sums",
		Description: "Follows step 1 of the plan and R1.\n\nAcceptance:\n- `go test ./invoice -run Round` is green\n",
	}
	a.Git = &prompt.Git{Branch: "main", Head: "3f2a1bc parse a line"}
	b.Task = prompt.Task{
		ID: "t-2e1d8b4f", Title: "Refuse sums that are too large",
		Description: fmt.Sprintf("Follows step %d of the plan and R%d. Say which line it is.\n", requirements-1, requirements-1),
	}
	b.Parent = &prompt.Task{ID: "t-0aa0aa0a", Title: "Sums", Description: "All that is added up."}
	b.Prerequisites = []prompt.Prerequisite{{ID: a.Task.ID, Title: a.Task.Title, Summary: "Rounds half to even."}}
	b.Retry = &prompt.Retry{Attempt: 1, Max: 3, Reason: "The line is not named."}
	b.Journal.Text = iterations(8) + "Earlier iterations that speak of the same things:\n\nIteration 2 of run r-0: errors\n"
	b.TaskKnowledge = prompt.Document{Text: "\"Errors\" (lesson; tags sums)\n  They wrap ErrSum.\n", From: ".ralph/knowledge"}
	b.Git = &prompt.Git{Branch: "main", Head: "9e8d7c6 round", Uncommitted: []string{"invoice/sum.go"}}
	b.Skills = []prompt.Skill{{Name: "errors", Description: "how to word them", Path: ".claude/skills/errors/SKILL.md"}}
	return a, b
}

// common is how much of the longer of two texts is the beginning of both, in percent.
func common(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return 100 * n / max(len(a), len(b))
}

// TestTasksOfAFeatureShareTheBeginningOfTheirPrompts: providers charge less for a beginning that
// they have seen. Whole documents and those of ten times the budget are the same to that.
func TestTasksOfAFeatureShareTheBeginningOfTheirPrompts(t *testing.T) {
	t.Parallel()
	for _, requirements := range []int{30, 300, 3000} {
		t.Run(fmt.Sprint(requirements), func(t *testing.T) {
			t.Parallel()
			a, b := tasksOfAFeature(requirements)
			first, second := prompt.Build(a), prompt.Build(b)
			got := common(first, second)
			check.That(t, got > 80, "workers share %d %%", got)
			last := fmt.Sprintf("> - R%d: ", requirements-1)
			check.That(t, strings.Contains(second, last), "the requirement that the task names is missing")
			check.That(t, !strings.Contains(first, last) || requirements < 300, "the requirement that it does not name is there")
			of := func(in prompt.Input, change string) string {
				return prompt.Verify(prompt.VerifyInput{
					Task: in.Task, Spec: in.Spec, Plan: in.Plan, Diff: prompt.Difference{Files: []prompt.Changed{{Path: "x", Patch: "diff --git a/x b/x\n+" + change}}},
					Gates: []prompt.Gate{{Name: "go test ./...", Passed: true, Output: change}},
				})
			}
			second = of(b, "errSum")
			got = common(of(a, "round"), second)
			check.That(t, got > 80, "verifiers share %d %%", got)
			check.That(t, strings.Contains(second, last), "the verifier does not see the requirement that the task names")
		})
	}
}
