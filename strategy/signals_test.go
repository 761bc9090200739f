package strategy_test

import (
	"testing"

	"ralph/strategy"
)

// TestEverySignalWordOfTheSeedIsHeard holds both lists of the seed's section
// on model strategies: its error signals, and the two levels of Escalate.
func TestEverySignalWordOfTheSeedIsHeard(t *testing.T) {
	t.Parallel()
	tests := map[string]string{
		"error":      "sonnet",
		"failure":    "sonnet",
		"failed":     "sonnet",
		"bug":        "sonnet",
		"stuck":      "opus",
		"cannot":     "opus",
		"unable":     "opus",
		"panic":      "opus",
		"crash":      "opus",
		"broken":     "opus",
		"regression": "opus",
	}
	for word, escalated := range tests {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			h := notes("The test says "+word+", again.", "", "")
			if got := strategy.Next(strategy.Input{Kind: strategy.CostOptimized, History: h}); got.Model != "opus" {
				t.Errorf("cost-optimized: got %+v, want opus", got)
			}
			if got := strategy.Next(strategy.Input{Kind: strategy.Escalate, History: h}); got.Model != escalated {
				t.Errorf("escalate: got %+v, want %s", got, escalated)
			}
		})
	}
}

func TestSignalsAreWholeWords(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		note  string
		heard bool
	}{
		"debug is not bug":                     {"added debug output", false},
		"a longer word is another word":        {"errors, failures, crashing, unbroken, panicky", false},
		"an identifier is another word":        {"renamed error_code and bug_id", false},
		"a word with letters of other scripts": {"bugé and éerror", false},
		"a word with digits":                   {"bug2", false},
		"upper case is the same word":          {"PANIC", true},
		"punctuation ends a word":              {"(bug)", true},
		"a hyphen ends a word":                 {"error-prone", true},
		"a line break ends a word":             {"so\nstuck\nhere", true},
		"the first and the last word count":    {"broken", true},
		"no takes a signal back":               {"there is no regression", false},
		"without takes a signal back":          {"ends without error", false},
		"a count of zero takes a signal back":  {"0 error, zero bug", false},
		"not takes nothing back":               {"this is not stuck", true},
		"a later signal still counts":          {"no error, but one crash", true},
		"an empty note says nothing":           {"", false},
		"invalid text says nothing":            {"\xff\xfe", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := strategy.Next(strategy.Input{Kind: strategy.CostOptimized, History: notes(tt.note)})
			if heard := got.Tier == strategy.Opus; heard != tt.heard {
				t.Errorf("note %q: got %+v, want heard = %v", tt.note, got, tt.heard)
			}
		})
	}
}
