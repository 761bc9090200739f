package template

import (
	"maps"
	"slices"
	"strings"

	"ralph/internal/seq"
)

// check refuses what can never be filled in or run: unknown names, and what leads back to itself.
func (r *reader) check(t *Template) {
	for i := range t.Inputs {
		in := &t.Inputs[i]
		for _, p := range in.places() {
			r.known(t, p, nil)
		}
		for _, value := range in.texts() {
			r.filters(value, true) // it may be a command
		}
	}
	r.defaults(t)
	for _, list := range [][]text{t.gates, t.context} {
		for _, p := range places(list) {
			r.known(t, p, nil)
		}
		for _, command := range list {
			r.filters(command, true)
		}
	}
	taken := map[string]int{}
	var before []*step
	for _, section := range t.sections() {
		before = r.section1(t, section, nil, before, taken)
	}
}

// section1 checks some steps, repeated for the items around them, after others, nearest first, and returns those with them.
func (r *reader) section1(t *Template, section []step, around []string, before []*step, taken map[string]int) []*step {
	faults := len(r.faults)
	for i := range section {
		s := &section[i]
		r.step1(t, s, around)
		r.resolve(s.when, before)
		switch first, twice := taken[s.name]; {
		case s.name == "":
			r.fault(s.line, "the step needs a name: its text has nothing to make one of")
		case twice:
			r.fault(s.line, "the step is called %s, like that on line %d; give it another name", s.name, first)
		default:
			taken[s.name] = s.line
		}
		if s.kind == loopStep && s.foreach != nil {
			r.section1(t, s.steps, append(slices.Clip(around), s.foreach.as), before, map[string]int{})
		}
		before = append([]*step{s}, before...)
	}
	if len(r.faults) == faults {
		r.order(section)
	}
	return before
}

// step1 checks one step by itself.
func (r *reader) step1(t *Template, s *step, around []string) {
	l := s.foreach
	if l != nil {
		switch in := t.input(l.from.name); {
		case l.from.name == "":
		case slices.Contains(append(slices.Clip(around), l.as), l.from.name) && l.from.field == "":
			r.fault(l.line, "foreach repeats the step for %s, which is one item; name a field of it, or a list among the inputs", l.from)
		case in == nil || l.from.field != "":
			r.known(t, l.from, around)
		case !in.List:
			r.fault(l.line, "foreach needs a list, and input %s is none; say so with list: true", in.Name)
		}
		for _, it := range l.items {
			for _, p := range it.places() {
				r.known(t, p, around)
			}
			for _, value := range it.texts() {
				r.filters(value, true)
			}
		}
		if slices.Contains(around, l.as) || t.input(l.as) != nil {
			r.fault(l.line, "${%s} is an input, or an item around this one; give this one another name with as", l.as)
		}
		around = append(slices.Clip(around), l.as)
	}
	texts := append([]text{s.body, s.title, s.description, s.model, s.effort, s.agent, s.until, s.expectRed}, s.gates...)
	for _, p := range places(slices.Concat(texts, s.context, s.when.texts())) {
		r.known(t, p, around)
	}
	for _, command := range slices.Concat([]text{s.until, s.expectRed}, s.gates, s.context) {
		r.filters(command, true)
	}
	r.filters(s.body, s.kind == shellStep)
	for _, words := range append([]text{s.title, s.description, s.model, s.effort, s.agent}, s.when.texts()...) {
		r.filters(words, false)
	}
}

// known refuses a place that nothing fills. Around it are the items that it may name.
func (r *reader) known(t *Template, p part, around []string) {
	switch {
	case len(r.faults) > maxFaults:
	case slices.Contains(around, p.name):
	case p.name == itemName:
		r.fault(p.line, "${item} is only known in a step with foreach that gives its items no other name")
	case t.input(p.name) == nil:
		names := slices.Concat(seq.Map(t.Inputs, func(in Input) string { return in.Name }), around)
		r.fault(p.line, "unknown variable %q%s; inputs declares them, and $${%s} is the shell's own", cut(p.name), meant(p.name, names), cut(p.name))
	case p.field != "":
		r.fault(p.line, "${%s.%s}: only an item has fields", p.name, p.field)
	}
}

func (it item) places() []part { return places(it.texts()) }

func (it item) texts() (list []text) {
	list = append(list, it.text)
	for _, name := range slices.Sorted(maps.Keys(it.fields)) {
		list = append(list, it.fields[name])
	}
	return list
}

// places are those of the default.
func (in *Input) places() []part { return places(in.texts()) }

// texts are those of the default.
func (in *Input) texts() (list []text) {
	list = append(list, in.value)
	for _, it := range in.items {
		list = append(list, it.texts()...)
	}
	return list
}

// defaults refuses one that leads back to itself.
func (r *reader) defaults(t *Template) {
	index := map[string]int{}
	for i, in := range t.Inputs {
		index[in.Name] = i
	}
	path := circle(len(t.Inputs), func(i int) (list []int) {
		for _, p := range t.Inputs[i].places() {
			if at, is := index[p.name]; is {
				list = append(list, at)
			}
		}
		return list
	})
	if path != nil {
		names := seq.Map(path, func(i int) string { return t.Inputs[i].Name })
		r.fault(t.Inputs[path[0]].line, "the default of input %s leads back to itself: %s", names[0], strings.Join(names, ", "))
	}
}

// circle is the first way that leads from one of so many things back to it; nil if there is none.
func circle(n int, next func(int) []int) (found []int) {
	state, path := make([]int, n), []int{}
	var visit func(i int) bool
	visit = func(i int) bool {
		path = append(path, i)
		switch state[i] {
		case visiting:
			found = path[slices.Index(path, i):]
			return true
		case 0:
			state[i] = visiting
			if slices.ContainsFunc(next(i), visit) {
				return true
			}
			state[i] = visited
		}
		path = path[:len(path)-1]
		return false
	}
	for i := range n {
		if visit(i) {
			break
		}
	}
	return found
}

// How far the search for what leads back to itself is with something.
const (
	visiting = iota + 1
	visited
)

// order refuses steps that wait for what is not there, or for themselves.
func (r *reader) order(section []step) {
	index := map[string]int{}
	for i, s := range section {
		index[s.name] = i
	}
	names, faults := seq.Map(section, func(s step) string { return s.name }), len(r.faults)
	for _, s := range section {
		if s.after == nil {
			continue
		}
		for _, ref := range *s.after {
			if _, ok := index[ref.name]; !ok {
				r.fault(ref.line, "after %q: there is no such step here%s", cut(ref.name), meant(ref.name, names))
			}
		}
	}
	if len(r.faults) > faults {
		return
	}
	if path := circle(len(section), func(i int) []int { return waits(section, i, index) }); path != nil {
		r.fault(section[path[0]].line, "the step waits for itself: %s", strings.Join(seq.Map(path, func(i int) string { return names[i] }), ", which waits for "))
	}
}

// waits are the steps of a section that another one of it waits for.
func waits(section []step, i int, index map[string]int) (list []int) {
	if section[i].after == nil && i > 0 {
		list = append(list, i-1)
	}
	if section[i].after != nil {
		for _, ref := range *section[i].after {
			list = append(list, index[ref.name])
		}
	}
	for _, name := range section[i].needs() {
		if at, here := index[name]; here {
			list = append(list, at)
		}
	}
	return list
}
