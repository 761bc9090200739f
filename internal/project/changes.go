package project

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ralph/internal/atomicfile"
	"ralph/internal/copyfile"
	"ralph/internal/human"
	"ralph/internal/proc"
	"ralph/internal/seq"
)

// ConfigHistory remembers which .ralph.toml, which templates and which words of the project in prompts the last run began with, or a person
// confirmed, and which attempts have changed them since, so that nothing is executed or said to agents that an agent wrote.
// Its file is where no agent in a sandbox can write. Lines are kept as sums, because a configuration may contain secrets.
type ConfigHistory struct {
	file    string
	project Project

	mu     sync.Mutex
	record configRecord
	own    []configWriter // attempts of this run, ended or not
}

type configRecord struct {
	Lines   []string       `json:"lines"`   // of the configuration that the last run began with
	Written []configWriter `json:"written"` // attempts that changed it, in order
	Open    []configWriter `json:"open"`    // attempts that had not ended

	// Sums of specifications that a person confirmed.
	Specs map[string]string `json:"specs,omitempty"`
}

type configWriter struct {
	Task    string   `json:"task"`
	Attempt string   `json:"attempt"`
	Lines   []string `json:"lines,omitempty"` // that it added
	Gone    []string `json:"gone,omitempty"`  // that it removed
	Moved   bool     `json:"moved,omitempty"` // it changed their order only

	// Sums of plan files that it changed. They are not lines of the configuration: ralph itself writes plan files, and what it wrote
	// needs no confirmation.
	Plans map[string]string `json:"plans,omitempty"`

	// The same of specifications; while it is at work, all of them as it found them. People edit them meanwhile, so they fail no attempt.
	// Nil in records of an older ralph.
	Specs map[string]string `json:"specs"`

	Process proc.Identity `json:"process"` // the run's
}

func (w configWriter) is(other configWriter) bool {
	return w.Task == other.Task && w.Attempt == other.Attempt
}

func (w configWriter) String() string { return fmt.Sprintf("%s, attempt %s", w.Task, w.Attempt) }

// ConfigHistory returns the history of the project's configuration, which is in a file; "" means that there is none.
func (p Project) ConfigHistory(file string) *ConfigHistory {
	return &ConfigHistory{file: file, project: p}
}

// ConfigChange is what one writer changed in a file since the last run.
type ConfigChange struct {
	File    string // below the project's root, with slashes
	ByAgent bool   // an attempt wrote it
	Writer  string // in words
	Lines   []ConfigLine
	removed int
	moved   bool
}

// ConfigLine is a line that is not empty.
type ConfigLine struct {
	Number int
	Text   string
	sum    string // and its file, if that is not the configuration
}

func (c ConfigChange) String() string {
	var parts []string
	if len(c.Lines) > 0 {
		parts = append(parts, human.Count(len(c.Lines), "new line"))
	}
	if c.removed > 0 {
		parts = append(parts, human.Count(c.removed, "line")+" removed")
	}
	if c.moved {
		parts = append(parts, "lines in another order")
	}
	return fmt.Sprintf("%s since the last run, written %s", strings.Join(parts, ", "), c.Writer)
}

// Changes lists what has changed since the last run began, by writer.
func (h *ConfigHistory) Changes() []ConfigChange {
	last := h.stored()
	if last.Lines == nil {
		return nil
	}
	return last.since(h.read())
}

// Begin makes the configuration as it is now the one that counts: that of a run. Attempts of runs that are at work may still change
// it. Which specifications need a person is not forgotten: they keep no run from beginning.
func (h *ConfigHistory) Begin() error { return h.begin(false) }

// Confirm makes the configuration and the specifications as they are now those that count: a person has looked at them.
func (h *ConfigHistory) Confirm() error { return h.begin(true) }

func (h *ConfigHistory) begin(confirmed bool) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == "" {
		return errors.New("neither HOME nor XDG_STATE_HOME is set")
	}
	h.record = configRecord{Lines: append([]string{}, sumsOf(h.read())...)}
	now, last, specs := h.record, h.stored(), h.sums(specPattern)
	if now.Specs = last.Specs; confirmed {
		now.Specs = map[string]string{}
	}
	for file := range last.specFiles(specs) {
		if confirmed {
			now.Specs[file] = specs[file] // also that there is none
		} else if w := last.specWriter(file, specs[file]); w != nil {
			now.Written = append(now.Written, configWriter{Task: w.Task, Attempt: w.Attempt, Specs: map[string]string{file: specs[file]}})
		}
	}
	now.Open = slices.DeleteFunc(last.Open, func(w configWriter) bool { return proc.Liveness(w.Process) == proc.Dead })
	return h.write(now)
}

// During watches what an attempt does to the configuration, until the function that it
// returns is called.
func (h *ConfigHistory) During(task, attempt string) (end func() error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	who, before, plans := configWriter{Task: task, Attempt: attempt, Specs: h.sums(specPattern)}, sumsOf(h.read()), h.sums(planPatterns...)
	who.Process, _ = proc.Self() // of one that is not known it is not known that it is dead
	h.record.Open, h.own = append(h.record.Open, who), append(h.own, who)
	_ = h.save() // the next one may work
	return sync.OnceValue(func() error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if i := slices.IndexFunc(h.record.Open, who.is); i >= 0 { // a verifier of the same attempt may be open, too
			h.record.Open = slices.Delete(h.record.Open, i, i+1)
		}
		now := sumsOf(h.read())
		who.Lines, who.Gone = without(now, before), without(before, now)
		who.Plans, who.Specs = changed(plans, h.sums(planPatterns...)), changed(who.Specs, h.sums(specPattern))
		maps.DeleteFunc(who.Plans, func(_, sum string) bool { return sum == "" }) // a plan file that is gone says nothing
		if who.Moved = len(who.Lines)+len(who.Gone) == 0 && !slices.Equal(now, before); !slices.Equal(now, before) || len(who.Plans)+len(who.Specs) > 0 {
			h.record.Written = append(h.record.Written, who)
		}
		return h.save()
	})
}

// PlanWriter says which attempt left a plan file as it is now, in words; empty if none did. After a run that was killed it may have been any
// of its attempts. Where the file is below the project's root, with slashes.
func (h *ConfigHistory) PlanWriter(file, text string) string {
	last := h.stored()
	for _, w := range last.Written {
		if w.Plans[file] == planSum(text) {
			return w.String()
		}
	}
	last.Open = slices.DeleteFunc(last.Open, func(w configWriter) bool { return proc.Liveness(w.Process) != proc.Dead })
	if change := last.unfinished(); change.ByAgent {
		return strings.TrimPrefix(change.Writer, "by ")
	}
	return ""
}

// The files below .ralph of which the sum of each counts, not its lines.
var planPatterns = []string{"tasks.jsonl", "features/*/tasks.jsonl"}

const specPattern = "features/*/spec.md"

// sums are those of all files that match, by their names below the project's root.
func (h *ConfigHistory) sums(patterns ...string) map[string]string {
	sums := map[string]string{}
	for _, pattern := range patterns {
		found, _ := fs.Glob(os.DirFS(h.project.State()), pattern) // one that cannot be read has none
		for _, name := range found {
			path := filepath.Join(h.project.State(), filepath.FromSlash(name))
			data, err := copyfile.Read(path, maxPlan)
			if rel, rerr := filepath.Rel(h.project.Root, path); err == nil && rerr == nil {
				sums[filepath.ToSlash(rel)] = planSum(string(data))
			}
		}
	}
	return sums
}

// changed is what became of files that are not as they were; the sum of one that is gone is empty.
func changed(before, now map[string]string) map[string]string {
	diff := map[string]string{}
	for file, sum := range now {
		if before[file] != sum {
			diff[file] = sum
		}
	}
	for file := range before {
		if _, is := now[file]; !is {
			diff[file] = ""
		}
	}
	return diff
}

const maxPlan = 1 << 30 // no larger one is taken in

func planSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// stored is the record as any run saved it last. Without one it has no Lines.
func (h *ConfigHistory) stored() (r configRecord) {
	data, err := os.ReadFile(h.file)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return configRecord{}
	}
	return r
}

// save keeps what another run wrote about its own attempts, and what a person has confirmed.
func (h *ConfigHistory) save() error {
	all, last := h.record, h.stored()
	if last.Lines != nil {
		all.Lines = last.Lines
	}
	all.Specs = last.Specs
	mine := func(w configWriter) bool { return slices.ContainsFunc(h.own, w.is) }
	all.Written = append(slices.DeleteFunc(last.Written, mine), all.Written...)
	all.Open = append(slices.DeleteFunc(last.Open, mine), all.Open...)
	return h.write(all)
}

func (h *ConfigHistory) write(record configRecord) error {
	if h.file == "" {
		return nil // which Begin has said
	}
	return atomicfile.WriteJSON(h.file, record)
}

// read lists the lines of all files. One that cannot be read has none, and is refused where it is used.
func (h *ConfigHistory) read() (list []ConfigLine) {
	if data, err := copyfile.Read(h.project.Config(), maxConfig); err == nil {
		list = linesOf("", string(data))
	}
	files, _ := h.project.PromptFiles()
	for _, f := range files {
		list = append(list, linesOf(f.Name+":", f.Text)...)
	}
	names, _ := h.project.TemplateNames()
	for _, name := range names {
		if data, err := h.project.ReadTemplate(name); err == nil {
			list = append(list, exactLinesOf(TemplateFolder+"/"+name+":", string(data))...)
		}
	}
	return list
}

func linesOf(file, content string) (list []ConfigLine) {
	for i, text := range strings.Split(content, "\n") {
		if text = strings.TrimSpace(text); text != "" {
			list = append(list, ConfigLine{i + 1, text, file + lineSum(text)})
		}
	}
	return list
}

// exactLinesOf is for files in which blanks mean something, such as YAML with scripts in it: a line goes with its indentation and with the
// empty lines above it.
func exactLinesOf(file, content string) (list []ConfigLine) {
	above := ""
	for i, line := range strings.Split(content, "\n") {
		above += line + "\n"
		if text := strings.TrimSpace(line); text != "" {
			list = append(list, ConfigLine{i + 1, text, file + lineSum(above)})
			above = ""
		}
	}
	return list
}

func lineSum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// fileOf is the file of a line.
func fileOf(sum string) string {
	if i := strings.LastIndex(sum, ":"); i >= 0 {
		return sum[:i]
	}
	return ConfigName
}

func sumsOf(lines []ConfigLine) []string {
	return seq.Map(lines, func(line ConfigLine) string { return line.sum })
}

// without is list without the entries of other, each as often as it occurs there.
func without(list, other []string) []string {
	count := map[string]int{}
	for _, entry := range other {
		count[entry]++
	}
	var out []string
	for _, entry := range list {
		if count[entry]--; count[entry] < 0 {
			out = append(out, entry)
		}
	}
	return out
}

func (r configRecord) since(now []ConfigLine) []ConfigChange {
	var changes []ConfigChange
	by := func(sum string, wrote func(configWriter) bool) *ConfigChange {
		found := r.unfinished()
		for _, w := range r.Written {
			if wrote(w) {
				found = ConfigChange{ByAgent: true, Writer: "by " + w.String()}
			}
		}
		found.File = fileOf(sum)
		i := slices.IndexFunc(changes, func(c ConfigChange) bool { return c.Writer == found.Writer && c.File == found.File })
		if i < 0 {
			i, changes = len(changes), append(changes, found)
		}
		return &changes[i]
	}
	fresh := without(sumsOf(now), r.Lines)
	for _, line := range now {
		if i := slices.Index(fresh, line.sum); i >= 0 {
			fresh = slices.Delete(fresh, i, i+1)
			c := by(line.sum, func(w configWriter) bool { return slices.Contains(w.Lines, line.sum) })
			c.Lines = append(c.Lines, line)
		}
	}
	for _, sum := range without(r.Lines, sumsOf(now)) {
		by(sum, func(w configWriter) bool { return slices.Contains(w.Gone, sum) }).removed++
	}
	for i, sum := range sumsOf(now) {
		if len(changes) == 0 && r.Lines[i] != sum { // the same lines in another order
			by(sum, func(w configWriter) bool { return w.Moved }).moved = true
		}
	}
	return changes
}

// unfinished is for what no attempt that ended wrote: one whose run was killed did, if
// there is any.
func (r configRecord) unfinished() ConfigChange {
	if len(r.Open) == 0 {
		return ConfigChange{Writer: "outside any attempt"}
	}
	names := seq.Map(r.Open, configWriter.String)
	return ConfigChange{ByAgent: true, Writer: "by " + strings.Join(names, " or ") + ", which did not end"}
}
