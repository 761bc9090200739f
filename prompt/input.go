package prompt

// DefaultBudget is the size of a prompt in estimated tokens when none is given.
const DefaultBudget = 32_000

// MinBudget is the smallest budget: below it our own words would not fit beside a
// few lines of each quotation. A smaller one is taken for this.
const MinBudget = 5_000

// Input is all that a worker's prompt is made of. Only Task is needed; a part that
// is empty has no section.
type Input struct {
	Task          Task
	Parent        *Task
	Prerequisites []Prerequisite
	Proves        []string // Success criteria that the work is to prove, each with its ID in front.
	Related       []string // other tasks that have to do with it, a line each
	Outputs       []Output
	Printed       []Printed // What the commands of the task say now.
	Spec          Document
	Plan          Document
	Retry         *Retry
	Guidance      string // What the person who runs ralph wants said.
	Answers       []Answered
	Messages      []Message
	Git           *Git
	Interrupted   bool     // The previous attempt ended before its work was accepted.
	Previous      Document // Output of the previous attempt; its end is shown.
	Conflict      Merged   // What the work on the task conflicts with.
	Journal       Document
	Knowledge     Document // What concerns the whole feature.
	TaskKnowledge Document // What else concerns the task.
	Instructions  []string // Names of files such as AGENTS.md.
	Skills        []Skill
	Tools         bool     // The agent has the tools of ralph.
	Models        []string // What next-model may name; nil means opus, sonnet and haiku.
	Sections      *Sections
	Budget        int // In estimated tokens; 0 means DefaultBudget.
}

// Task is a task as people wrote it. ID is ralph's own.
type Task struct {
	ID, Title, Description string
	Output                 string   // The name under which others get its result; empty for none.
	MayChange              []string // Globs of the files that check its work and that it may change.
}

// Prerequisite is a finished task that this one waited for.
type Prerequisite struct {
	ID, Title, Summary string
}

// Output is what a finished task has for those that waited for it.
type Output struct {
	Name, ID, Title, Text string
}

// Printed is a command with its output.
type Printed struct {
	Command, Text string
}

// Answered is what somebody answered to a question of the task.
type Answered struct {
	Question, Answer string
}

// Message is what a person, another task or the run has to say to the agent.
type Message struct {
	From, Text string
}

// Document is text from somewhere else. From says where all of it can be read, as
// a path or a command; cuts name it.
type Document struct {
	Text, From string
}

// Merged is what has landed on the branch and was merged with the work of a task.
type Merged struct {
	Files  []string // In conflict.
	Landed []Landed
	From   string // A command that shows all of it.
}

// Landed is one commit. Its patch is that of the files in conflict.
type Landed struct {
	By, Title, Patch string // By is a task's ID, or a person's name.
}

// By lists who changed something, and what for.
func (m Merged) By() []string {
	var list []string
	for _, l := range m.Landed {
		list = append(list, l.By+" ("+l.Title+")")
	}
	return list
}

// Retry says that the work was done before and was not good enough.
type Retry struct {
	Attempt, Max int
	Reason       string
	Unchanged    bool // Because nothing changed.
}

// Git is the state of the working tree.
type Git struct {
	Branch, Head string
	Uncommitted  []string // Paths.
}

// Skill is something the agent may read when it needs it.
type Skill struct {
	Name, Description, Path string
}

// Gate is a command that checked the work, with its output.
type Gate struct {
	Name     string
	Passed   bool
	Output   string
	Tests    string // How many passed, in words; empty if it does not say.
	Failures string // The lines of all its output that name one, if they are to be shown.
	Excused  bool   // It fails only with what it failed with before the work.
}

// Doubt is what the verifier has to clear before the work lands.
type Doubt struct {
	Failed  []Gate // With the checks from before the work.
	Changes []Change
}

// Change is a numbered change of a file, or without one something else to answer for.
type Change struct {
	N          int
	File, Text string
	Open       bool // It could not be checked: no sentence of the task can ask for that.
}

// VerifyInput is all that a verifier's prompt is made of.
type VerifyInput struct {
	Task       Task
	Doubt      Doubt
	Spec, Plan Document
	Diff       Difference
	Resolved   []string // Conflicts with what landed meanwhile, a line each.
	Refs       []string // Tags and branches that it makes, a line each.
	Unexecuted []string // Lines of the work that no gate executed, with their files.
	Effort     string   // What the attempt took, in words.
	Gates      []Gate
	Unchanged  bool     // Nothing changed: was the task fulfilled before?
	Split      bool     // Its subtasks are left.
	Proves     []string // As in Input.
	Cosmetic   bool     // Only white space and comments changed, and the gates passed before.
	Sections   *Sections
	Budget     int
}

// WitnessInput is all that the prompt is made of which asks for a check of a task before the work.
type WitnessInput struct {
	Task   Task
	Spec   Document
	Proves []string // As in Input.
	Gates  []string // The commands that check the project.
	Budget int
}

// ReviewerInput is all that the prompt of a reviewer is made of.
type ReviewerInput struct {
	Task, Feature string // the review's ID; a name
	Focus         string // "" asks whether the specification is fulfilled
	Spec, Plan    Document
	Diff          []string // by file
	From          string   // where the difference comes from
	Differ        []string // what gates say with the checks that the feature began with, where they do not pass
	Sections      *Sections
	Budget        int
}

// LessonsInput is all that the prompt is made of which asks for lessons.
type LessonsInput struct {
	Task     Task
	Troubles []string // why the work was not accepted at first
	Diff     Document
}

// RepairInput is the input of the prompt after a red gate.
type RepairInput struct {
	TaskID string
	Gate   string // The command.
	Output Document
	Budget int
}
