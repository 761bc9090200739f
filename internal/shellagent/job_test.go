package shellagent

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ralph/internal/testing/check"
	"ralph/prompt"
)

// section is a prompt's section as ralph might write it, for what its own
// prompts never contain.
func section(text string) string { return "## Assigned Task\n\n" + text + "\n" }

func titled(title, description string) string {
	return prompt.Build(prompt.Input{Task: prompt.Task{ID: task, Title: title, Description: description}})
}

func TestReadFindsTheScriptOfTheAssignedTaskOnly(t *testing.T) {
	t.Parallel()
	const notClosed = "not closed"
	const noBlock = "no fenced code block"
	sh := func(script string) job { return job{task: task, shell: "sh", script: script} }
	tests := map[string]struct {
		prompt  string
		want    job
		problem string
	}{
		"a block with the language sh":                  {work("```sh\na\n```"), sh("a\n"), ""},
		"a block with the language shell":               {work("```shell\na\n```"), sh("a\n"), ""},
		"a block with the language bash is run by bash": {work("```bash\na\n```"), job{task: task, shell: "bash", script: "a\n"}, ""},
		"the language in upper case and more words":     {work("``` SH title=x\na\n```"), sh("a\n"), ""},
		"tildes":                                           {work("~~~sh\na\n~~~"), sh("a\n"), ""},
		"a longer fence holds shorter ones":                {work("````sh\ncat <<E\n```\nE\n````"), sh("cat <<E\n```\nE\n"), ""},
		"a closing fence may be longer":                    {work("```sh\na\n`````"), sh("a\n"), ""},
		"a closing fence has no words":                     {work("```sh\necho\n``` x\n```"), sh("echo\n``` x\n"), ""},
		"a closing fence is of the same kind":              {work("```sh\n~~~\n```"), sh("~~~\n"), ""},
		"a closing fence that is indented by four is text": {work("```sh\n    ```\n```"), sh("    ```\n"), ""},
		"an indented fence takes its indentation away":     {work("  ```sh\n  if a; then\n    b\n c\n  ```"), sh("if a; then\n  b\nc\n"), ""},
		"a fence may be indented by three":                 {work("text\n\n   ```sh\n   a\n\tb\n   ```"), sh("a\n\tb\n"), ""},
		"an empty block":                                   {work("```sh\n```\nx"), sh(""), ""},
		"line ends of Windows in the description":          {work("```sh\r\na\r\nb\r\n```"), sh("a\nb\n"), ""},
		"line ends of Windows in the prompt":               {strings.ReplaceAll(work("```sh\na\nb\n```"), "\n", "\r\n"), sh("a\nb\n"), ""},
		"a command that a verifier's words are like":       {work("```sh\ngit verify-commit && Verify-x\n```"), sh("git verify-commit && Verify-x\n"), ""},
		"the first of several blocks":                      {work("```go\nx\n```\n```sh\na\n```\n```sh\nb\n```"), sh("a\n"), ""},
		"a block inside another one is text":               {work("````md\n```sh\nrm\n```\n````\n```sh\na\n```"), sh("a\n"), ""},
		"a block of another language is not run":           {work("```python\nx\n```"), job{task: task}, noBlock},
		"a language that only begins with sh is not run":   {work("```shx\nx\n```"), job{task: task}, noBlock},
		"a block without a language is not run":            {work("```\nx\n```"), job{task: task}, noBlock},
		"a code span is no fence":                          {work("```sh x``` y\n```sh\na\n```"), sh("a\n"), ""},
		"a fence that is indented by four is code":         {work("    ```sh\n    a\n    ```"), job{task: task}, noBlock},
		"a quoted block is not run":                        {work("> ```sh\n> a\n> ```"), job{task: task}, noBlock},
		"a block that is not closed is not run":            {work("```sh\na"), job{task: task}, notClosed},
		"a heading inside a block is a comment":            {work("```sh\n## a\nb\n```"), sh("## a\nb\n"), ""},
		"a smaller heading stays in the section":           {work("### How\n```sh\na\n```"), sh("a\n"), ""},
		"a heading of the description is its own":          {work("# How\n```sh\na\n```\n## Assigned Task\n```sh\nb\n```"), sh("a\n"), ""},
		"a blank line in a block":                          {work("```sh\na\n\nb\n```"), sh("a\n\nb\n"), ""},
		"a title that looks like a fence":                  {titled("```sh", "```sh\na\n```"), sh("a\n"), ""},
		"a title that names another task":                  {titled("after t-99999999", "```sh\na\n```"), sh("a\n"), ""},
		"ralph's own words are not run":                    {section("ID: `t-0123abcd`\n\n```sh\na\n```\n"), job{task: task}, noBlock},
		"a block does not go on in the next quotation":     {section("ID: `t-0123abcd`\n\n> ```sh\n> a\n\nand\n\n> b\n> ```\n"), job{task: task}, notClosed},
		"a quotation before the section is not run":        {"> ```sh\n> x\n> ```\n" + section("ID: `t-0123abcd`\n"), job{task: task}, noBlock},
		"a quotation after the section is not run":         {section("ID: `t-0123abcd`\n") + "# Journal\n> ```sh\n> x\n> ```\n", job{task: task}, noBlock},
		"a second section of that name is not run":         {section("ID: `t-0123abcd`\n") + section("> ```sh\n> x\n> ```\n"), job{task: task}, noBlock},
		"the heading inside a block is no heading":         {"```md\n## Assigned Task\nt-11111111\n```\n" + section("ID: `t-0123abcd`\n> ```sh\n> a\n> ```\n"), sh("a\n"), ""},
		"the ID of a task elsewhere is not ours":           {"# t-88888888\n" + section("ID: `t-0123abcd`\n> t-99999999\n> ```sh\n> a\n> ```\n"), sh("a\n"), ""},
		"a longer ID is no ID":                             {section("t-0123abcde xt-0123abcd t-0123ABCD\n> ```sh\n> a\n> ```\n"), job{shell: "sh", script: "a\n"}, ""},
		"a prompt without a section assigns nothing":       {"t-0123abcd\n> ```sh\n> a\n> ```", job{}, noBlock},
		"an empty prompt assigns nothing":                  {"", job{}, noBlock},
		"the verify block, for a verifier":                 {verifying("```sh\na\n```\n```verify\nb\n```"), job{task: task, verify: true, shell: "sh", script: "b\n"}, ""},
		"no verify block, for a verifier":                  {verifying("```sh\na\n```"), job{task: task, verify: true}, ""},
		"a verify block that is not closed":                {verifying("```verify\na"), job{task: task, verify: true}, notClosed},
		"a description that speaks of verifying is work":   {work("Teach it <verify-pass/>.\n```sh\na\n```"), sh("a\n"), ""},
		"a quotation that speaks of verifying is none":     {"> <verify-pass/>\n" + section("ID: `t-0123abcd`\n> ```sh\n> a\n> ```\n"), sh("a\n"), ""},
		"a verify block is not the work":                   {work("```verify\nb\n```"), job{task: task}, noBlock},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, problem := read(tt.prompt)
			check.Equal(t, "job", tt.want, got, cmp.AllowUnexported(job{}))
			if (problem == "") != (tt.problem == "") || !strings.Contains(problem, tt.problem) {
				t.Errorf("got problem %q, want %q", problem, tt.problem)
			}
		})
	}
}
