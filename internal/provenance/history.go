package provenance

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"ralph/internal/human"
	"ralph/internal/proc"
	"ralph/internal/seq"
)

// Kind is how the changes of a file count.
type Kind int

// The kinds of files.
const (
	Settings Kind = iota // ralph executes them, or says them to agents: line by line
	Plans                // as a whole; ralph writes them itself, which needs no confirmation
	Specs                // as a whole; people edit them while agents work, so that a change fails no attempt
)

// Text is a file of the project of which it counts who wrote it.
type Text struct {
	Name  string // below the project's root, with slashes
	Text  string
	Exact bool // blanks mean something, as in YAML with scripts in it
}

// History remembers which settings the last run began with, or a person confirmed, and which attempts have changed settings, plans and
// specifications since, so that nothing is executed or said to agents that an agent wrote. Lines are kept as sums: settings may contain secrets.
type History struct {
	store Store
	read  func(Kind) []Text
}

// History is that of the project's files. One that cannot be read has no lines, and is refused where it is used.
func (s Store) History(read func(Kind) []Text) *History { return &History{s, read} }

const historyFile = "configuration.json"

type record struct {
	Lines   []string `json:"lines"`   // of the settings that the last run began with
	Written []writer `json:"written"` // attempts that changed something, in order
	Open    []writer `json:"open"`    // attempts that had not ended

	Person writer `json:"person,omitzero"` // what a command of a person changed meanwhile

	// Sums of specifications that a person confirmed.
	Specs map[string]string `json:"specs,omitempty"`
}

type writer struct {
	Task    string   `json:"task"`
	Attempt string   `json:"attempt"`
	Lines   []string `json:"lines,omitempty"` // that it added
	Gone    []string `json:"gone,omitempty"`  // that it removed
	Moved   bool     `json:"moved,omitempty"` // it changed their order only

	Plans map[string]string `json:"plans,omitempty"` // sums of those that it changed

	// The same of specifications; while it runs, all of them as it found them. Nil in records of an older ralph.
	Specs map[string]string `json:"specs"`

	Process proc.Identity `json:"process"` // the run's
}

func (w writer) is(other writer) bool { return w.Task == other.Task && w.Attempt == other.Attempt }

func (w writer) dead() bool { return proc.Liveness(w.Process) == proc.Dead }

func (w writer) String() string { return fmt.Sprintf("%s, attempt %s", w.Task, w.Attempt) }

// Begin makes the settings as they are now those that count: a run begins. Attempts of other runs may still change
// them. Which specifications need a person is not forgotten: they keep no run from beginning.
func (h *History) Begin() error { return h.begin(false) }

func (h *History) begin(confirmed bool) error {
	specs := h.sums(Specs)
	return update(h.store, historyFile, func(r *record) {
		now := record{Lines: append([]string{}, sumsOf(h.lines())...), Specs: r.Specs, Open: slices.DeleteFunc(slices.Clone(r.Open), writer.dead)}
		if confirmed {
			now.Specs = map[string]string{}
		}
		for file := range r.specFiles(specs) {
			if confirmed {
				now.Specs[file] = specs[file] // also that there is none
			} else if w := r.specWriter(file, specs[file]); w != nil {
				now.Written = append(now.Written, writer{Task: w.Task, Attempt: w.Attempt, Specs: map[string]string{file: specs[file]}})
			}
		}
		*r = now
	})
}

// During watches what an attempt changes, until the function that it returns is called.
func (h *History) During(task, attempt string) (end func() error) {
	who, before, plans := writer{Task: task, Attempt: attempt, Specs: h.sums(Specs)}, sumsOf(h.lines()), h.sums(Plans)
	who.Process, _ = proc.Self()                                                       // of one that is not known it is not known that it is dead
	_ = update(h.store, historyFile, func(r *record) { r.Open = append(r.Open, who) }) // the next one may work
	return sync.OnceValue(func() error {
		now := sumsOf(h.lines())
		done := who
		done.Lines, done.Gone = without(now, before), without(before, now)
		done.Moved = len(done.Lines)+len(done.Gone) == 0 && !slices.Equal(now, before)
		done.Plans, done.Specs = changed(plans, h.sums(Plans)), changed(who.Specs, h.sums(Specs))
		maps.DeleteFunc(done.Plans, func(_, sum string) bool { return sum == "" }) // a plan file that is gone says nothing
		if h.store.File("") == "" {
			return nil // which Begin has said
		}
		return update(h.store, historyFile, func(r *record) {
			if i := slices.IndexFunc(r.Open, who.is); i >= 0 { // a verifier of the same attempt may be open, too
				r.Open = slices.Delete(r.Open, i, i+1)
			}
			if !slices.Equal(now, before) || len(done.Plans)+len(done.Specs) > 0 {
				r.Written = append(r.Written, done)
			}
		})
	})
}

// ByPerson makes a change of the settings that a person asked for, also while an attempt works that could have made it.
func (h *History) ByPerson(change func() error) error {
	before := sumsOf(h.lines())
	if err := change(); err != nil {
		return err
	}
	now := sumsOf(h.lines())
	return update(h.store, historyFile, func(r *record) {
		r.Person.Lines = append(r.Person.Lines, without(now, before)...)
		r.Person.Gone = append(r.Person.Gone, without(before, now)...)
	})
}

// PlanWriter says which attempt left a plan as it is now, in words; empty if none did. After a run that was killed it may have been any
// of its attempts.
func (h *History) PlanWriter(file, text string) string {
	last := h.stored()
	for _, w := range last.Written {
		if w.Plans[file] == textSum(text) {
			return w.String()
		}
	}
	last.Open = slices.DeleteFunc(last.Open, func(w writer) bool { return !w.dead() })
	if change := last.unfinished(); change.ByAgent {
		return strings.TrimPrefix(change.Writer, "by ")
	}
	return ""
}

// SpecWriter says which attempt may have left a specification as it is now, in words: one that could write it was running when it
// changed, and no person has confirmed it since. It is empty if none was.
func (h *History) SpecWriter(file string) string {
	if w := h.stored().specWriter(file, h.sums(Specs)[file]); w != nil {
		return w.String()
	}
	return ""
}

// stored is the record as any run saved it last. Without one it has no Lines.
func (h *History) stored() record {
	r, _ := load[record](h.store, historyFile)
	return r
}

// specFiles are all specifications that there are, and those that attempts found or changed.
func (r record) specFiles(now map[string]string) map[string]string {
	all := maps.Clone(now)
	for _, w := range slices.Concat(r.Written, r.Open) {
		maps.Copy(all, w.Specs)
	}
	return all
}

// specWriter finds who left a specification with that sum, which is empty if there is none.
func (r record) specWriter(file, sum string) *writer {
	if confirmed, is := r.Specs[file]; is && confirmed == sum {
		return nil
	}
	for _, w := range r.Written {
		if left, is := w.Specs[file]; is && left == sum {
			return &w
		}
	}
	for _, w := range r.Open { // running, or killed: it was something else when it began
		if w.Specs != nil && w.Specs[file] != sum {
			return &w
		}
	}
	return nil
}

// unfinished is for what no attempt that ended wrote: one whose run was killed did, if
// there is any.
func (r record) unfinished() Change {
	if len(r.Open) == 0 {
		return Change{Writer: "outside any attempt"}
	}
	names := seq.Map(r.Open, writer.String)
	return Change{ByAgent: true, Writer: "by " + strings.Join(names, " or ") + ", which did not end"}
}

// Change is what one writer changed in a file since the last run.
type Change struct {
	File    string // below the project's root, with slashes
	ByAgent bool   // an attempt wrote it
	Writer  string // in words
	Lines   []Line
	removed int
	moved   bool
}

func (c Change) String() string {
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

// Changes lists what has changed in the settings since the last run began, by writer.
func (h *History) Changes() []Change {
	last := h.stored()
	if last.Lines == nil {
		return nil
	}
	return last.since(h.lines())
}

func (r record) since(now []Line) []Change {
	var changes []Change
	by := func(sum string, wrote func(writer) bool) *Change {
		found := r.unfinished()
		for _, w := range r.Written {
			if wrote(w) {
				found = Change{ByAgent: true, Writer: "by " + w.String()}
			}
		}
		if wrote(r.Person) {
			found = Change{Writer: "with ralph config"}
		}
		found.File = fileOf(sum)
		i := slices.IndexFunc(changes, func(c Change) bool { return c.Writer == found.Writer && c.File == found.File })
		if i < 0 {
			i, changes = len(changes), append(changes, found)
		}
		return &changes[i]
	}
	fresh := without(sumsOf(now), r.Lines)
	for _, line := range now {
		if i := slices.Index(fresh, line.sum); i >= 0 {
			fresh = slices.Delete(fresh, i, i+1)
			c := by(line.sum, func(w writer) bool { return slices.Contains(w.Lines, line.sum) })
			c.Lines = append(c.Lines, line)
		}
	}
	for _, sum := range without(r.Lines, sumsOf(now)) {
		by(sum, func(w writer) bool { return slices.Contains(w.Gone, sum) }).removed++
	}
	for i, sum := range sumsOf(now) {
		if len(changes) == 0 && r.Lines[i] != sum { // the same lines in another order
			by(sum, func(w writer) bool { return w.Moved }).moved = true
		}
	}
	return changes
}
