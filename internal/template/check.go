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
			r.known(t, p, false)
		}
		for _, value := range in.texts() {
			r.filters(value, true) // it may be a command
		}
	}
	r.defaults(t)
	for _, list := range [][]text{t.gates, t.context} {
		for _, p := range places(list) {
			r.known(t, p, false)
		}
		for _, command := range list {
			r.filters(command, true)
		}
	}
	taken := map[string]int{}
	for _, section := range t.sections() {
		for i := range section {
			s := &section[i]
			r.step1(t, s)
			switch first, twice := taken[s.name]; {
			case s.name == "":
				r.fault(s.line, "the step needs a name: its text has nothing to make one of")
			case twice:
				r.fault(s.line, "the step is called %s, like that on line %d; give it another name", s.name, first)
			default:
				taken[s.name] = s.line
			}
		}
		r.order(section)
	}
}

// step1 checks one step by itself.
func (r *reader) step1(t *Template, s *step) {
	texts := append([]text{s.body, s.title, s.description, s.model, s.effort, s.agent, s.until, s.expectRed}, s.gates...)
	for _, p := range places(append(texts, s.context...)) {
		r.known(t, p, s.foreach != nil)
	}
	for _, command := range slices.Concat([]text{s.until, s.expectRed}, s.gates, s.context) {
		r.filters(command, true)
	}
	r.filters(s.body, s.shell)
	for _, words := range []text{s.title, s.description, s.model, s.effort, s.agent} {
		r.filters(words, false)
	}
	if c := s.when; c != nil {
		for _, words := range append([]text{c.left}, c.right...) {
			r.filters(words, false)
		}
		for _, p := range append(c.left.places(), places(c.right)...) {
			r.known(t, p, s.foreach != nil)
		}
	}
	l := s.foreach
	switch {
	case l == nil:
		return
	case l.input == itemName:
		r.fault(l.line, "foreach repeats the step for ${item}, which is what it makes; name a list among the inputs")
	case l.input != "":
		if in := t.input(l.input); in == nil {
			r.known(t, part{name: l.input, line: l.line}, false)
		} else if !in.List {
			r.fault(l.line, "foreach needs a list, and input %s is none; say so with list: true", in.Name)
		}
	}
	for _, it := range l.items {
		for _, p := range it.places() {
			r.known(t, p, false)
		}
		for _, value := range it.texts() {
			r.filters(value, true)
		}
	}
}

// known refuses a place that nothing fills.
func (r *reader) known(t *Template, p part, repeated bool) {
	switch {
	case len(r.faults) > maxFaults:
	case p.name == itemName && repeated:
	case p.name == itemName:
		r.fault(p.line, "${item} is only known in a step with foreach")
	case t.input(p.name) == nil:
		names := seq.Map(t.Inputs, func(in Input) string { return in.Name })
		r.fault(p.line, "unknown variable %q%s; inputs declares them, and $${%s} is the shell's own", cut(p.name), meant(p.name, names), cut(p.name))
	case p.field != "":
		r.fault(p.line, "${%s.%s}: only ${item} has fields", p.name, p.field)
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
	path, faults := []string{}, len(r.faults)
	state := map[string]int{}
	var visit func(in *Input)
	visit = func(in *Input) {
		if len(r.faults) > faults || state[in.Name] == visited {
			return
		}
		path = append(path, in.Name)
		if state[in.Name] == visiting {
			path = path[slices.Index(path, in.Name):]
			r.fault(in.line, "the default of input %s leads back to itself: %s", in.Name, strings.Join(path, ", "))
			return
		}
		state[in.Name] = visiting
		for _, p := range in.places() {
			if other := t.input(p.name); other != nil {
				visit(other)
			}
		}
		state[in.Name], path = visited, path[:max(len(path)-1, 0)]
	}
	for i := range t.Inputs {
		visit(&t.Inputs[i])
	}
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
	names := seq.Map(section, func(s step) string { return s.name })
	faults := len(r.faults)
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
	state := make([]int, len(section))
	var path []string
	var visit func(i int) bool
	visit = func(i int) bool {
		path = append(path, section[i].name)
		switch state[i] {
		case visited:
			path = path[:len(path)-1]
			return true
		case visiting:
			path = path[slices.Index(path, section[i].name):]
			r.fault(section[i].line, "the step waits for itself: %s", strings.Join(path, ", which waits for "))
			return false
		}
		state[i] = visiting
		for _, before := range waits(section, i, index) {
			if !visit(before) {
				return false
			}
		}
		state[i], path = visited, path[:len(path)-1]
		return true
	}
	for i := range section {
		if !visit(i) {
			return
		}
	}
}

// waits are the steps of a section that another one of it waits for.
func waits(section []step, i int, index map[string]int) (list []int) {
	if section[i].after == nil {
		if i > 0 {
			list = append(list, i-1)
		}
		return list
	}
	for _, ref := range *section[i].after {
		list = append(list, index[ref.name])
	}
	return list
}
