package permission

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"ralph/internal/toolcall"
)

// Answer is what becomes of a call.
type Answer string

// The answers there are.
const (
	Allow Answer = "allow"
	Deny  Answer = "deny"
	Ask   Answer = "ask" // a person
)

// Stricter reports whether a allows less than b. No answer at all is the least strict.
func (a Answer) Stricter(b Answer) bool {
	order := []Answer{Allow, Ask, Deny}
	return slices.Index(order, a) > slices.Index(order, b)
}

// Lists are rules as they are written, and what happens to a call that none of them is about.
type Lists struct {
	Default          Answer // empty means Allow
	Deny, Ask, Allow []string
}

// Rules decide about calls. They never change.
type Rules struct {
	otherwise                       Answer
	never, always, deny, ask, allow []Rule // the first two are remembered answers
}

// Invalid names the key of a list that cannot be used, and says why.
func (l Lists) Invalid() (key, why string) {
	for _, list := range []struct {
		key   string
		rules []string
	}{{"deny", l.Deny}, {"ask", l.Ask}, {"allow", l.Allow}} {
		if list.rules != nil && len(list.rules) == 0 {
			return list.key, "it is empty; leave it out, or add a rule like \"execute:git push*\""
		}
		if _, err := parseAll(list.rules); err != nil {
			return list.key, err.Error()
		}
	}
	return "", ""
}

func parseAll(texts []string) ([]Rule, error) {
	rules := make([]Rule, len(texts))
	for i, text := range texts {
		var err error
		if rules[i], err = ParseRule(text); err != nil {
			return nil, err
		}
	}
	return rules, nil
}

// New makes rules of lists, and of remembered answers: what is to be allowed always counts before what is to be
// asked, because it is the answer.
func New(l, remembered Lists) (*Rules, error) {
	r := &Rules{otherwise: cmp.Or(l.Default, Allow)}
	for _, list := range []struct {
		rules *[]Rule
		texts []string
	}{{&r.never, remembered.Deny}, {&r.always, remembered.Allow}, {&r.deny, l.Deny}, {&r.ask, l.Ask}, {&r.allow, l.Allow}} {
		var err error
		if *list.rules, err = parseAll(list.texts); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Restrict reports whether any call could be denied or asked about. If none can, agents need not ask.
func (r *Rules) Restrict() bool {
	return r.otherwise != Allow || len(r.deny)+len(r.ask)+len(r.never) > 0
}

// Decision is what rules say about a call.
type Decision struct {
	Answer Answer
	Rule   string // the list and the rule that decided, like "deny execute:git push*", or one of the words below
	Reason string // for people and for the agent; empty if it is allowed

	open []Rule // that match what is asked about, and nothing else
}

// Rememberable reports whether an answer to what is asked about can be remembered.
func (d Decision) Rememberable() bool { return len(d.open) > 0 }

// Rules of decisions that no rule made.
const (
	ByDefault = "default"
	Unparsed  = "unparsed" // it is not known what the command does
)

// Decide looks at each part of a call on its own: one that is denied denies all of it, and one that is asked
// about makes a question of the whole.
func (r *Rules) Decide(c toolcall.Call) Decision {
	var all Decision
	var open []Rule
	unsaid := false // no rule can say what is asked about
	for _, p := range split(c) {
		d := r.decidePart(p)
		open, unsaid = append(open, d.open...), unsaid || d.Answer == Ask && d.open == nil
		if d.Answer.Stricter(all.Answer) {
			all = d
		}
	}
	if all.open = open; unsaid {
		all.open = nil
	}
	return all
}

func (r *Rules) decidePart(p part) Decision {
	touches := func(rule Rule) bool { return rule.touches(p) }
	isAbout := func(rule Rule) bool { return rule.isAbout(p) }
	for _, list := range []struct {
		name   string
		answer Answer
		rules  []Rule
		match  func(Rule) bool
	}{
		{"deny", Deny, r.deny, touches},
		{"never", Deny, r.never, touches},
		{"always", Allow, r.always, isAbout},
		{"ask", Ask, r.ask, touches},
		{"allow", Allow, r.allow, isAbout},
	} {
		if list.name == "ask" && p.unclear != "" && r.mentions(p) {
			return decision(p, Ask, Unparsed, "it cannot be compared with the rules, because "+p.unclear)
		}
		if i := slices.IndexFunc(list.rules, list.match); i >= 0 {
			return decision(p, list.answer, list.name+" "+list.rules[i].String(), fmt.Sprintf("%q matches the rule %s %s", cut(p.String()), list.name, list.rules[i]))
		}
	}
	if p.besides {
		return Decision{Answer: Allow, Rule: ByDefault}
	}
	return decision(p, r.otherwise, ByDefault, fmt.Sprintf("no rule is about %q, and the default is %s", cut(p.String()), r.otherwise))
}

// mentions reports whether any rule is about calls of this kind.
func (r *Rules) mentions(p part) bool {
	return slices.ContainsFunc(slices.Concat(r.deny, r.ask, r.allow, r.never, r.always), func(rule Rule) bool {
		return slices.Contains(p.forms[0].kinds, rule.kind)
	})
}

// decision is about a part of a call, with the rule that an answer to it could become.
func decision(p part, answer Answer, rule, reason string) Decision {
	d := Decision{Answer: answer, Rule: rule}
	if answer != Allow {
		d.Reason = reason
	}
	if answer == Ask {
		if exact, err := exactly(p.forms[0].kinds[0], p.String()); err == nil { // else it is asked about each time
			d.open = []Rule{exact}
		}
	}
	return d
}

// cut is the beginning of a text, for people.
func cut(text string) string {
	const most = 200
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "..."
}

// Doubtful says which rules match every call of their kind, and which can never match because of one in an earlier list.
func (l Lists) Doubtful() (found []string) {
	earlier := map[string]string{} // what covers a rule, or all of a kind
	for _, list := range []struct {
		name  string
		rules []string
	}{{"deny", l.Deny}, {"ask", l.Ask}, {"allow", l.Allow}} {
		here := map[string]string{}
		for _, text := range list.rules {
			r, err := ParseRule(text)
			if err != nil {
				continue // the configuration is refused
			}
			all := r.kind + ":" + everything(r.kind)
			said := list.name + " " + r.String()
			if by := cmp.Or(earlier[r.String()], earlier[all]); by != "" {
				found = append(found, said+" can never match: "+by+" comes first")
			} else if r.String() == all {
				found = append(found, said+" matches every call of its kind")
			}
			here[r.String()] = said
		}
		maps.Copy(earlier, here)
	}
	return found
}
