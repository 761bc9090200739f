package prompt

import (
	"cmp"
	"fmt"
	"strings"

	"ralph/internal/plain"
)

// Build returns the prompt that hands a task to a worker. What is the same for every task of
// a feature comes first and the task last, because providers cache prompts by their
// beginning. The task's quotations are in the order in which they get what others leave. The
// weights of the journal and the knowledge cover what their packages render (3,000 and
// 2,000 tokens) at the default budget.
func Build(in Input) string {
	p := page{budget: in.Budget, worker: true, sections: in.Sections, longer: in.Sections.longer("worker")}
	id, task := cleanID(in.Task.ID), taskCommand(in.Task.ID)
	retry, parent, git := cmp.Or(in.Retry, &Retry{}), cmp.Or(in.Parent, &Task{}), cmp.Or(in.Git, &Git{})
	spec, plan, known := p.quoteFirst(in.Spec, in.Plan, in.Knowledge)
	return p.render("worker.md.tmpl", view{
		ID: id, Title: p.inline(in.Task.Title, maxTitle), Instructions: p.names(in.Instructions),
		Result:      p.inlineCode(in.Task.Output, maxName),
		MayChange:   p.names(in.Task.MayChange),
		Models:      cmp.Or(p.names(in.Models), "`opus`, `sonnet`, `haiku`"),
		Interrupted: in.Interrupted, Tools: in.Tools, Uncommitted: len(git.Uncommitted) > 0, Retry: in.Retry,
		Spec: spec, Plan: plan, Knowledge: known,

		Description:   p.quote(Document{in.Task.Description, task}, 19),
		Criteria:      p.criteria(in.Proves),
		Guidance:      p.quote(Document{in.Guidance, task}, 3),
		Answers:       p.quote(Document{answerList(in.Answers), "`ralph inbox --all`"}, 6),
		Messages:      p.quote(Document{messageList(in.Messages), "`ralph inbox --all`"}, 4),
		Reason:        p.quote(Document{retry.Reason, "`ralph task log " + id + "`"}, 6),
		SpecSections:  p.quote(spec.named(in.Task), 7),
		PlanSections:  p.quote(plan.named(in.Task), 5),
		Prerequisites: p.quote(Document{prerequisiteList(in.Prerequisites), "`ralph task show ID`, one each"}, 6),
		Related:       p.quote(Document{strings.Join(in.Related, "\n"), "`ralph task show ID`, one each"}, 4),
		Outputs:       p.quoteParts(texts(in.Outputs), "what those tasks said last", 6),
		Printed:       p.quoteParts(texts(in.Printed), "the commands", 5),
		Previous:      p.quote(in.Previous, 5).keepEnd(),
		Journal:       p.quote(in.Journal, 24).keepEnd(),
		TaskKnowledge: p.quote(in.TaskKnowledge, 16),
		Conflict:      p.quote(in.Conflict.document(), 12),
		GitState:      p.quote(Document{gitState(in.Git), "`git status`"}, 3),
		Parent:        p.quote(Document{parent.Title + "\n\n" + parent.Description, taskCommand(parent.ID)}, 4),
		Skills:        p.quote(Document{skillList(in.Skills), "their files"}, 2),
	})
}

// Verify returns the prompt of a verifier, in the same order, except that a doubt comes first: it is what the verifier
// has to look at, and it takes of the space for the difference, which shows the same changes.
func Verify(in VerifyInput) string {
	p := page{budget: in.Budget, sections: in.Sections, longer: in.Sections.longer("verifier")}
	spec, plan, _ := p.quoteFirst(in.Spec, in.Plan, Document{})
	failed := p.quoteParts(texts(in.Doubt.Failed), "what they printed", 12)
	changes := p.quoteParts(texts(in.Doubt.Changes), "ralph's checks and the difference since the task began", 24)
	diff := 40
	if failed != nil || changes != nil {
		diff = 10
	}
	files, difference := p.quoteChanges(in.Diff, 6, diff)
	description := p.quote(Document{in.Task.Description, taskCommand(in.Task.ID)}, 18)
	return p.render("verify.md.tmpl", view{
		ID: cleanID(in.Task.ID), Title: p.inline(in.Task.Title, maxTitle), Spec: spec, Plan: plan, Failed: failed, Changes: changes,
		Unchanged: in.Unchanged, Cosmetic: in.Cosmetic, Split: in.Split, MayChange: p.names(in.Task.MayChange),

		Criteria:     p.criteria(in.Proves),
		Description:  description,
		Files:        files,
		Diff:         difference,
		Resolved:     p.quote(Document{strings.Join(in.Resolved, "\n"), "ralph's records"}, 4),
		Refs:         p.quote(Document{strings.Join(in.Refs, "\n"), "ralph's records"}, 2),
		Unexecuted:   p.unexecuted(in.Unexecuted, 6),
		Effort:       p.inline(in.Effort, maxTitle),
		SpecSections: p.quote(spec.named(in.Task), 10),
		Gates:        p.quote(Document{strings.Join(texts(in.Gates), ""), "the gates' own output"}, 18),
		PlanSections: p.quote(plan.named(in.Task), 8),
	})
}

// criteria quotes the criteria that the work is to prove.
func (p *page) criteria(proves []string) *quote {
	return p.quote(Document{strings.Join(proves, "\n"), "the specification"}, 5)
}

// Reviewer returns the prompt of a reviewer, in the same order. Without a focus it is that of an acceptance.
func Reviewer(in ReviewerInput) string {
	p := page{budget: in.Budget, sections: in.Sections, longer: in.Sections.longer("reviewer")}
	spec, plan, _ := p.quoteFirst(in.Spec, in.Plan, Document{})
	if in.Focus == "" {
		return p.render("acceptance.md.tmpl", view{
			ID: cleanID(in.Task), Title: p.code(in.Feature), Spec: spec, Plan: plan, Diff: p.quoteParts(in.Diff, in.From, 90),
			Failed: p.quote(Document{strings.Join(in.Differ, "\n"), "ralph's checks"}, 5),
		})
	}
	return p.render("reviewer.md.tmpl", view{
		ID: cleanID(in.Task), Name: p.code(in.Feature), Spec: spec, Plan: plan,

		Description: p.quoteOr(in.Focus, "everything", "`.ralph.toml`"),
		Diff:        p.quoteParts(in.Diff, in.From, 90),
	})
}

// Witness returns the request for a check of a task, written from the task's words alone.
func Witness(in WitnessInput) string {
	p := page{budget: in.Budget}
	spec, _, _ := p.quoteFirst(in.Spec, Document{}, Document{})
	return p.render("witness.md.tmpl", view{
		ID: cleanID(in.Task.ID), Title: p.inline(in.Task.Title, maxTitle), Spec: spec,

		Description:  p.quote(Document{in.Task.Description, taskCommand(in.Task.ID)}, 60),
		Criteria:     p.criteria(in.Proves),
		SpecSections: p.quote(spec.named(in.Task), 20),
		Gates:        p.quote(Document{strings.Join(in.Gates, "\n"), "`.ralph.toml`"}, 10),
	})
}

// Refuted returns the request to an agent whose work fails the check of a witness. It gets what that printed, not the check.
func Refuted(taskID, output string) string {
	p := page{worker: true}
	return p.render("refuted.md.tmpl", view{ID: cleanID(taskID), Output: p.quote(Document{output, "the check"}, 100).keepEnd()})
}

// lessonsBudget keeps the question small: it is one for the cheapest model.
const lessonsBudget = 8000 // tokens

// Lessons returns the question what later agents should know about work that took more than one try.
func Lessons(in LessonsInput) string {
	p := page{budget: lessonsBudget}
	return p.render("lessons.md.tmpl", view{
		ID: cleanID(in.Task.ID), Title: p.inline(in.Task.Title, maxTitle),

		Description: p.quote(Document{in.Task.Description, taskCommand(in.Task.ID)}, 20),
		Output:      p.quoteParts(in.Troubles, "the checks", 40),
		Diff:        p.quote(in.Diff, 40),
	})
}

// Unfinished returns the question put to an agent that ended its turn without
// saying how the task stands.
func Unfinished(taskID string) string { return followUp("unfinished.md.tmpl", taskID) }

// GoOn returns the request to an agent whose answer was cut off by a limit.
func GoOn(taskID string) string { return followUp("goon.md.tmpl", taskID) }

// Repair returns the request to an agent whose work a gate refused. It shows the
// end of what the gate printed.
func Repair(in RepairInput) string {
	p := page{budget: in.Budget, worker: true}
	return p.render("repair.md.tmpl", view{
		ID:     cleanID(in.TaskID),
		Title:  p.inline(in.Gate, maxTitle),
		Output: p.quote(in.Output, 100).keepEnd(),
	})
}

// Drift returns the request to an agent that makes no progress. The signs of that are
// sentences of ralph's own, but they may name what the agent called.
func Drift(taskID string, signs []string) string { return stopped("drift.md.tmpl", taskID, signs) }

// Unusual returns the request to an agent that did what work on a task rarely needs.
func Unusual(taskID string, signs []string) string { return stopped("unusual.md.tmpl", taskID, signs) }

// Uncovered returns the request to an agent to test or remove lines that no gate executed.
func Uncovered(taskID string, lines []string) string {
	p := page{worker: true}
	return p.render("uncovered.md.tmpl", view{ID: cleanID(taskID), Unexecuted: p.unexecuted(lines, 100)})
}

// unexecuted quotes lines of the change that no gate executed.
func (p *page) unexecuted(lines []string, weight int) *quote {
	return p.quote(Document{strings.Join(lines, "\n"), "the coverage of the gates"}, weight)
}

func stopped(name, taskID string, signs []string) string {
	p := page{worker: true}
	q := p.quoteOr(strings.Join(signs, "\n"), "nothing comes of it", "ralph's records")
	return p.render(name, view{ID: cleanID(taskID), Output: q})
}

// Moved returns the request to an agent that was stopped because what landed meanwhile conflicts
// with its work.
func Moved(taskID string, m Merged) string {
	p := page{worker: true}
	return p.render("moved.md.tmpl", view{ID: cleanID(taskID), Conflict: p.quote(m.document(), 100), Uncommitted: len(m.Files) > 0})
}

// Meanwhile tells what was merged with the work since the last turn, if anything was. The rest of a prompt follows.
func Meanwhile(m Merged) string {
	p := page{worker: true}
	landed := p.quote(Document{strings.Join(m.By(), "\n"), m.From}, 100)
	if landed == nil {
		return ""
	}
	return p.render("meanwhile.md.tmpl", view{Conflict: landed}) + "\n"
}

// Told tells what was said to the agent since its last turn, if anything was. The rest of a prompt follows.
func Told(list []Message) string {
	p := page{worker: true}
	said := p.quote(Document{messageList(list), "`ralph inbox --all`"}, 100)
	if said == nil {
		return ""
	}
	return p.render("told.md.tmpl", view{Messages: said}) + "\n"
}

// Query returns the request to an agent to answer what a person asks.
func Query(taskID string, m Message) string {
	p := &page{worker: true}
	asked := p.quote(Document{messageList([]Message{m}), "`ralph inbox --all`"}, 100)
	return p.render("query.md.tmpl", view{ID: cleanID(taskID), Messages: asked})
}

// Heed returns the request to an agent that called its task done before it had read its messages. They come before it.
func Heed(taskID string) string { return followUp("heed.md.tmpl", taskID) }

func followUp(name, taskID string) string {
	return (&page{worker: true}).render(name, view{ID: cleanID(taskID)})
}

func taskCommand(id string) string { return "`ralph task show " + cleanID(id) + "`" }

// document lists the files in conflict and what landed in them.
func (m Merged) document() Document {
	var b strings.Builder
	for _, name := range m.Files {
		fmt.Fprintf(&b, "conflict: %s\n", plain.OneLine(name))
	}
	for _, l := range m.Landed {
		fmt.Fprintf(&b, "\n%s: %s\n%s", plain.OneLine(l.By), plain.OneLine(l.Title), plain.Indent(l.Patch))
	}
	return Document{b.String(), m.From}
}

func answerList(list []Answered) string {
	var b strings.Builder
	for _, a := range list {
		fmt.Fprintf(&b, "question:\n%sanswer:\n%s", plain.Indent(strings.TrimSpace(a.Question)), plain.Indent(strings.TrimSpace(a.Answer)))
	}
	return b.String()
}

func messageList(list []Message) string {
	var b strings.Builder
	for _, m := range list {
		fmt.Fprintf(&b, "%s:\n%s", plain.OneLine(m.From), plain.Indent(strings.TrimSpace(m.Text)))
	}
	return b.String()
}

func prerequisiteList(done []Prerequisite) string {
	var b strings.Builder
	for _, d := range done {
		fmt.Fprintf(&b, "%s: %s\n%s", d.ID, plain.OneLine(d.Title), plain.Indent(strings.TrimSpace(plain.Head(d.Summary, maxSummary))))
	}
	return b.String()
}

// String is an output under its name.
func (o Output) String() string {
	return fmt.Sprintf("%s, of %s (%s):\n%s", plain.OneLine(o.Name), o.ID, plain.OneLine(o.Title), plain.Indent(strings.TrimSpace(o.Text)))
}

// String is a command above what it printed.
func (c Printed) String() string {
	return "$ " + plain.OneLine(c.Command) + "\n" + plain.Indent(strings.TrimRight(c.Text, "\n"))
}

func skillList(skills []Skill) string {
	var b strings.Builder
	for _, s := range skills {
		fmt.Fprintf(&b, "%s: %s (%s)\n", plain.OneLine(s.Name), plain.OneLine(s.Description), plain.OneLine(s.Path))
	}
	return b.String()
}

func gitState(g *Git) string {
	if g == nil {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "branch: %s\nhead: %s\n", plain.OneLine(g.Branch), plain.OneLine(g.Head))
	for _, path := range g.Uncommitted {
		fmt.Fprintf(&b, "uncommitted: %s\n", plain.OneLine(path))
	}
	return b.String()
}

func texts[T fmt.Stringer](items []T) (list []string) {
	for _, item := range items {
		list = append(list, item.String())
	}
	return list
}

// String is the gate as a part of a quotation.
func (g Gate) String() string {
	verdict := "failed"
	switch {
	case g.Passed:
		verdict = "passed"
	case g.Excused:
		verdict = "failed, excused (it failed with the same before the work, and proves nothing)"
	}
	output := strings.TrimSpace(plain.Tail(g.Output, maxSummary))
	if !strings.Contains(output, g.Failures) {
		output = plain.Head(g.Failures, maxSummary) + "\n...\n" + output
	}
	if g.Tests != "" {
		verdict += " (" + g.Tests + ")"
	}
	return fmt.Sprintf("%s: %s\n%s", verdict, plain.OneLine(g.Name), plain.Indent(clean(output)))
}

// String is the change as a part of a quotation. Its text is indented once it has no other line ends, so that it
// cannot pass for the next change.
func (c Change) String() string {
	switch {
	case c.Open:
		return fmt.Sprintf("change %d, which could not be checked: %s\n", c.N, plain.OneLine(c.Text))
	case c.File == "":
		return fmt.Sprintf("change %d: %s\n", c.N, plain.OneLine(c.Text))
	}
	return fmt.Sprintf("change %d, in %s:\n%s", c.N, plain.OneLine(c.File), plain.Indent(clean(c.Text)))
}
