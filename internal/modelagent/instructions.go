package modelagent

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"
)

const instructions = `You are a coding agent. You work alone in one folder, on the task that the user gives you, and nobody answers questions meanwhile.

- Look before you change something: read the files that matter and search for what uses them.
- Make the smallest change that does the whole task, in the style of the code around it.
- Run the project's own tests and checks when you have changed something, and fix what you broke. Never weaken a test to make it pass.
- Calls that only read run at the same time if you make them in one answer.
- A result that says "denied" was refused by a rule or a person: find another way or say why there is none.
- The prompt may ask you to end with markers, such as a tag with the task's ID. Write them exactly as it says, once, outside of code blocks, and only when they are true.
- Be brief. Say what you did and how you know that it works; do not repeat the code.
`

// instructionFiles are what projects tell agents, and instructionLimit how much of each is read.
var instructionFiles = []string{"AGENTS.md", "CLAUDE.md"}

const instructionLimit = 20_000

// systemPrompt is what the model is told before everything else. It is made once, when a conversation begins, so that
// each request begins with the same bytes and providers can cache them.
func systemPrompt(ctx context.Context, dir string, environ []string, now time.Time) string {
	var b strings.Builder
	b.WriteString(instructions)
	fmt.Fprintf(&b, "\nFolder: %s\nSystem: %s/%s\nShell: %s\nDate: %s\n", dir, runtime.GOOS, runtime.GOARCH, shell(dir, environ), now.Format("2006-01-02"))
	git := exec.CommandContext(ctx, "git", "branch", "--show-current")
	git.Dir, git.Env = dir, environ
	if branch, err := git.Output(); err == nil && len(bytes.TrimSpace(branch)) > 0 {
		fmt.Fprintf(&b, "Git branch: %s\n", bytes.TrimSpace(branch))
	}
	said := ""
	for _, name := range instructionFiles {
		if text := readInstructions(dir, name); text != said { // one is often a link to the other, or a copy
			fmt.Fprintf(&b, "\n# %s of the project\n\n%s\n", name, text)
			said = text
		}
	}
	return b.String()
}

// readInstructions reads a file of the folder itself: a link does not lead out of it, and it need not be there.
func readInstructions(dir, name string) string {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return ""
	}
	defer func() { _ = root.Close() }()
	if info, err := root.Stat(name); err != nil || !info.Mode().IsRegular() { // a pipe would never end
		return ""
	}
	data, _ := root.ReadFile(name)
	return shorten(strings.TrimSpace(strings.ToValidUTF8(string(data), "?")), "", 0, instructionLimit)
}
