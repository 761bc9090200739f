package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
)

// contestant is a program that takes a plan to its end. All drive the same Claude Code, each as its own README says.
type contestant struct {
	name     string
	packages []string                     // from npm, beside Claude Code
	wrapped  bool                         // what is started only starts the program
	files    func(plan) map[string]string // of its project; those below ~ are in the home instead
	setup    [][]string
	start    []string
	wide     []string   // starts it with several agents at once; nil if it cannot do that
	again    [][]string // what a person types after it was killed, or has ended and not all is done
	refused  [][]string // the same, after it has ended with an error; nil if it is the same
	done     []string   // prints the titles of the jobs that it says are done
}

const agentPackage = "@anthropic-ai/claude-code@2.1.326"

const loopPrompt = `Read PLAN.md. Take the first task that is not ticked off, and only that one.
Do it, run its test, tick it off in PLAN.md, and commit your work.
`

func contestants() []contestant {
	loop, ralphy := []string{"bash", "loop.sh"}, []string{"ralphy", "--json", "PRD.json"}
	tui := []string{"ralph-tui", "run", "--prd", "./prd.json", "--headless", "--no-setup"}
	return []contestant{
		{
			name: "ralph", packages: []string{"@agentclientprotocol/claude-agent-acp@0.99.0"},
			files: ralphFiles, setup: [][]string{{"ralph", "init"}, {"sh", "-c", "ralph task import ~/plan.jsonl"}},
			start: []string{"ralph", "run"}, wide: []string{"ralph", "run", "--jobs", "3"},
			again: [][]string{{"ralph", "run"}}, refused: [][]string{{"ralph", "task", "reset", "--failed"}, {"ralph", "run"}},
			done: []string{"ralph", "task", "list", "--status", "done", "--json"},
		},
		{
			name: "while loop", files: loopFiles, start: loop, again: [][]string{loop},
			done: []string{"sed", "-n", "/^- .[xX]/p", "PLAN.md"},
		},
		{
			name: "ralphy", packages: []string{"ralphy-cli@4.7.2"}, wrapped: true, files: ralphyFiles,
			start: ralphy, wide: append(ralphy[:3:3], "--parallel"), again: [][]string{ralphy},
			done: []string{"node", "-p", `require("./PRD.json").tasks.filter(t => t.completed).map(t => t.title)`},
		},
		{
			// It resumes, as its last words say; what cannot be resumed starts over, as the refusal says.
			name: "ralph-tui", packages: []string{"bun@1.4.4", "ralph-tui@0.11.0"}, files: tuiFiles,
			start: tui, wide: append(tui[:6:6], "--parallel", "--direct-merge"),
			again: [][]string{{"ralph-tui", "resume", "--headless"}}, refused: [][]string{append(tui[:6:6], "--force")},
			done: []string{"node", "-p", `require("./prd.json").userStories.filter(s => s.passes).map(s => s.title)`},
		},
	}
}

// ralphFiles is a plan to import. The tests are gates.
func ralphFiles(p plan) map[string]string {
	var lines strings.Builder
	for _, j := range p.jobs {
		lines.WriteString(encode(object{"ref": j.name, "title": j.title(), "description": j.text(), "after": j.after, "gates": []string{"sh " + j.test()}}) + "\n")
	}
	return map[string]string{filepath.Join("~", "plan.jsonl"): lines.String()}
}

// loopFiles is the loop that everybody writes; it ends when the plan is ticked off.
func loopFiles(p plan) map[string]string {
	text := "## Tasks\n\n"
	for _, j := range p.jobs {
		text += "- [ ] " + j.title() + " " + j.text() + "\n"
	}
	return map[string]string{
		"PLAN.md": text, "PROMPT.md": loopPrompt,
		"loop.sh": "while grep -q '^- \\[ \\]' PLAN.md; do\n\tclaude -p --dangerously-skip-permissions < PROMPT.md\ndone\n",
	}
}

// ralphyFiles is its list in JSON, and its config with the command for tests. Such a list has an order, and groups
// that are done at once, but no other dependencies.
func ralphyFiles(p plan) map[string]string {
	tasks := []object{}
	for _, j := range p.jobs {
		// With a description the agent is not told the title, so that stands in both.
		task := object{"title": j.title(), "description": j.title() + ". " + j.text(), "completed": false}
		if p.wide {
			task["parallel_group"] = 1
		}
		tasks = append(tasks, task)
	}
	return map[string]string{
		"PRD.json":             encode(object{"tasks": tasks}),
		".ralphy/config.yaml":  "project:\n  name: \"scripts\"\ncommands:\n  test: \"for t in tests/*.sh; do sh $t || exit 1; done\"\n",
		".ralphy/progress.txt": "# Ralphy Progress Log\n",
	}
}

// tuiFiles is its prd.json, with the test as a criterion of acceptance, and the config that its setup asks for.
func tuiFiles(p plan) map[string]string {
	stories := []object{}
	for i, j := range p.jobs {
		stories = append(stories, object{
			"id": j.name, "title": j.title(), "description": j.text(), "acceptanceCriteria": []string{"sh " + j.test() + " passes"},
			"priority": i + 1, "passes": false, "notes": "", "dependsOn": j.after,
		})
	}
	return map[string]string{
		"prd.json":               encode(object{"name": "scripts", "branchName": "main", "description": "Small scripts", "userStories": stories}),
		".ralph-tui/config.toml": "agent = \"claude\"\ntracker = \"json\"\nautoCommit = true\nenvPassthrough = [\"ANTHROPIC_API_KEY\"]\nconfigVersion = \"2.1\"\n",
	}
}

func encode(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps of strings, numbers and lists can be written
	}
	return string(raw)
}
