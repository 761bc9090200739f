package strategy

import (
	"slices"
	"strings"
	"unicode"
)

// distress is how much help an attempt seems to have needed.
type distress int

const (
	calm distress = iota
	moderate
	severe
)

// tier is the one that Escalate answers that much distress with.
func (d distress) tier() Tier { return Tiers()[d] }

// signal returns the distress that a word stands for. CostOptimized asks only
// whether there is any; Escalate tells the two kinds apart.
func signal(word string) distress {
	switch word {
	case "error", "failure", "failed", "bug":
		return moderate
	case "stuck", "cannot", "unable", "panic", "crash", "broken", "regression":
		return severe
	}
	return calm
}

// negation reports whether a word takes back the signal right after it, as in
// "no regression".
func negation(word string) bool { return slices.Contains([]string{"no", "without", "zero", "0"}, word) }

// heard returns the worst signal among the whole words of a note and the word
// it came from: "debug" and "error_code" are no signals, "Bug:" is one.
func heard(notes string) (worst distress, word string) {
	previous := ""
	for _, field := range strings.FieldsFunc(notes, notInWord) {
		w := strings.ToLower(field)
		if d := signal(w); d > worst && !negation(previous) {
			worst, word = d, w
		}
		previous = w
	}
	return worst, word
}

func notInWord(r rune) bool {
	return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
}

// assess returns how much distress an attempt shows, by its outcome and by its
// notes, and what showed it.
func assess(a Attempt) (distress, string) {
	d, word := heard(a.Notes)
	if a.Outcome.Trouble() && d < severe {
		return moderate, "an attempt ended as " + string(a.Outcome)
	}
	if d > calm {
		return d, "the notes of an attempt say " + word
	}
	return calm, ""
}
