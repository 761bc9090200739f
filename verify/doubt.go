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

// Doubt is one thing about work that a verifier or a person has to clear before the work lands. A verifier knows it by its place in the
// list of all, from 1.
type Doubt struct {
	Why   string   // in one line; all changes that gates fail without have the same
	File  string   // whose change it is; "" if it is not one change
	Patch string   // that change
	Words []string // a sentence of these clears it: of the task, or of the reason that the agent gave. Without any a person has to
	Open  bool     // a check could not be carried out, for which no task asks: what the verifier looked at instead clears it
}

// Text is what the verifier answers for.
func (d Doubt) Text() string {
	if d.File == "" {
		return d.Why
	}
	return d.Patch
}

// cleared reports whether an answer clears the doubt.
func (d Doubt) cleared(answer string) bool {
	return d.Open && strings.TrimSpace(answer) != "" || occurs(answer, d.Words)
}

// clearable reports whether a verifier can clear it at all.
func (d Doubt) clearable() bool { return d.Open || len(d.Words) > 0 }

// Changed are the doubts about changes without which a gate fails, with the files that the work changed as before it and without new ones.
func Changed(changes []git.Change, failed Result, words []string) []Doubt {
	var changed, added, how []string
	for _, c := range changes {
		if c.Kind == git.Added {
			added = append(added, c.Path)
		} else {
			changed = append(changed, c.Path)
		}
	}
	if len(changed) > 0 {
		how = append(how, "with "+human.Few(changed)+" as before the work")
	}
	if len(added) > 0 {
		how = append(how, "without "+human.Few(added)+" from the work")
	}
	doubts := hunks(changes)
	for i := range doubts {
		doubts[i].Why, doubts[i].Words = fmt.Sprintf("gate %q fails %s: %s", failed.Command, strings.Join(how, " and "), failed.Exit), words
	}
	return doubts
}

// Whys are the doubts in one line.
func Whys(doubts []Doubt) string {
	return strings.Join(slices.Compact(seq.Map(doubts, func(d Doubt) string { return d.Why })), "; ")
}

// maxHunks is how many changes a verifier can be asked about one by one.
const maxHunks = 100

// hunks splits the patches of changes. Where there are too many hunks, those of a file are taken together, and
// where there are too many files, the last of them are.
func hunks(changes []git.Change) []Doubt {
	var list, files []Doubt
	for _, c := range changes {
		header, bodies := splitPatch(c.Patch)
		if c.Cut { // what was not read has to be cleared, too
			bodies = append(bodies, "[cut: this patch is longer than what was read of it]\n")
		}
		files = append(files, Doubt{File: c.Path, Patch: header + strings.Join(bodies, "")})
		for i, body := range bodies {
			if i == 0 {
				body = header + body
			}
			list = append(list, Doubt{File: c.Path, Patch: body})
		}
		if len(bodies) == 0 {
			list = append(list, Doubt{File: c.Path, Patch: header})
		}
	}
	if len(list) > maxHunks {
		list = files
	}
	if len(list) > maxHunks {
		last := &list[maxHunks-1]
		for _, h := range list[maxHunks:] {
			last.Patch += h.File + ":\n" + h.Patch
		}
		last.File += fmt.Sprintf(" and %d more files", len(list)-maxHunks)
		list = list[:maxHunks]
	}
	return list
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

// left is what the answers of a verifier do not clear. The problem is what the first of that lacks which it could have cleared.
func left(doubts []Doubt, said sigils.Set) (left []Doubt, problem string) {
	for i, d := range doubts {
		wrong, cleared := "", false
		for _, a := range said.Asked {
			if about(a, i+1) {
				cleared = cleared || d.cleared(a.Text)
				wrong = fmt.Sprintf(", but only in words that are not there: %q", a.Text)
			}
		}
		if cleared {
			continue
		}
		if left = append(left, d); problem == "" && d.clearable() {
			problem = "the verifier does not clear " + naming(doubts, i) + wrong
		}
	}
	return left, problem
}

// weakened is what a verifier finds wrong, whatever else it says; "" if nothing.
func weakened(doubts []Doubt, said sigils.Set) string {
	if len(said.Weakened) == 0 || len(doubts) == 0 {
		return ""
	}
	w := said.Weakened[0]
	var named []int
	for i := range doubts {
		if about(w, i+1) {
			named = append(named, i)
		}
	}
	return strings.TrimRight("the verifier says that "+naming(doubts, named...)+" is wrong: "+w.Text, ": ")
}

// askedFor quotes what clears doubts.
func askedFor(asked []sigils.Answer) string {
	return "the doubts are cleared: " + human.List(slices.Compact(seq.Map(asked, func(a sigils.Answer) string { return strconv.Quote(a.Text) })), 3)
}

func about(a sigils.Answer, n int) bool {
	return slices.ContainsFunc(a.Changes, func(r sigils.Range) bool { return r.From <= n && n <= r.To })
}

func naming(doubts []Doubt, named ...int) string {
	if len(named) == 0 {
		return "a change"
	}
	return human.List(seq.Map(named, func(i int) string { return fmt.Sprintf("change %d (%s)", i+1, cmp.Or(doubts[i].File, doubts[i].Why)) }), 3)
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
