package strategy

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"ralph/internal/event"
)

// Kind names a strategy, spelled as on the command line.
type Kind string

// The strategies.
const (
	Fixed           Kind = "fixed"             // always Input.Model
	CostOptimized   Kind = "cost-optimized"    // the middle tier, the best after trouble, the cheapest while all goes well; the default
	Escalate        Kind = "escalate"          // starts at the cheapest tier and only goes up; the one way down is a hint
	PlanThenExecute Kind = "plan-then-execute" // the best tier for the first iteration, the middle one for all others
)

// Kinds returns all strategies, in the order in which help lists them.
func Kinds() []Kind { return []Kind{Fixed, CostOptimized, Escalate, PlanThenExecute} }

// ParseKind reads the name of a strategy. It refuses any other text with an
// error that lists the names.
func ParseKind(s string) (Kind, error) {
	names := make([]string, 0, len(Kinds()))
	for _, k := range Kinds() {
		if s == string(k) {
			return k, nil
		}
		names = append(names, string(k))
	}
	return "", fmt.Errorf("unknown model strategy %q, want one of %s", s, strings.Join(names, ", "))
}

// or fills in the strategy that a user means who named none: whoever names a
// model wants that model.
func (k Kind) or(model string) Kind {
	switch {
	case slices.Contains(Kinds(), k):
		return k
	case model != "":
		return Fixed
	}
	return CostOptimized
}

// choose returns what the strategy alone would buy and why.
func (k Kind) choose(in Input) (model, reason string) {
	var tier Tier
	switch k {
	case Fixed:
		if in.Model == "" {
			return "", "the agent's own default"
		}
		return in.Model, "the model that was asked for"
	case Escalate:
		tier, reason = escalate(in)
	case PlanThenExecute:
		tier, reason = Sonnet, "later iterations execute"
		if in.Iteration <= 1 {
			tier, reason = Opus, "the first iteration plans"
		}
	default:
		tier, reason = costOptimized(in)
	}
	return string(tier), reason
}

const (
	// recent is how many attempts back the trouble of other tasks counts.
	// Without an end to it one failure in the evening would buy the dearest
	// tier for the rest of the night.
	recent = 10
	// steady is how many clean completions allow the cheapest tier.
	steady = 3
)

// costOptimized answers any distress with the best tier, a steady run of
// completions with the cheapest, and everything else with the middle one.
// Distress is looked for first, so no number of completions outweighs it.
func costOptimized(in Input) (Tier, string) {
	if in.Retries > 0 {
		return Opus, fmt.Sprintf("retry %d of this task", in.Retries)
	}
	clean, fresh := 0, true
	for i, a := range in.History {
		mine := a.Task == in.Task && in.Task != ""
		near := i >= len(in.History)-recent
		if !mine && !near {
			continue
		}
		if tier, why := needed(a); tier != Haiku {
			return Opus, why
		}
		if a.Outcome.Done() && near {
			clean++
		}
		if mine && a.Outcome == event.AttemptReleased {
			fresh = false
		}
	}
	switch {
	case clean < steady:
		return Sonnet, "neither trouble nor a steady run yet"
	case !fresh:
		return Sonnet, "this task has ended without a verdict before"
	}
	return Haiku, fmt.Sprintf("%d clean completions", clean)
}

// hopeless is how many troubled attempts at one task ask for the best tier.
const hopeless = 2

// escalate replays the history: the level goes up with distress and with the
// tiers already bought, and only an attempt's hint sets it lower. Distress from
// before a hint is thereby settled, and does not undo the hint.
func escalate(in Input) (Tier, string) {
	level, reason := Haiku, "no distress"
	raise := func(to Tier, why string) {
		if to.rank() > level.rank() {
			level, reason = to, why
		}
	}
	troubled := map[string]int{}
	for _, a := range in.History {
		raise(a.Tier, "the level reached before")
		raise(needed(a))
		if a.Outcome.Trouble() {
			troubled[a.Task]++
		}
		if troubled[a.Task] >= hopeless && a.Outcome.Trouble() {
			raise(Opus, "repeated trouble with one task")
		}
		if hint, ok := ParseTier(a.Hint); ok {
			level, reason = hint, "the level that a hint set"
		}
	}
	switch {
	case in.Retries >= hopeless:
		raise(Opus, fmt.Sprintf("retry %d of this task", in.Retries))
	case in.Retries > 0:
		raise(Sonnet, fmt.Sprintf("retry %d of this task", in.Retries))
	}
	return level, reason
}

// signal returns the tier that a word of distress asks for, Haiku for any other word.
// CostOptimized asks only whether there is distress; Escalate distinguishes the two kinds.
func signal(word string) Tier {
	switch word {
	case "error", "failure", "failed", "bug":
		return Sonnet
	case "stuck", "cannot", "unable", "panic", "crash", "broken", "regression":
		return Opus
	}
	return Haiku
}

// heard returns the worst signal among the whole words of a note and the word
// it came from: "debug" and "error_code" are no signals, "Bug:" is one.
func heard(notes string) (worst Tier, word string) {
	worst = Haiku
	negated := false // as in "no regression"
	notInWord := func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
	for w := range strings.FieldsFuncSeq(strings.ToLower(notes), notInWord) {
		if need := signal(w); need.rank() > worst.rank() && !negated {
			worst, word = need, w
		}
		negated = slices.Contains([]string{"no", "without", "zero", "0"}, w)
	}
	return worst, word
}

// needed returns the tier that an attempt's outcome and notes ask for, and what says so;
// Haiku means that there was no trouble.
func needed(a Attempt) (Tier, string) {
	tier, word := heard(a.Notes)
	switch {
	case a.Outcome.Trouble() && tier != Opus:
		return Sonnet, "an attempt ended as " + string(a.Outcome)
	case tier != Haiku:
		return tier, "the notes of an attempt say " + word
	}
	return Haiku, ""
}
