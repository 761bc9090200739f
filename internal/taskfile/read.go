package taskfile

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"ralph/dag"
	"ralph/internal/bounded"
)

// Plan is what a file says.
type Plan struct {
	Format   Format // as it was read
	Specs    []dag.Spec
	Unmapped []Unmapped
}

// Unmapped is something that a plan says and a graph has no place for.
type Unmapped struct {
	What  string `json:"what"`
	Count int    `json:"count"` // how often
	Lines []int  `json:"lines"` // the first few places
}

func (u Unmapped) String() string {
	text := fmt.Sprintf("%s (line %s", u.What, strings.Trim(strings.ReplaceAll(fmt.Sprint(u.Lines), " ", ", "), "[]"))
	if u.Count > len(u.Lines) {
		text += fmt.Sprintf(", ...: %d in all", u.Count)
	}
	return text + ")"
}

// Copies counts the tasks that had IDs and were given others, because the graph has those
// already: most likely the same plan is imported twice, and would be paid for twice.
func (p Plan) Copies(imported []string) (n int) {
	for i, s := range p.Specs {
		if dag.IsTaskID(s.Ref) && s.Ref != imported[i] {
			n++
		}
	}
	return n
}

const (
	maxTasks = 250_000 // in one file: a plan is held in memory until it is stored
)

// Read reads a plan in any format. What is wrong with its lines is a
// dag.PlanError; a text that could be two things is an AmbiguousError. With an
// error, the plan has at most a format: that which the text was read as.
func Read(data []byte, format Format) (Plan, error) {
	if err := checkText(data); err != nil {
		return Plan{}, err
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	if format == Auto {
		var err error
		if format, err = Detect(data); err != nil {
			return Plan{}, err
		}
	}
	plan, err := read(data, format)
	plan.Format = format
	return plan, err
}

func read(data []byte, format Format) (Plan, error) {
	if err := checkSize(len(data), format); err != nil {
		return Plan{}, err
	}
	d := &draft{}
	foreign, is := map[Format]func([]byte) error{
		Markdown: d.readMarkdown, SpecKit: d.readSpecKit, PRD: d.readPRD, TaskMaster: d.readTaskMaster, Beads: d.readBeads, GitHub: d.readGitHub,
	}[format]
	if !is {
		specs, err := Parse(data, format)
		return Plan{Specs: specs}, err
	}
	if err := foreign(data); err != nil {
		return Plan{}, err
	}
	return d.plan(format)
}

func checkSize(size int, format Format) error {
	limit := bounded.Data
	switch format {
	case JSONL:
		return nil
	case YAML, Markdown, SpecKit:
		limit = bounded.Text // of YAML the library needs a hundred times that
	}
	if size <= limit {
		return nil
	}
	text := fmt.Sprintf("larger than %d MiB", limit>>20)
	if format == YAML {
		text += "; write it as JSON lines"
	}
	return fmt.Errorf("%w: %s", dag.ErrRefused, text)
}

// checkText refuses what no editor would show as text.
func checkText(data []byte) error {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return dag.PlanError{{Line: 1, Err: errors.New("UTF-16; save the file as UTF-8")}}
	}
	number := 0
	for line := range bytes.Lines(data) {
		number++
		switch {
		case bytes.IndexByte(line, 0) >= 0:
			return dag.PlanError{{Line: number, Err: errors.New("not text: there is a NUL byte")}}
		case !utf8.Valid(line):
			return dag.PlanError{{Line: number, Err: errors.New("not text: this is not UTF-8")}}
		}
	}
	return nil
}

func lineAt(data []byte, offset int) int {
	return bytes.Count(data[:min(max(offset, 0), len(data))], []byte("\n")) + 1
}

func tooMany(line int) error {
	return fmt.Errorf("%w: line %d: more than %d tasks; import them in several files", dag.ErrRefused, line, maxTasks)
}
