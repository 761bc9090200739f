package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// contestant is a program that takes a plan to its end. All drive the same Claude Code, each as its own README says.
type contestant struct {
	name     string
	packages []string // from npm, beside Claude Code
	wrapped  bool     // what is started only starts the program
	setup    func(*race) error
	start    []string
	wide     []string // starts it with several agents at once; nil if it cannot do that
	// again is what a person types when it has ended, or was killed, and not all is done: one command or several.
	// Refused says that it ended with an error.
	again func(r *race, refused bool) [][]string
	done  func(*race) (map[string]bool, error) // the jobs that it says are done
}

const agentPackage = "@anthropic-ai/claude-code@2.1.326"

func contestants() []contestant {
	return []contestant{
		{
			name: "ralph", packages: []string{"@agentclientprotocol/claude-agent-acp@0.99.0"},
			setup: ralphSetup, start: []string{"ralph", "run"}, wide: []string{"ralph", "run", "--jobs", "3"}, again: ralphAgain, done: ralphDone,
		},
		{
			name: "while loop", setup: loopSetup, start: []string{"bash", "loop.sh"},
			again: func(r *race, _ bool) [][]string { return [][]string{r.start} }, done: loopDone,
		},
		{
			name: "ralphy", packages: []string{"ralphy-cli@4.7.2"}, wrapped: true, setup: ralphySetup,
			start: []string{"ralphy", "--json", "PRD.json"}, wide: []string{"ralphy", "--json", "PRD.json", "--parallel"},
			again: func(r *race, _ bool) [][]string { return [][]string{r.start} }, done: ralphyDone,
		},
		{
			name: "ralph-tui", packages: []string{"bun@1.4.4", "ralph-tui@0.11.0"}, setup: tuiSetup,
			start: []string{"ralph-tui", "run", "--prd", "./prd.json", "--headless", "--no-setup"},
			wide:  []string{"ralph-tui", "run", "--prd", "./prd.json", "--headless", "--no-setup", "--parallel", "--direct-merge"},
			again: tuiAgain, done: tuiDone,
		},
	}
}

// ralphSetup is the session of its README: init, import; the tests are gates.
func ralphSetup(r *race) error {
	var lines strings.Builder
	for _, j := range r.plan.jobs {
		task := object{"ref": j.name, "title": j.title(), "description": j.text(), "gates": []string{"sh " + j.test()}}
		if j.after != "" {
			task["after"] = []string{j.after}
		}
		raw, err := json.Marshal(task)
		if err != nil {
			return err
		}
		lines.WriteString(string(raw) + "\n")
	}
	file := filepath.Join(r.home, "plan.jsonl")
	if err := writeFile(file, lines.String()); err != nil {
		return err
	}
	if err := r.run("ralph", "init"); err != nil {
		return err
	}
	return r.run("ralph", "task", "import", file)
}

type ralphTask struct{ ID, Title, Status string }

func ralphTasks(r *race) ([]ralphTask, error) {
	out, err := r.command("ralph", "task", "list", "--all", "--json").Output()
	if err != nil {
		return nil, fmt.Errorf("ralph task list: %w", err)
	}
	var list []ralphTask
	return list, json.Unmarshal(out, &list)
}

// ralphAgain resets what has failed, one command each, and runs.
func ralphAgain(r *race, _ bool) [][]string {
	var out [][]string
	tasks, err := ralphTasks(r)
	if err != nil {
		r.log("%v", err)
	}
	for _, t := range tasks {
		if t.Status == "failed" {
			out = append(out, []string{"ralph", "task", "reset", t.ID})
		}
	}
	return append(out, []string{"ralph", "run"})
}

func ralphDone(r *race) (map[string]bool, error) {
	tasks, err := ralphTasks(r)
	out := map[string]bool{}
	for _, t := range tasks {
		out[jobIn(t.Title)] = t.Status == "done"
	}
	return out, err
}

const loopPrompt = `Read PLAN.md. Take the first task that is not ticked off, and only that one.
Do it, run its test, tick it off in PLAN.md, and commit your work.
`

// loopSetup is the loop that everybody writes; it ends when the plan is ticked off.
func loopSetup(r *race) error {
	text := "## Tasks\n\n"
	for _, j := range r.plan.jobs {
		text += "- [ ] " + j.title() + " " + j.text() + "\n"
	}
	return r.write(map[string]string{
		"PLAN.md":   text,
		"PROMPT.md": loopPrompt,
		"loop.sh":   "while grep -q '^- \\[ \\]' PLAN.md; do\n\tclaude -p --dangerously-skip-permissions < PROMPT.md\ndone\n",
	})
}

// ralphySetup is its list in JSON, and its config with the command for tests. Such a list has an order, and groups
// that are done at once, but no other dependencies.
func ralphySetup(r *race) error {
	tasks := []object{}
	for _, j := range r.plan.jobs {
		task := object{"title": j.title(), "description": j.text(), "completed": false}
		if r.plan.wide {
			task["parallel_group"] = 1
		}
		tasks = append(tasks, task)
	}
	raw, err := json.MarshalIndent(object{"tasks": tasks}, "", "  ")
	if err != nil {
		return err
	}
	return r.write(map[string]string{
		"PRD.json":             string(raw) + "\n",
		".ralphy/config.yaml":  "project:\n  name: \"scripts\"\ncommands:\n  test: \"for t in tests/*.sh; do sh $t || exit 1; done\"\n",
		".ralphy/progress.txt": "# Ralphy Progress Log\n",
	})
}

func ralphyDone(r *race) (map[string]bool, error) {
	var prd struct {
		Tasks []struct {
			Title     string
			Completed bool
		}
	}
	err := r.read("PRD.json", &prd)
	out := map[string]bool{}
	for _, t := range prd.Tasks {
		out[jobIn(t.Title)] = t.Completed
	}
	return out, err
}

// tuiSetup is its prd.json, with the test as a criterion of acceptance, and the config that its setup asks for.
func tuiSetup(r *race) error {
	stories := []object{}
	for i, j := range r.plan.jobs {
		story := object{
			"id": j.name, "title": j.title(), "description": j.text(), "acceptanceCriteria": []string{"sh " + j.test() + " passes"},
			"priority": i + 1, "passes": false, "notes": "", "dependsOn": []string{},
		}
		if j.after != "" {
			story["dependsOn"] = []string{j.after}
		}
		stories = append(stories, story)
	}
	raw, err := json.MarshalIndent(object{"name": "scripts", "branchName": "main", "description": "Small scripts", "userStories": stories}, "", "  ")
	if err != nil {
		return err
	}
	return r.write(map[string]string{"prd.json": string(raw) + "\n", ".ralph-tui/config.toml": "agent = \"claude\"\ntracker = \"json\"\nautoCommit = true\nenvPassthrough = [\"ANTHROPIC_API_KEY\"]\nconfigVersion = \"2.1\"\n"})
}

// tuiAgain resumes, as its last words say; what cannot be resumed starts over, as the refusal says.
func tuiAgain(_ *race, refused bool) [][]string {
	if refused {
		return [][]string{{"ralph-tui", "run", "--prd", "./prd.json", "--headless", "--no-setup", "--force"}}
	}
	return [][]string{{"ralph-tui", "resume", "--headless"}}
}

func tuiDone(r *race) (map[string]bool, error) {
	var prd struct {
		UserStories []struct {
			ID     string
			Passes bool
		}
	}
	err := r.read("prd.json", &prd)
	out := map[string]bool{}
	for _, s := range prd.UserStories {
		out[s.ID] = s.Passes
	}
	return out, err
}

var tick = regexp.MustCompile(`(?m)^- \[[xX]\] (.*)$`)

func loopDone(r *race) (map[string]bool, error) {
	raw, err := os.ReadFile(filepath.Join(r.dir, "PLAN.md"))
	out := map[string]bool{}
	for _, line := range tick.FindAllStringSubmatch(string(raw), -1) {
		out[jobIn(line[1])] = true
	}
	return out, err
}

var jobName = regexp.MustCompile(`\(job-([a-z]+)\)`)

func jobIn(text string) string {
	if found := jobName.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}
