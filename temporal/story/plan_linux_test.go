package story

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// chain is how many tasks append their line to the same file, one after another.
const chain = 4

// task is a line of a plan.
type task struct {
	Ref         string   `json:"ref"`
	Title       string   `json:"title"`
	After       []string `json:"after,omitempty"`
	Kind        string   `json:"kind,omitempty"`
	Description string   `json:"description"`
}

// script is a task whose agent runs a shell script.
func script(ref, sh string, after ...string) task {
	return task{Ref: ref, Title: "Task " + ref, After: after, Description: "```sh\n" + sh + "\n```"}
}

// chains is a plan of n tasks. Each appends its line to the file of its chain, after the line before was found there; every
// tenth chain begins after the end of the one before. One that was made twice leaves its line twice, or a red task.
func chains(n int, pause time.Duration) (plan []task) {
	for i := range n {
		file := fmt.Sprintf("lines/%03d", i/chain)
		sh := "set -e\nmkdir -p lines\n"
		var after []string
		switch {
		case i%chain > 0:
			after = []string{fmt.Sprintf("%03d", i-1)}
			sh += fmt.Sprintf("test \"$(tail -n 1 %s)\" = %03d\n", file, i-1)
		case i > 0 && i/chain%10 == 0:
			after = []string{fmt.Sprintf("%03d", i-1)}
		}
		sh += fmt.Sprintf("sleep %.3f\necho %03d >> %s", pause.Seconds(), i, file)
		plan = append(plan, script(fmt.Sprintf("%03d", i), sh, after...))
	}
	return plan
}

func (p *place) plan(tasks []task) {
	p.t.Helper()
	var text strings.Builder
	for _, t := range tasks {
		b, err := json.Marshal(t)
		check(p.t, err)
		text.Write(append(b, '\n'))
	}
	file := filepath.Join(p.dir, "plan.jsonl")
	check(p.t, os.WriteFile(file, []byte(text.String()), 0o600))
	p.ralph("task", "import", file)
}

// result is what can be compared of two runs of the same plan: no IDs, times and orders.
type result struct {
	Tasks   map[string]string // statuses by title
	Counts  map[string]int
	Commits []string // titles
	Tree    string
	Files   string
	Report  struct {
		Outcome string
		Counts  map[string]int
		Tasks   []struct{ Title, Status string }
	}
}

func (p *place) result() (r result) {
	p.t.Helper()
	var tasks []struct{ Title, Status string }
	check(p.t, json.Unmarshal([]byte(p.ralph("task", "list", "--all", "--json")), &tasks))
	r.Tasks = map[string]string{}
	for _, t := range tasks {
		r.Tasks[t.Title] = t.Status
	}
	check(p.t, json.Unmarshal([]byte(p.ralph("status", "--json")), &r))
	r.Commits = strings.Split(p.git(p.home, "log", "--format=%s", "--grep=^Ralph-Task: "), "\n")
	slices.Sort(r.Commits)
	r.Tree = p.git(p.home, "rev-parse", "HEAD:lines")
	r.Files = p.git(p.home, "status", "--porcelain")
	check(p.t, json.Unmarshal([]byte(p.ralph("report", "--json")), &r.Report))
	return r
}

// landed is how often each task has landed, by its ID.
func (p *place) landed() map[string]int {
	p.t.Helper()
	n := map[string]int{}
	for _, id := range strings.Fields(p.git(p.home, "log", "--format=%(trailers:key=Ralph-Task,valueonly)")) {
		n[id]++
	}
	return n
}

// settledWell checks what has to hold after any run: every task is done and has landed once, every line is there once,
// nothing is left of the work on the remote, and doctor finds nothing.
func (p *place) settledWell(tasks int) (lost, twice int) {
	p.t.Helper()
	landed := p.landed()
	for id, n := range landed {
		if n != 1 {
			twice++
			p.t.Errorf("task %s has landed %d times", id, n)
		}
	}
	if lost = tasks - len(landed); lost != 0 {
		p.t.Errorf("%d of %d tasks have landed", len(landed), tasks)
	}
	files, err := filepath.Glob(filepath.Join(p.home, "lines", "*"))
	check(p.t, err)
	seen := map[string]int{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		check(p.t, err)
		for _, line := range strings.Fields(string(data)) {
			seen[line]++
		}
	}
	for i := range tasks {
		if n := seen[fmt.Sprintf("%03d", i)]; n != 1 {
			p.t.Errorf("line %03d is there %d times", i, n)
		}
	}
	if refs := p.git(p.home, "ls-remote", "origin", "refs/ralph/*"); refs != "" {
		p.t.Errorf("refs are left on the remote:\n%s", refs)
	}
	p.healthy()
	return lost, twice
}

// healthy checks that doctor finds nothing; that no agent with a model is installed is none of its findings here.
func (p *place) healthy() {
	p.t.Helper()
	text := p.ralph("doctor")
	for line := range strings.Lines(text) {
		level, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if (level == "warning" || level == "error" || level == "bad") && !strings.HasPrefix(strings.TrimSpace(rest), "agent ") && !strings.HasPrefix(strings.TrimSpace(rest), "sandbox ") {
			p.t.Errorf("doctor: %s", line)
		}
	}
	p.t.Logf("doctor: %d lines, clean", strings.Count(text, "\n"))
}

// junit is what of a JUnit report can be compared: names without IDs.
func (p *place) junit(file string) (cases []string) {
	p.t.Helper()
	data, err := os.ReadFile(file)
	check(p.t, err)
	var doc struct {
		Suites []struct {
			Cases []struct {
				Name    string    `xml:"name,attr"`
				Failure *struct{} `xml:"failure"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	check(p.t, xml.Unmarshal(data, &doc))
	for _, suite := range doc.Suites {
		for _, c := range suite.Cases {
			name, _, _ := strings.Cut(c.Name, " (")
			cases = append(cases, fmt.Sprintf("%s failed=%t skipped=%t", name, c.Failure != nil, c.Skipped != nil))
		}
	}
	slices.Sort(cases)
	return cases
}

// events counts the events of a file by type, and by title where they have one. What differs by timing is left out.
func (p *place) events(file string) map[string]int {
	p.t.Helper()
	data, err := os.ReadFile(file)
	check(p.t, err)
	n := map[string]int{}
	for line := range strings.Lines(string(data)) {
		var e struct{ Type, Title string }
		check(p.t, json.Unmarshal([]byte(line), &e))
		if e.Type == "target_moved" || e.Type == "agent_text" {
			continue // what landed meanwhile is chance, and what agents say stays on the workers
		}
		n[strings.TrimSpace(e.Type+" "+e.Title)]++
	}
	return n
}

func (p *place) unmarshal(v any, args ...string) {
	p.t.Helper()
	check(p.t, json.Unmarshal([]byte(p.ralph(args...)), v))
}
