package prompt

import (
	"cmp"
	"fmt"
	"strings"

	"ralph/internal/plain"
)

// Weights are percentages of what is left for quotations, in the order of the
// prompt. The journal's and the knowledge's cover what their packages render
// (3,000 and 2,000 tokens) at the default budget.
const (
	weightDescription   = 18
	weightParent        = 4
	weightPrerequisites = 6
	weightSpec          = 20
	weightPlan          = 13
	weightRetry         = 6
	weightGuidance      = 3
	weightGit           = 3
	weightPrevious      = 5
	weightJournal       = 12
	weightKnowledge     = 8
	weightSkills        = 2
)

// Ranks say who gets what others leave, smallest first.
const (
	rankDescription = iota
	rankGuidance
	rankRetry
	rankSpec
	rankPlan
	rankPrerequisites
	rankPrevious
	rankJournal
	rankKnowledge
	rankGit
	rankParent
	rankSkills
)

// Build returns the prompt that hands a task to a worker.
func Build(in Input) string {
	p := page{budget: in.Budget, inert: in.Inert, worker: true}
	task := taskCommand(in.Task.ID)
	wanted := in.Task.Title + "\n" + in.Task.Description
	v := view{
		ID:           cleanID(in.Task.ID),
		Title:        p.inline(in.Task.Title, maxTitle),
		Description:  p.quote(in.Task.Description, task, weightDescription, rankDescription),
		Spec:         p.quote(in.Spec.Text, in.Spec.From, weightSpec, rankSpec).naming(wanted),
		Plan:         p.quote(in.Plan.Text, in.Plan.From, weightPlan, rankPlan).naming(wanted),
		Guidance:     p.quote(in.Guidance, task, weightGuidance, rankGuidance),
		Previous:     p.quote(in.Previous.Text, in.Previous.From, weightPrevious, rankPrevious).keepEnd(),
		Journal:      p.quote(in.Journal.Text, in.Journal.From, weightJournal, rankJournal),
		Knowledge:    p.quote(in.Knowledge.Text, in.Knowledge.From, weightKnowledge, rankKnowledge),
		Skills:       p.quote(skillList(in.Skills), "their files", weightSkills, rankSkills),
		Instructions: p.names(in.Instructions),
		Models:       cmp.Or(p.names(in.Models), "`opus`, `sonnet`, `haiku`"),
		Interrupted:  in.Interrupted,
		Uncommitted:  in.Git != nil && len(in.Git.Uncommitted) > 0,
		Retry:        in.Retry,
	}
	if in.Parent != nil {
		v.Parent = p.quote(in.Parent.Title+"\n\n"+in.Parent.Description, taskCommand(in.Parent.ID), weightParent, rankParent)
	}
	v.Prerequisites = p.quote(prerequisiteList(in.Prerequisites), "`ralph task show ID`, one each", weightPrerequisites, rankPrerequisites)
	if in.Retry != nil {
		v.Reason = p.quote(in.Retry.Reason, "`ralph task log "+cleanID(in.Task.ID)+"`", weightRetry, rankRetry)
	}
	if in.Git != nil {
		v.GitState = p.quote(gitState(in.Git), "`git status`", weightGit, rankGit)
	}
	return p.render("worker.md.tmpl", v)
}

// Verify returns the prompt of a verifier.
func Verify(in VerifyInput) string {
	const weightDescription, weightSpec, weightPlan, weightDiff, weightGates = 15, 20, 10, 40, 15
	const rankDescription, rankDiff, rankSpec, rankGates, rankPlan = 0, 1, 2, 3, 4
	p := page{budget: in.Budget, inert: in.Inert}
	wanted := in.Task.Title + "\n" + in.Task.Description
	return p.render("verify.md.tmpl", view{
		ID:          cleanID(in.Task.ID),
		Title:       p.inline(in.Task.Title, maxTitle),
		Description: p.quote(in.Task.Description, taskCommand(in.Task.ID), weightDescription, rankDescription),
		Spec:        p.quote(in.Spec.Text, in.Spec.From, weightSpec, rankSpec).naming(wanted),
		Plan:        p.quote(in.Plan.Text, in.Plan.From, weightPlan, rankPlan).naming(wanted),
		Diff:        p.quote(in.Diff.Text, in.Diff.From, weightDiff, rankDiff),
		Gates:       p.quote(gateList(in.Gates), "the gates' own output", weightGates, rankGates),
	})
}

func taskCommand(id string) string { return "`ralph task show " + cleanID(id) + "`" }

func prerequisiteList(done []Prerequisite) string {
	var b strings.Builder
	for _, d := range done {
		fmt.Fprintf(&b, "%s: %s\n", d.ID, oneLine(d.Title))
		writeIndented(&b, plain.Head(d.Summary, maxSummary))
	}
	return b.String()
}

func skillList(skills []Skill) string {
	var b strings.Builder
	for _, s := range skills {
		fmt.Fprintf(&b, "%s: %s (%s)\n", oneLine(s.Name), oneLine(s.Description), oneLine(s.Path))
	}
	return b.String()
}

func gitState(g *Git) string {
	var b strings.Builder
	fmt.Fprintf(&b, "branch: %s\nhead: %s\n", oneLine(g.Branch), oneLine(g.Head))
	for _, path := range g.Uncommitted {
		fmt.Fprintf(&b, "uncommitted: %s\n", oneLine(path))
	}
	return b.String()
}

func gateList(gates []Gate) string {
	var b strings.Builder
	for _, g := range gates {
		verdict := "failed"
		if g.Passed {
			verdict = "passed"
		}
		fmt.Fprintf(&b, "%s: %s\n", verdict, oneLine(g.Name))
		writeIndented(&b, plain.Tail(g.Output, maxSummary))
	}
	return b.String()
}

func writeIndented(b *strings.Builder, text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line != "" {
			fmt.Fprintf(b, "  %s\n", line)
		}
	}
}
