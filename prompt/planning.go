package prompt

import "strings"

// PlanningInput is all that the prompt for a feature's document is made of.
type PlanningInput struct {
	Name         string // of the feature
	Project      string // the folder of the project
	File         string // the document to be written, in the agent's working folder
	Interview    bool   // a person answers questions
	Draft        bool   // the file is there already
	Idea         Document
	Dialogue     Document // questions and answers of an interview that was interrupted
	Instructions []string
	Templates    []string // that a plan may name, a line each
	Sections     *Sections
}

// ReviewInput is all that the prompt for one pass of a review is made of.
type ReviewInput struct {
	Name, Project, File string
	What                string // the document: specification or plan
	Focus, Asks         string // what the pass looks for, in a word and in a sentence
	Pass, Passes        int
}

// TasksInput is all that the prompt for a task graph is made of. Without a Name
// the tasks belong to no feature, and Idea says what is wanted.
type TasksInput struct {
	Name     string
	Project  string
	Program  string // the command that starts ralph
	Gates    []string
	Idea     Document
	Existing Document // tasks that are kept
	Criteria bool     // the specification has some
	Sections *Sections
}

// AnswerInput is what a person said in an interview.
type AnswerInput struct {
	File   string
	Text   string
	Draft  bool // about a document that was shown
	Enough bool // it was the last word
}

// Spec returns the prompt that asks for a specification.
func Spec(in PlanningInput) string { return planning("spec", in) }

// Plan returns the prompt that asks for a plan.
func Plan(in PlanningInput) string { return planning("plan", in) }

func planning(name string, in PlanningInput) string {
	p := page{worker: true, sections: in.Sections, longer: in.Sections.longer(name)}
	in.Name, in.Project, in.File = p.code(in.Name), p.path(in.Project), p.code(in.File)
	return p.render(name+".md.tmpl", struct {
		PlanningInput
		Instructions              string
		Idea, Dialogue, Templates *quote
	}{in, p.names(in.Instructions), p.quote(in.Idea, 60), p.quote(in.Dialogue, 30).keepEnd(), p.quote(Document{strings.Join(in.Templates, "\n"), "`ralph template list`"}, 10)})
}

// Review returns the prompt for one pass of a review.
func Review(in ReviewInput) string {
	p := page{}
	in.Name, in.Project, in.File = p.code(in.Name), p.path(in.Project), p.code(in.File)
	return p.render("review.md.tmpl", in)
}

// Tasks returns the prompt that asks for a graph of tasks.
func Tasks(in TasksInput) string {
	p := page{worker: true, sections: in.Sections, longer: in.Sections.longer("tasks")}
	in.Name, in.Project, in.Program = p.code(in.Name), p.path(in.Project), p.path(in.Program)
	return p.render("tasks.md.tmpl", struct {
		TasksInput
		Gates          string
		Idea, Existing *quote
	}{in, p.names(in.Gates), p.quote(in.Idea, 60), p.quote(in.Existing, 60)})
}

// Mend returns the request to an agent whose tasks were refused.
func Mend(faults string) string {
	p := page{worker: true}
	return p.render("mend.md.tmpl", view{Output: p.quoteOr(faults, "there is no task in it", "ralph's checks")})
}

// Answer hands an agent what a person said.
func Answer(in AnswerInput) string {
	p := page{worker: true}
	in.File = p.code(in.File)
	return p.render("answer.md.tmpl", struct {
		AnswerInput
		Text *quote
	}{in, p.quote(Document{in.Text, "the terminal"}, 100)})
}

// Missing tells an agent why its document was not accepted.
func Missing(file, reason string) string {
	p := page{worker: true}
	return p.render("missing.md.tmpl", map[string]string{"File": p.code(file), "Reason": p.inline(reason, maxTitle)})
}

// maxPath is the longest path there is on the systems we know.
const maxPath = 4096

// code makes foreign text fit to stand between backticks.
func (p *page) code(text string) string { return p.inlineCode(text, maxTitle) }

func (p *page) path(path string) string { return p.inlineCode(path, maxPath) }

func (p *page) inlineCode(text string, limit int) string {
	return strings.ReplaceAll(p.inline(text, limit), "`", "'")
}
