package shellagent

import (
	"regexp"
	"strings"

	"ralph/internal/lazyregexp"
	"ralph/internal/redact"
)

// job is what a prompt asks for: which task, and which script to run for it.
type job struct {
	task   string
	verify bool
	output bool // what the script prints is for other tasks
	// shell is the program that runs the script. Both are empty when there is
	// nothing to verify.
	shell, script string
}

const (
	heading = "Assigned Task"
	// asksToVerify is what a prompt teaches only to a verifier.
	asksToVerify = "<verify-pass/>"
	// asksForOutput is what it says where other tasks wait for a result.
	asksForOutput = "Tasks that wait for this one get what you say in your last message"
	// asksToRepair is how a prompt begins that sends work back.
	asksToRepair = "# Ralph: a check is red"
)

var taskID = lazyregexp.New(`(?:^|[^0-9A-Za-z_-])(t-[0-9a-f]{8})(?:$|[^0-9A-Za-z_-])`)

// read finds the job in a prompt. A job without a task means that the prompt
// assigns none. The problem says why there is no script where there must be
// one.
func read(prompt string) (j job, problem string) {
	p := parts(prompt)
	if m := taskID.Get().FindStringSubmatch(p.words); m != nil {
		j.task = m[1]
	}
	j.verify, j.output = strings.Contains(p.elsewhere, asksToVerify), strings.Contains(p.words, asksForOutput)
	b, found := p.find(j.runs)
	switch {
	case found && !b.closed:
		return j, "the code block " + b.language + " in its description is not closed, or the description is too long for the prompt; " +
			"either way nobody knows where the script ends"
	case found && strings.Contains(b.text, redact.Placeholder): // to a shell it is a pattern that matches other files
		return j, "its script contains " + redact.Placeholder + ", which stands for a secret, such as the value of a variable that looks like one, so it is " +
			"not what was written; write $NAME there and allow NAME in [agent] env_allow, or unset the variable for ralph"
	case found:
		if j.shell, j.script = "sh", whole(b.text); b.language == "bash" {
			j.shell = "bash"
		}
	case !j.verify:
		return j, "its description has no fenced code block with the language sh (three backticks, sh, the commands, " +
			"three backticks), which is what this agent runs; write one, or give the task to an agent with a model"
	}
	return j, ""
}

// runs reports whether a block of that language is the job's script.
func (j job) runs(language string) bool {
	if j.verify {
		return language == "verify"
	}
	return language == "sh" || language == "bash" || language == "shell"
}

func (j job) title() string {
	if j.verify {
		return "verify block of " + j.task
	}
	return j.shell + " block of " + j.task
}

// whole undoes what the prompt does to the words by which a verifier's prompt
// is known: in a command such as git verify-commit the hyphen is needed.
func whole(script string) string {
	return regexp.MustCompile(`(?i)(verify)\x{2011}`).ReplaceAllString(script, "$1-")
}
