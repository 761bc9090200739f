// Package risk measures how much a piece of finished work deserves a person's look: facts in, a score and its reasons
// out. It never looks at files, git or the database.
package risk

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"ralph/internal/human"
)

// Facts are what is known of one piece of work. The zero Facts have no risk.
type Facts struct {
	Unseen    string   `json:"unseen,omitempty"`    // why nobody could see what it changes
	Files     []string `json:"files,omitempty"`     // that it changes
	Lines     int      `json:"lines,omitempty"`     // added and removed; of binary files none
	Protected []string `json:"protected,omitempty"` // files that decide what is accepted, here or in CI
	Checks    []string `json:"checks,omitempty"`    // other files that check work: tests, fixtures, settings, scripts
	Old       string   `json:"old,omitempty"`       // what the checks from before the work say of it, if they were run
	Retries   int      `json:"retries,omitempty"`   // earlier attempts that did not do the task; not those that were cut off from outside
	Doubts    []string `json:"doubts,omitempty"`    // of the verifier, of the old checks, and gates that say little
	Authors   int      `json:"authors,omitempty"`   // of the file that has most, people and agents, lately
	Failures  int      `json:"failures,omitempty"`  // other work on one of its files that was rejected or taken back
	Unproven  int      `json:"unproven,omitempty"`  // success criteria that it was to prove, and does not

	Executable int `json:"executable,omitempty"` // added or changed lines of code that a gate could execute; 0 if that is unknown
	Unexecuted int `json:"unexecuted,omitempty"` // and those of them that none executed

	Spent Spent `json:"spent,omitzero"` // by its attempt
	Usual Usual `json:"usual,omitzero"` // in this project

	Content
}

// Name is what a factor is about.
type Name string

// The factors.
const (
	Protected Name = "protected"
	Checks    Name = "checks"
	Retries   Name = "retries"
	Doubts    Name = "doubts"
	Size      Name = "size"
	Authors   Name = "authors"
	Failures  Name = "failures"
	Unproven  Name = "unproven"
	Unseen    Name = "unseen"

	Unexecuted Name = "unexecuted"
	Cost       Name = "cost"
	Secrets    Name = "secrets"
	Programs   Name = "programs"
	Deleted    Name = "deleted"
	Data       Name = "data"
	Access     Name = "access"
	Network    Name = "network"
	Libraries  Name = "libraries"
)

// Factor is one reason for a score.
type Factor struct {
	Name  Name    `json:"factor"`
	Share float64 `json:"share"` // of the score
	What  string  `json:"what"`  // in words
}

// Score is how risky work is, from 0 to 1, and why: the largest share first. The shares add up to it.
type Score struct {
	Risk    float64
	Factors []Factor
}

// measure is how much one factor can add, and how much of it adds half of that.
type measure struct {
	name Name
	most float64 // below 1, so that no factor hides the others
	half float64
	of   func(Facts) (amount float64, what string)
}

// perFile is how many lines a changed file counts for besides its own: many small changes are harder to read than one large.
const perFile = 10

// measures has all weights. That of cost is fitted on recorded work (tools/bench/realwork), of which nothing else is known but its size;
// that of unexecuted lines on how often wrong and right work had some (docs/done.md).
var measures = []measure{
	{Protected, 0.75, 0.25, func(f Facts) (float64, string) {
		return float64(len(f.Protected)), "changes protected or CI files: " + human.List(f.Protected, 3)
	}},
	{Checks, 0.5, 1, func(f Facts) (float64, string) {
		return float64(len(f.Checks)), "changes files that check it: " + human.List(f.Checks, 3) + human.Lead("; the old ones: ", f.Old)
	}},
	{Retries, 0.4, 1, func(f Facts) (float64, string) {
		return float64(f.Retries), "took " + human.Count(f.Retries+1, "attempt")
	}},
	{Doubts, 0.6, 0.5, func(f Facts) (float64, string) {
		return float64(len(f.Doubts)), "in doubt: " + human.List(f.Doubts, 2)
	}},
	{Size, 0.5, 400, func(f Facts) (float64, string) {
		return float64(f.Lines) + perFile*float64(len(f.Files)), human.Count(f.Lines, "line") + " in " + human.Count(len(f.Files), "file")
	}},
	{Authors, 0.2, 3, func(f Facts) (float64, string) {
		return float64(f.Authors) - 1, fmt.Sprintf("one of its files was changed by %d authors lately", f.Authors)
	}},
	{Failures, 0.4, 2, func(f Facts) (float64, string) {
		return float64(f.Failures), human.Count(f.Failures, "other piece") + " of work on its files failed"
	}},
	{Unproven, 0.4, 1, func(f Facts) (float64, string) {
		return float64(f.Unproven), "leaves " + human.Count(f.Unproven, "criterion") + " unproven"
	}},
	{Unexecuted, 0.6, 1, func(f Facts) (float64, string) {
		return float64(min(f.Unexecuted, f.Executable)), fmt.Sprintf("no check executed %d of %s of code", f.Unexecuted, human.Count(f.Executable, "changed line"))
	}},
	{Cost, 0.5, 10, func(f Facts) (float64, string) { return f.Spent.against(f.Usual) }},
	{Secrets, 0.75, 0.25, files("has what looks like a secret: ", func(c Content) []string { return c.Secrets })},
	{Programs, 0.5, 0.5, files("brings programs or binary files: ", func(c Content) []string { return c.Programs })},
	{Deleted, 0.5, 1, files("deletes tests: ", func(c Content) []string { return c.Deleted })},
	{Data, 0.5, 1, files("changes how data is stored, or drops some: ", func(c Content) []string { return c.Data })},
	{Access, 0.4, 1, files("changes who may do what: ", func(c Content) []string { return c.Access })},
	{Network, 0.4, 1, files("calls the network in scripts: ", func(c Content) []string { return c.Network })},
	{Libraries, 0.3, 1, files("changes what is installed: ", func(c Content) []string { return c.Libraries })},
}

// files is the measure of a list of files.
func files(what string, of func(Content) []string) func(Facts) (float64, string) {
	return func(f Facts) (float64, string) {
		list := of(f.Content)
		return float64(len(list)), what + human.List(list, 3)
	}
}

// Of is the whole formula. Each factor is most × n / (n + half), which more of it raises and never past most. They are
// put together as if each were a chance that something is wrong: 1 − ∏(1 − factor). So each raises the score, whatever
// the others are, and none takes it past 1. A factor's share goes by its part of the logarithm.
//
// Of work that nobody could see, nothing is known: it is as risky as can be.
func Of(f Facts) Score {
	if f.Unseen != "" {
		return Score{Risk: 1, Factors: []Factor{{Name: Unseen, Share: 1, What: "what it changes cannot be seen: " + strings.Join(strings.Fields(f.Unseen), " ")}}}
	}
	var s Score
	sum := 0.0
	for _, m := range measures {
		n, what := m.of(f)
		if n <= 0 {
			continue
		}
		part := -math.Log1p(-m.most * n / (n + m.half))
		sum += part
		s.Factors = append(s.Factors, Factor{Name: m.name, Share: part, What: what})
	}
	s.Risk = -math.Expm1(-sum)
	for i := range s.Factors {
		s.Factors[i].Share *= s.Risk / sum
	}
	slices.SortStableFunc(s.Factors, func(x, y Factor) int { return cmp.Compare(y.Share, x.Share) })
	return s
}

// Bounds of what is said of a score.
const (
	small = 0.05 // a share that is not worth a word
	words = 3    // factors that are said
)

// String says what makes work risky, in words.
func (s Score) String() string {
	var said []string
	for _, f := range s.Factors {
		if f.Share >= small && len(said) < words {
			said = append(said, f.What)
		}
	}
	if i := slices.IndexFunc(s.Factors, func(f Factor) bool { return f.Name == Size }); len(said) == 0 && i >= 0 {
		return "nothing stands out, " + s.Factors[i].What
	}
	if len(said) == 0 {
		return "nothing stands out"
	}
	return strings.Join(said, "; ")
}

// Where a person begins to look unless somebody says otherwise.
const (
	Half = 0.5 // without enough past work to compare with
	few  = 10  // past work that is not enough
	of   = 5   // one piece in so many is looked at
)

// Threshold is the risk above which the riskiest fifth of past work lies, or Half if there is little of it.
func Threshold(past []float64) float64 {
	if len(past) < few {
		return Half
	}
	sorted := slices.Sorted(slices.Values(past))
	return sorted[len(sorted)-1-len(sorted)/of]
}
