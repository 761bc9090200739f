package strategy

import "fmt"

// hopeless is how many troubled attempts at one task ask for the best tier.
const hopeless = 2

// escalate replays the history: the level goes up with distress and with the
// tiers already bought, and only an attempt's hint sets it lower. Distress from
// before a hint is thereby settled, and does not undo the hint.
func escalate(in Input) (Tier, string) {
	level, reason := Haiku, "no distress"
	raise := func(to Tier, why string) {
		if higher(level, to) != level {
			level, reason = to, why
		}
	}
	troubled := map[string]int{}
	for _, a := range in.History {
		raise(a.Tier, "the level reached before")
		d, why := assess(a)
		raise(d.tier(), why)
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
