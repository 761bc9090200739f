package agents

import (
	"slices"
	"strconv"
	"strings"
)

// Resolve returns what the agent calls a tier: the first of its names that is offered,
// and of several versions the newest. It is empty, for the agent's own default, if the
// agent has no name for the tier. A name that is no tier stays as it is.
func Resolve(p Preset, name string, offered []string) string {
	name = strings.TrimSpace(name)
	tier := strings.ToLower(name)
	if !IsTier(tier) {
		return name
	}
	fallback := ""
	for _, candidate := range p.Tiers[tier] {
		if model, ok := newest(candidate, offered); ok {
			return model
		}
		if fallback == "" && !strings.ContainsAny(candidate, "#*") { // a pattern is no name
			fallback = candidate
		}
	}
	return fallback
}

// Offered is Resolve for a name that must be among those that are offered, if those are known: a compatible service
// may have none of the models that a tier usually means.
func Offered(p Preset, tier string, offered []string) string {
	name := Resolve(p, tier, offered)
	if len(offered) > 0 && !slices.Contains(offered, name) {
		return ""
	}
	return name
}

// Configured is the model that the user names for the agent, of several that of the tier with which most runs begin;
// empty if there is none.
func (p Preset) Configured() string {
	for _, tier := range []string{"sonnet", "opus", "haiku"} {
		for name, model := range p.Models {
			if strings.EqualFold(name, tier) {
				return model
			}
		}
	}
	return ""
}

// IsTier reports whether name is one of the three words that stand for a class
// of models and not for one.
func IsTier(name string) bool { return name == "opus" || name == "sonnet" || name == "haiku" }

// newest returns the offered model of the highest version that a candidate
// describes; of equal ones the first, since agents list the usual one first.
func newest(candidate string, offered []string) (string, bool) {
	best, bestVersion, found := "", []int(nil), false
	for _, model := range offered {
		v, ok := version(candidate, model)
		if ok && (!found || slices.Compare(v, bestVersion) > 0) {
			best, bestVersion, found = model, v, true
		}
	}
	return best, found
}

// version reports whether a model is what a candidate describes, and the
// version in the place of its "#".
func version(candidate, model string) ([]int, bool) {
	if rest, ok := strings.CutPrefix(candidate, "*/"); ok {
		slash := strings.LastIndexByte(model, '/')
		if slash < 0 {
			return nil, false
		}
		candidate, model = rest, model[slash+1:]
	}
	before, after, ok := strings.Cut(candidate, "#")
	if !ok {
		return nil, candidate == model
	}
	middle, hasBefore := strings.CutPrefix(model, before)
	middle, hasAfter := strings.CutSuffix(middle, after)
	if !hasBefore || !hasAfter || middle == "" {
		return nil, false
	}
	var v []int
	for part := range strings.FieldsFuncSeq(middle, func(r rune) bool { return r == '.' || r == '-' }) {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil, false
		}
		// A date, as in claude-opus-4-20250514, says nothing about which of two
		// versions is the newer.
		if n < 1000 {
			v = append(v, n)
		}
	}
	return v, len(v) > 0
}
