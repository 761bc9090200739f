package template

import (
	"slices"
	"strings"

	"ralph/dag"
)

// condition is what when says: of a value, which is decided when the tasks are made, and of an earlier step, which is decided when the task
// is ready. Both have to hold.
type condition struct {
	line    int
	value   part // no name if nothing is said of one
	is, not *text
	in      []text
	has     *text

	step string // no name if nothing is said of one
	when dag.When
}

// condition reads one.
func (r *reader) condition(f field) *condition {
	if f.node == nil {
		return nil
	}
	if _, isMap := pairs(f.node); !isMap {
		r.fault(f.line, "when is a map, such as {input: NAME, is: TEXT} or {step: NAME, status: failed}, not %s", kindOf(f.node))
		return nil
	}
	m, _ := r.fields(f.node, "when", "input", "is", "not", "in", "has", "step", "status", "exit", "matches", "lacks")
	c := &condition{line: f.line, step: r.plain(m["step"], "step")}
	one := func(key string) *text {
		if m[key].node == nil {
			return nil
		}
		t := r.parseText(r.plain(m[key], key), m[key].line)
		return &t
	}
	c.is, c.not, c.has, c.in = one("is"), one("not"), one("has"), r.texts(m["in"], "in")
	for key, of := range map[string]string{"is": "input", "not": "input", "in": "input", "has": "input", "status": "step", "exit": "step", "matches": "step", "lacks": "step"} {
		if _, has := m[of]; m[key].node != nil && !has {
			r.fault(m[key].line, "%s is said of an %s, and when names none", key, of)
		}
	}
	for _, key := range []string{"matches", "lacks"} {
		if slices.ContainsFunc(r.parseText(r.plain(m[key], key), m[key].line).parts, func(p part) bool { return p.name != "" }) {
			r.fault(m[key].line, "%s is a regular expression as written: no input varies it", key)
		}
	}
	if input, has := m["input"]; has {
		name, at, _ := strings.Cut(r.plain(input, "input"), ".")
		c.value = part{name: name, field: at, line: input.line}
	}
	if c.when = (dag.When{Output: c.step, Matches: r.plain(m["matches"], "matches"), Lacks: r.plain(m["lacks"], "lacks"), Exit: r.number(m["exit"], "exit")}); m["status"].node != nil {
		c.when.Status = dag.Status(r.choice(m["status"], "status", string(dag.Done), string(dag.Failed), string(dag.Cancelled)))
	}
	if about, _ := dag.FieldNamed("when"); c.step != "" {
		if err := about.Check(&dag.Detail{When: &c.when}); err != nil {
			r.fault(f.line, "%v", err)
		}
	} else if c.value.name == "" {
		r.fault(f.line, "when names neither an input nor a step")
	}
	return c
}

// texts are those that are filled in.
func (c *condition) texts() (list []text) {
	if c == nil {
		return nil
	}
	for _, t := range []*text{c.is, c.not, c.has} {
		if t != nil {
			list = append(list, *t)
		}
	}
	if list = append(list, c.in...); c.value.name != "" {
		list = append(list, text{line: c.value.line, parts: []part{c.value}})
	}
	return list
}

// holds says whether what is said of a value is so.
func (c *condition) holds(e *environment) (bool, error) {
	if c == nil || c.value.name == "" {
		return true, nil
	}
	v, err := e.lookup(c.value)
	if err != nil {
		return false, err
	}
	if c.is == nil && c.not == nil && c.has == nil && c.in == nil {
		return v.String() != "" && v.String() != "false", nil
	}
	fill := func(t *text) (s string) {
		if t != nil && err == nil {
			s, err = e.fill(*t)
		}
		return s
	}
	holds := (c.is == nil || fill(c.is) == v.String()) && (c.not == nil || fill(c.not) != v.String()) && (c.has == nil || slices.Contains(v.names(), fill(c.has)))
	if c.in == nil || !holds || err != nil {
		return holds, err
	}
	for _, t := range c.in {
		values, err := e.values(t)
		if err != nil || slices.Contains(values, v.String()) {
			return err == nil, err
		}
	}
	return false, nil
}

// resolve finds the step that a condition is about, among those that come before, nearest first, and has it keep what it came to.
func (r *reader) resolve(c *condition, before []*step) {
	if c == nil || c.step == "" {
		return
	}
	i := slices.IndexFunc(before, func(s *step) bool { return s.name == c.step })
	if i < 0 {
		names := make([]string, len(before))
		for i, s := range before {
			names[i] = s.name
		}
		r.fault(c.line, "when looks at %q: there is no such step before this one%s", cut(c.step), meant(c.step, names))
		return
	}
	s, w := before[i], c.when
	s.captured = true
	switch fails := w.Status == dag.Failed || w.Exit != nil && *w.Exit != 0; {
	case s.foreach != nil:
		r.fault(c.line, "when looks at %s, which is repeated, and so is not one step", s.name)
	case s.kind == notifyStep:
		r.fault(c.line, "when looks at %s, which only tells people something", s.name)
	case w.Exit != nil && s.kind != shellStep:
		r.fault(c.line, "when looks at the exit status of %s, which is no shell step", s.name)
	case fails && s.said.OnFail != dag.Continue:
		r.fault(c.line, "when looks at a failure of %s, after which nothing goes on; say there on_fail: continue", s.name)
	}
}

// needs are the names of steps that the conditions of a step, and of the steps in it, are about.
func (s *step) needs() (names []string) {
	if s.when != nil && s.when.step != "" {
		names = append(names, s.when.step)
	}
	for i := range s.steps {
		for _, name := range s.steps[i].needs() {
			if !slices.ContainsFunc(s.steps, func(in step) bool { return in.name == name }) {
				names = append(names, name)
			}
		}
	}
	return names
}
