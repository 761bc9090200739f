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
	// again is what a person types when it has ended, or was killed, and not all is done: one command or several.
	again func(r *race, ended bool) [][]string
	done  func(*race) (map[string]bool, error) // the jobs that it says are done
}

const agentPackage = "@anthropic-ai/claude-code@2.1.326"

func contestants() []contestant {
	return []contestant{
		{
			name: "ralph", packages: []string{"@agentclientprotocol/claude-agent-acp@0.99.0"},
			setup: ralphSetup, start: []string{"ralph", "run"}, again: ralphAgain, done: ralphDone,
		},
		{
			name: "while loop", setup: loopSetup, start: []string{"bash", "loop.sh"},
			again: func(*race, bool) [][]string { return [][]string{{"bash", "loop.sh"}} },
			done:  func(r *race) (map[string]bool, error) { return ticked(r, "PLAN.md") },
		},
		{
			name: "ralphy", packages: []string{"ralphy-cli@4.7.2"}, wrapped: true, setup: ralphySetup, start: []string{"ralphy"},
			again: func(*race, bool) [][]string { return [][]string{{"ralphy"}} },
			done:  func(r *race) (map[string]bool, error) { return ticked(r, "PRD.md") },
		},
		{
			name: "ralph-tui", packages: []string{"bun@1.4.4", "ralph-tui@0.11.0"}, setup: tuiSetup,
			start: []string{"ralph-tui", "run", "--prd", "./prd.json", "--headless", "--no-setup"},
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
	return r.write(map[string]string{
		"PLAN.md":   list(r.plan),
		"PROMPT.md": loopPrompt,
		"loop.sh":   "while grep -q '^- \\[ \\]' PLAN.md; do\n\tclaude -p --dangerously-skip-permissions < PROMPT.md\ndone\n",
	})
}

// ralphySetup is its markdown file, and its config with the command for tests.
func ralphySetup(r *race) error {
	return r.write(map[string]string{
		"PRD.md":               list(r.plan),
		".ralphy/config.yaml":  "project:\n  name: \"scripts\"\ncommands:\n  test: \"for t in tests/*.sh; do sh $t || exit 1; done\"\n",
		".ralphy/progress.txt": "# Ralphy Progress Log\n",
	})
}

// tuiSetup is its prd.json, with the test as a criterion of acceptance.
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
	return r.write(map[string]string{"prd.json": string(raw) + "\n", ".ralph-tui/config.toml": "agent = \"claude\"\ntracker = \"json\"\nenvPassthrough = [\"ANTHROPIC_API_KEY\"]\n"})
}

// tuiAgain resumes what was killed; what has ended starts over, as its own message says.
func tuiAgain(_ *race, ended bool) [][]string {
	if ended {
		return [][]string{{"ralph-tui", "run", "--prd", "./prd.json", "--headless", "--no-setup", "--force"}}
	}
	return [][]string{{"ralph-tui", "resume", "--headless"}}
}

func tuiDone(r *race) (map[string]bool, error) {
	raw, err := os.ReadFile(filepath.Join(r.dir, "prd.json"))
	if err != nil {
		return nil, err
	}
	var prd struct {
		UserStories []struct {
			ID     string
			Passes bool
		}
	}
	err = json.Unmarshal(raw, &prd)
	out := map[string]bool{}
	for _, s := range prd.UserStories {
		out[s.ID] = s.Passes
	}
	return out, err
}

// list is a plan as a list to tick off. Such lists have an order, and no other dependencies.
func list(p plan) string {
	text := "## Tasks\n\n"
	for _, j := range p.jobs {
		text += "- [ ] " + j.title() + " " + j.text() + "\n"
	}
	return text
}

var tick = regexp.MustCompile(`(?m)^- \[[xX]\] (.*)$`)

// ticked reads which jobs of a list are ticked off.
func ticked(r *race, name string) (map[string]bool, error) {
	raw, err := os.ReadFile(filepath.Join(r.dir, name))
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
