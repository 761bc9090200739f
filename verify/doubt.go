package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/sigils"
)

// Doubt is what work did to the files that check it, where that may have made a gate easier to pass.
// A verifier clears it, or a person; without either the work is rejected.
type Doubt struct {
	Files    []string // that check the work and were changed by it
	New      []string // that it added to these
	Hunks    []Hunk   // of these, as the verifier is shown them
	Failed   []Result // gates that fail with these files as they were before
	Findings []string // what is doubtful although the old files pass, such as a deleted test file
	Held     []Held   // what is not about checks: it waits for a person, unless a verifier clears it
	Asked    string   // which words of the task ask for all of that, if no verifier says so
}

// Held is what a person looks at before the work lands. A verifier clears it with a sentence of these words; without any it cannot.
type Held struct {
	Text  string
	Words []string
}

// Hunk is one change that the verifier answers for.
type Hunk struct {
	N    int    // from 1
	File string // "" for a finding
	Text string // as in a patch
}

// Any says that there is something to clear.
func (d *Doubt) Any() bool { return d != nil && (len(d.Failed) > 0 || len(d.Findings) > 0) }

// String is the doubt in one line.
func (d *Doubt) String() string {
	var parts, how []string
	if len(d.Files) > 0 {
		how = append(how, "with "+human.List(d.Files, 5)+" as before the work")
	}
	if len(d.New) > 0 {
		how = append(how, "without "+human.List(d.New, 5)+" from the work")
	}
	for _, g := range d.Failed {
		parts = append(parts, fmt.Sprintf("gate %q fails %s: %s", g.Command, strings.Join(how, " and "), g.Exit))
	}
	return strings.Join(append(parts, d.Findings...), "; ")
}

// Reason is the doubt as the next agent reads it, with what the old checks printed.
func (d *Doubt) Reason() string {
	if len(d.Failed) == 0 {
		return d.String()
	}
	return d.String() + "\n" + d.Failed[0].Tail
}

// Changes are what a verifier answers for: the hunks, and the findings, which are numbered after them.
func (d *Doubt) Changes() []Hunk {
	list := slices.Clone(d.Hunks)
	for _, finding := range d.Findings {
		list = append(list, Hunk{N: len(list) + 1, Text: finding})
	}
	return list
}

// Waiting is what is held, numbered after the changes.
func (d *Doubt) Waiting() (list []Hunk) {
	if d == nil {
		return nil
	}
	n := len(d.Changes())
	for i, h := range d.Held {
		list = append(list, Hunk{N: n + i + 1, Text: h.Text})
	}
	return list
}

// left is what a verifier does not clear of what is held.
func (d *Doubt) left(said sigils.Set) (left []string) {
	for i, h := range d.Waiting() {
		cleared := func(a sigils.Answer) bool { return about(a, h.N) && occurs(a.Text, d.Held[i].Words) }
		if !slices.ContainsFunc(said.Asked, cleared) {
			left = append(left, h.Text)
		}
	}
	return left
}

// maxHunks is how many changes a verifier can be asked about one by one.
const maxHunks = 100

// Hunks splits the patches of changes. Where there are too many hunks, those of a file are taken together, and
// where there are too many files, the last of them are.
func Hunks(changes []git.Change) []Hunk {
	var hunks, files []Hunk
	for _, c := range changes {
		header, bodies := splitPatch(c.Patch)
		files = append(files, Hunk{File: c.Path, Text: header + strings.Join(bodies, "")})
		for i, body := range bodies {
			if i == 0 {
				body = header + body
			}
			hunks = append(hunks, Hunk{File: c.Path, Text: body})
		}
		if len(bodies) == 0 {
			hunks = append(hunks, Hunk{File: c.Path, Text: header})
		}
	}
	if len(hunks) > maxHunks {
		hunks = files
	}
	if len(hunks) > maxHunks {
		last := &hunks[maxHunks-1]
		for _, h := range hunks[maxHunks:] {
			last.Text += h.File + ":\n" + h.Text
		}
		last.File += fmt.Sprintf(" and %d more files", len(hunks)-maxHunks)
		hunks = hunks[:maxHunks]
	}
	for i := range hunks {
		hunks[i].N = i + 1
	}
	return hunks
}

// splitPatch separates what is said of a whole file, such as that it was deleted, from its hunks.
func splitPatch(patch string) (header string, bodies []string) {
	for line := range strings.Lines(patch) {
		switch {
		case strings.HasPrefix(line, "@@"):
			bodies = append(bodies, line)
		case len(bodies) > 0:
			bodies[len(bodies)-1] += line
		case !slices.ContainsFunc([]string{"diff ", "index ", "--- ", "+++ "}, func(prefix string) bool { return strings.HasPrefix(line, prefix) }):
			header += line
		}
	}
	return header, bodies
}

// clear holds the answers of a verifier against the doubt. Every change must be asked for by words that the task
// has; one that weakens a check is never cleared, whatever else was said of it. The problem says what is missing;
// final is false if the verifier only has not said enough.
func (d *Doubt) clear(said sigils.Set, task []string) (problem string, final bool) {
	held := d.Waiting()
	if !d.Any() && len(held) == 0 {
		return "", true
	}
	changes := d.Changes()
	if len(said.Weakened) > 0 {
		w := said.Weakened[0]
		named := slices.DeleteFunc(slices.Concat(changes, held), func(c Hunk) bool { return !about(w, c.N) })
		does := " weakens a check: "
		if len(named) > 0 && named[0].N > len(changes) {
			does = " is wrong: "
		}
		return strings.TrimRight("the verifier says that "+naming(named)+does+w.Text, ": "), true
	}
	wrong := ""
	for _, c := range changes {
		asked := slices.ContainsFunc(said.Asked, func(a sigils.Answer) bool {
			if !about(a, c.N) {
				return false
			}
			if !occurs(a.Text, task) {
				wrong = fmt.Sprintf(", but only in words that the task does not have: %q", a.Text)
				return false
			}
			return true
		})
		if !asked {
			return "the verifier does not say of " + naming([]Hunk{c}) + " that the task asks for it" + wrong, false
		}
	}
	return "", true
}

// askedFor quotes what was found in the task.
func askedFor(asked []sigils.Answer) string {
	return "the task asks for the changed checks: " + human.List(slices.Compact(seq.Map(asked, func(a sigils.Answer) string { return strconv.Quote(a.Text) })), 3)
}

func about(a sigils.Answer, n int) bool {
	return slices.ContainsFunc(a.Changes, func(r sigils.Range) bool { return r.From <= n && n <= r.To })
}

func naming(changes []Hunk) string {
	if len(changes) == 0 {
		return "a change"
	}
	return human.List(seq.Map(changes, func(c Hunk) string {
		return fmt.Sprintf("change %d (%s)", c.N, cmp.Or(c.File, c.Text))
	}), 3)
}

const (
	fewWords  = 3  // words that are enough for a sentence of a task to be known by
	fewLetter = 18 // bytes that are, in writing without spaces
)

// occurs reports whether the task has the sentence: its words in their order, whatever stands between them. A word or
// two occur in any task, so they do only if they are a whole line of it.
func occurs(sentence string, task []string) bool {
	words := fold(sentence)
	enough := strings.Count(words, " ")+1 >= fewWords || len(words) >= fewLetter
	return words != "" && slices.ContainsFunc(task, func(text string) bool {
		if enough {
			return strings.Contains(" "+fold(text)+" ", " "+words+" ")
		}
		for line := range strings.Lines(text) {
			if fold(line) == words {
				return true
			}
		}
		return false
	})
}

// fold leaves the words of a text: in lower case, with one space between them.
func fold(text string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }), " ")
}
