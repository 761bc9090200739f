package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"ralph/features"
	"ralph/internal/human"
	"ralph/internal/project"
	"ralph/internal/sandbox"
)

// configChanges remembers which .ralph.toml the last run began with, and which attempts
// changed it since, so that the next run can say who wrote what it is about to go by.
// Lines are kept as sums, because a configuration may contain secrets.
type configChanges struct {
	file, config string

	mu     sync.Mutex
	record configRecord
	own    []configWriter // attempts of this run, ended or not
}

type configRecord struct {
	Lines   []string       `json:"lines"`   // of the configuration that the last run began with
	Written []configWriter `json:"written"` // attempts that changed it, in order
	Open    []configWriter `json:"open"`    // attempts that had not ended
}

type configWriter struct {
	Task    string   `json:"task"`
	Attempt string   `json:"attempt"`
	Lines   []string `json:"lines,omitempty"` // that it added
	Gone    []string `json:"gone,omitempty"`  // that it removed
}

func (w configWriter) is(other configWriter) bool {
	return w.Task == other.Task && w.Attempt == other.Attempt
}

func (w configWriter) String() string { return fmt.Sprintf("%s, attempt %s", w.Task, w.Attempt) }

func newConfigChanges(p project.Project) *configChanges {
	return &configChanges{file: filepath.Join(p.State(), "runs", "configuration.json"), config: p.Config()}
}

// maxConfigLines is how many new lines of a configuration are shown.
const maxConfigLines = 20

// tellConfig says which lines of the configuration are new since the last run and who
// wrote them, and begins to watch it. Nothing of it has been executed by then.
func (a *app) tellConfig(changes *configChanges, dryRun bool) {
	changes.mu.Lock()
	defer changes.mu.Unlock()
	lines := changes.read()
	if last := changes.stored(); last.Lines != nil {
		for _, part := range last.since(lines) {
			kind := ""
			if part.writer != nobody {
				kind = "warning: "
			}
			a.note("%s%s: %s since the last run, written %s", kind, project.ConfigName, part, part.writer)
			for _, line := range part.lines[:min(len(part.lines), maxConfigLines)] {
				a.note("%s:%d: %s", project.ConfigName, line.number, line.text)
			}
			if more := len(part.lines) - maxConfigLines; more > 0 {
				a.note("%s: and %s", project.ConfigName, human.Count(more, "more line"))
			}
		}
	}
	if dryRun {
		return
	}
	changes.record = configRecord{Lines: sumsOf(lines)}
	if err := changes.write(changes.record); err != nil {
		a.note("warning: changes of %s since this run cannot be shown to the next: %v", project.ConfigName, err)
	}
}

// blame adds to the error of a configuration that cannot be used which attempts have
// changed it: no run can begin and say so. What people wrote needs no such hint.
func (x *configChanges) blame(err error) error {
	last := x.stored()
	if last.Lines == nil {
		return err
	}
	var said []string
	for _, part := range last.since(x.read()) {
		if part.writer != nobody {
			said = append(said, fmt.Sprintf("%s since the last run, written %s", part, part.writer))
		}
	}
	if len(said) == 0 {
		return err
	}
	return hint(err, "%s: %s", project.ConfigName, strings.Join(said, "; "))
}

// during watches what an attempt does to the configuration, until the function that
// it returns is called.
func (x *configChanges) during(task, attempt string, level sandbox.Level) func() error {
	if x == nil || level == sandbox.Namespaces || task == "" {
		return func() error { return nil } // there it cannot be written
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	who, before := configWriter{Task: task, Attempt: attempt}, sumsOf(x.read())
	x.record.Open, x.own = append(x.record.Open, who), append(x.own, who)
	_ = x.save() // the next one may work
	var once sync.Once
	return func() (err error) {
		once.Do(func() {
			x.mu.Lock()
			defer x.mu.Unlock()
			if i := slices.IndexFunc(x.record.Open, who.is); i >= 0 {
				x.record.Open = slices.Delete(x.record.Open, i, i+1)
			}
			now := sumsOf(x.read())
			who.Lines, who.Gone = without(now, before), without(before, now)
			if len(who.Lines)+len(who.Gone) > 0 {
				x.record.Written = append(x.record.Written, who)
			}
			err = x.save()
		})
		return err
	}
}

// stored is the record as it was saved last, by whichever run. Without one it has no Lines.
func (x *configChanges) stored() (r configRecord) {
	data, err := os.ReadFile(x.file)
	if err != nil || json.Unmarshal(data, &r) != nil {
		return configRecord{}
	}
	return r
}

// save writes the whole record each time, because an agent may have removed it, and
// keeps what another run wrote about its own attempts.
func (x *configChanges) save() error {
	all, last := x.record, x.stored()
	mine := func(w configWriter) bool { return slices.ContainsFunc(x.own, w.is) }
	all.Written = append(slices.DeleteFunc(last.Written, mine), all.Written...)
	all.Open = append(slices.DeleteFunc(last.Open, mine), all.Open...)
	return x.write(all)
}

func (x *configChanges) write(record configRecord) error {
	if !features.Exists(filepath.Dir(filepath.Dir(x.file))) {
		return nil // somebody removed all of ralph's state, which others notice
	}
	data, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return err
	}
	return features.WriteFile(x.file, append(data, '\n'))
}

type configLine struct {
	number int
	text   string
	sum    string
}

// read returns the lines that say something.
func (x *configChanges) read() []configLine {
	data, err := os.ReadFile(x.config)
	if err != nil {
		return nil
	}
	var out []configLine
	for i, text := range strings.Split(string(data), "\n") {
		if text = strings.TrimSpace(text); text != "" {
			sum := sha256.Sum256([]byte(text))
			out = append(out, configLine{i + 1, text, hex.EncodeToString(sum[:8])})
		}
	}
	return out
}

func sumsOf(lines []configLine) []string {
	out := []string{}
	for _, line := range lines {
		out = append(out, line.sum)
	}
	return out
}

// without is list without the entries of other, each as often as it is there.
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

// nobody wrote what changed while no agent worked that could have written it.
const nobody = "outside any attempt"

// configPart is what one writer changed.
type configPart struct {
	writer string
	lines  []configLine
	gone   int
}

func (p configPart) String() string {
	var said []string
	if len(p.lines) > 0 {
		said = append(said, human.Count(len(p.lines), "new line"))
	}
	if p.gone > 0 {
		said = append(said, human.Count(p.gone, "line")+" removed")
	}
	return strings.Join(said, ", ")
}

// since lists what differs from the record, by who wrote it.
func (r configRecord) since(now []configLine) []*configPart {
	var parts []*configPart
	by := func(wrote func(configWriter) bool) *configPart {
		writer := r.other()
		for _, w := range r.Written {
			if wrote(w) {
				writer = "by " + w.String()
			}
		}
		for _, p := range parts {
			if p.writer == writer {
				return p
			}
		}
		parts = append(parts, &configPart{writer: writer})
		return parts[len(parts)-1]
	}
	fresh := without(sumsOf(now), r.Lines)
	for _, line := range now {
		if i := slices.Index(fresh, line.sum); i >= 0 {
			fresh = slices.Delete(fresh, i, i+1)
			p := by(func(w configWriter) bool { return slices.Contains(w.Lines, line.sum) })
			p.lines = append(p.lines, line)
		}
	}
	for _, sum := range without(r.Lines, sumsOf(now)) {
		by(func(w configWriter) bool { return slices.Contains(w.Gone, sum) }).gone++
	}
	return parts
}

// other is who wrote what no attempt that ended did: one whose run was killed, if any.
func (r configRecord) other() string {
	if len(r.Open) == 0 {
		return nobody
	}
	var names []string
	for _, w := range r.Open {
		names = append(names, w.String())
	}
	return "by " + strings.Join(names, " or ") + ", which did not end"
}
