package prompt_test

import (
	"cmp"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"ralph/internal/testing/check"
	"ralph/prompt"
)

// sectioned are the prompts that have sections, by the name that those begin with.
func sectioned(s *prompt.Sections) map[string]string {
	work, verify, review := longInput(), verifyInput(), reviewerInput()
	spec, plan := planningInput(), planningInput()
	work.Sections, verify.Sections, review.Sections, spec.Sections, plan.Sections = s, s, s, s, s
	return map[string]string{
		"worker": prompt.Build(work), "verifier": prompt.Verify(verify), "reviewer": prompt.Reviewer(review),
		"spec": prompt.Spec(spec), "plan": prompt.Plan(plan),
		"tasks": prompt.Tasks(prompt.TasksInput{Name: "hello", Project: "/home/you/project", Program: "ralph", Sections: s}),
	}
}

func promptOf(section string) string {
	name, _, _ := strings.Cut(section, ".")
	return name
}

// TestASectionOfTheOwnWordsChangesNothing: what is ejected is accepted, and is word for word what was said before.
func TestASectionOfTheOwnWordsChangesNothing(t *testing.T) {
	t.Parallel()
	var s *prompt.Sections
	for _, name := range prompt.SectionNames() {
		text, err := prompt.SectionText(name)
		check.OK(t, err)
		s, err = s.With(name, name+".md", strings.ReplaceAll(text+"\n", "\n", "\r\n"))
		check.OK(t, err)
	}
	check.Equal(t, "prompts", sectioned(nil), sectioned(s))
}

// TestASectionIsReplacedInItsPromptOnly, and the list of sections names its file.
func TestASectionIsReplacedInItsPromptOnly(t *testing.T) {
	t.Parallel()
	for _, name := range prompt.SectionNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var none *prompt.Sections
			s, err := none.With(name, "ours.md", "- Our words.\n")
			check.OK(t, err)
			was := sectioned(nil)
			for of, got := range sectioned(s) {
				if of != promptOf(name) {
					check.Equal(t, of, was[of], got)
					continue
				}
				check.That(t, strings.Count(got, "- Our words.\n") == 1, "not said once: %s", got)
				text, _ := prompt.SectionText(name)
				line, _, _ := strings.Cut(text, "\n")
				check.That(t, strings.Contains(line, "{{") || !strings.Contains(got, line), "still there: %s", line)
			}
			for _, section := range s.Of(promptOf(name)) {
				check.Equal(t, section.Name, section.Name == name, section.File == "ours.md")
			}
			check.That(t, none.Of(promptOf(name))[0].File == "", "the first sections were changed")
		})
	}
}

// TestTheValuesOfASection are those that ralph's own words have there, and no other.
func TestTheValuesOfASection(t *testing.T) {
	t.Parallel()
	var s *prompt.Sections
	s, err := s.With("worker.rules", "x.md", "- {{if .Tools}}with{{else}}without{{end}} tools; read {{.Instructions}}.{{/* so */}} {{\"{{\"}}\n")
	check.OK(t, err)
	in := fullInput()
	in.Sections = s
	check.Contains(t, "prompt", "- with tools; read `AGENTS.md`, `CLAUDE.md`. {{\n", prompt.Build(in))
	in.Tools = false
	check.Contains(t, "prompt", "- without tools;", prompt.Build(in))
}

func TestABrokenSectionIsRefused(t *testing.T) {
	t.Parallel()
	values := "cannot be used; a section of worker may have {{if}} and {{else}}, .Instructions and .Tools"
	tests := map[string]struct{ name, text, want string }{
		"a sigil":               {"worker.rules", "be brave\nwrite `<task-done>`", "x.md:2: it has a sigil"},
		"a verdict":             {"worker.rules", "say verify-pass", "x.md:1: it has a sigil"},
		"another task":          {"worker.rules", "a\n\n## Assigned Task\n", `x.md:3: it has the words "Assigned Task"`},
		"an open block":         {"worker.rules", "a\n```sh\nmake\n", "x.md:2: this code block does not end"},
		"an open tilde block":   {"worker.rules", "~~~\na\n```\n", "x.md:1: this code block does not end"},
		"an open comment":       {"worker.rules", "a -->\n\nb <!-- c", "x.md:3: this comment does not end"},
		"a control character":   {"worker.rules", "a\nb\x1b[31m", "x.md:2: it has control characters"},
		"a bidi override":       {"worker.rules", "\u202eab", "x.md:1: it has control characters"},
		"not UTF-8":             {"worker.rules", "a\xff", "x.md: it is not UTF-8"},
		"nothing":               {"worker.rules", " \n\n", "x.md: it is empty"},
		"no end":                {"worker.rules", "a\n{{if .Tools}}\nb", "x.md:3: unexpected EOF"},
		"no such value":         {"worker.rules", "a\n\n{{.Tool}}", "x.md:3:2: .Tool " + values},
		"a value of another":    {"worker.rules", "{{.Name}}", "x.md:1:2: .Name " + values},
		"a quotation":           {"worker.rules", "{{.Description}}", ".Description " + values},
		"everything":            {"worker.rules", "{{.}}", ". " + values},
		"a variable":            {"worker.rules", "{{$}}", "$ " + values},
		"an assignment":         {"worker.rules", "{{$x := .Tools}}", values},
		"a function":            {"worker.rules", "a\n{{printf `%s` .Tools}}", `x.md:2: function "printf" not defined`},
		"a pipe":                {"worker.rules", "{{.Tools | len}}", `function "len" not defined`},
		"a loop":                {"worker.rules", "{{range .Tools}}a{{end}}", values},
		"a condition of others": {"worker.rules", "{{if .Title}}a{{end}}", ".Title " + values},
		"inside a condition":    {"worker.rules", "{{if .Tools}}{{else}}{{.Title}}{{end}}", ".Title " + values},
		"a part of a value":     {"worker.rules", "{{.Tools.X}}", values},
		"another template":      {"worker.rules", "{{template \"worker.md.tmpl\" .}}", values},
		"a definition":          {"worker.rules", "a{{define \"worker.md.tmpl\"}}b{{end}}", "x.md: it defines a template"},
		"a block":               {"worker.rules", "{{block \"b\" .}}b{{end}}", "x.md: it defines a template"},
		"where nothing is":      {"verifier.rules", "{{.Tools}}", "a section of verifier may have {{if}} and {{else}}"},
		"too much":              {"worker.rules", strings.Repeat("a line\n", prompt.MaxSections/7+200), "x.md: the sections of worker have more than 64"},
		"no section":            {"worker.rule", "a", `x.md: no prompt has a section "worker.rule"`},
		"no prompt":             {"worker", "a", `x.md: no prompt has a section "worker"`},
		"the sigils":            {"worker.sigils", "a", "x.md: worker.sigils cannot be changed: ralph knows by sigils how a task stands"},
		"the task":              {"worker.task", "a", "x.md: worker.task cannot be changed: the task is other people's text"},
		"the quoting":           {"spec.quoting", "a", "spec.quoting cannot be changed"},
		"the safety":            {"safety", "a", "x.md: safety cannot be changed"},
		"the verdict":           {"verifier.verdict", "a", "verifier.verdict cannot be changed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s *prompt.Sections
			got, err := s.With(tt.name, "x.md", tt.text)
			check.Err(t, "error", tt.want, err)
			check.That(t, got == s, "the sections were changed")
		})
	}
	_, err := prompt.SectionText("worker.sigils")
	var unknown *prompt.SectionError
	check.That(t, errors.As(err, &unknown) && unknown.Fixed != "", "%v", err)
}

// TestWordsThatAreOnlyUnusual are accepted.
func TestWordsThatAreOnlyUnusual(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"```sh\nmake\n```", "````\n```\n````", "~~~ go\n```\n~~~", "<!-- a --> b", "<!-- a\nb -->", "a `<!-- b -->`", "- use ```inline``` code", "\ufeffa", "\ta", "> quoted", "# Heading", "a <b> c",
	} {
		var s *prompt.Sections
		_, err := s.With("worker.rules", "x.md", text)
		check.That(t, err == nil, "%q: %v", text, err)
	}
}

// TestOwnWordsLeaveTheRestAsItIs: however long they are, and whatever the task says, the task stays quoted and is found,
// and the prompt stays within its budget.
func TestOwnWordsLeaveTheRestAsItIs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a line of ours\n", prompt.MaxSections/15)
	var all []*prompt.Sections
	for i, text := range []string{"{{if .Tools}}{{end}}- ours", "> ours\n```\nx\n```", "{{.Instructions}}", "ours", long} {
		s, err := (*prompt.Sections)(nil).With([]string{"worker.role", "worker.tools", "worker.memory", "worker.instructions", "worker.rules"}[i], "x.md", text)
		check.OK(t, err)
		all = append(all, s)
	}
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, len(all)-1).Draw(t, "sections")
		in := drawInput(t)
		in.Sections, in.Tools = all[n], rapid.Bool().Draw(t, "tools")
		budget := max(cmp.Or(in.Budget, prompt.DefaultBudget), prompt.MinBudget)
		if n == len(all)-1 {
			budget = max(budget, prompt.MinBudget+len(long)/4)
		}
		checkPrompt(t, prompt.Build(in), budget, headings(t, "worker_full"))
	})
}
