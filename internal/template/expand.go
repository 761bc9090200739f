package template

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// featureName is the input that has the name of the feature for its value.
const featureName = "feature"

// Expand makes the tasks of an application: one for each step, and for a step with foreach one for each item below a group.
// The same values always make the same tasks. Feature may be empty; it is also the value of an input of that name. Values
// that do not fit are a VarError; what the values make wrong with a line is a dag.PlanError. Texts are values that others wrote: no
// shell reads them except as one quoted word, and they choose no agent.
func (t Template) Expand(feature string, vars []Var, texts ...Var) ([]dag.Spec, error) {
	if t.input(featureName) != nil && feature != "" {
		vars = append(slices.DeleteFunc(slices.Clone(vars), func(v Var) bool { return v.Name == featureName }), Var{featureName, feature})
	}
	e, err := t.resolve(vars, texts)
	if err != nil {
		return nil, err
	}
	x := expansion{Template: &t, environment: e, feature: feature, origin: t.origin(e, feature), made: map[string]string{}}
	var entry []string
	for _, section := range t.sections() {
		if entry, err = x.section(section, entry); err != nil {
			return nil, err
		}
	}
	return x.specs, nil
}

// origin is what the names of an application's tasks begin with: the template and the feature. Values of required inputs that
// are no list tell applications apart too: two bugs are two bugs, but one more phase belongs to the phases before.
func (t *Template) origin(e *environment, feature string) string {
	var values []string
	for _, in := range t.Inputs {
		if in.Required && !in.List && in.Name != featureName {
			values = append(values, fmt.Sprintf("%s=%q", in.Name, e.vars[in.Name].text))
		}
	}
	prefix := "template:" + t.Name
	if feature != "" {
		prefix += ":" + strings.ToLower(feature) // as the graph tells them apart
	}
	if len(values) > 0 {
		prefix += "@" + digest(strings.Join(values, " "))
	}
	return prefix + "/"
}

func digest(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:8] }

// expansion is an application in the making.
type expansion struct {
	*Template
	*environment
	feature, origin string
	parent          string            // the group whose steps are made; "" at the top
	made            map[string]string // the outputs, by ref, of the tasks that later ones look at
	specs           []dag.Spec
}

// ref is that of a step in the group at hand.
func (x *expansion) ref(name string) string { return strings.TrimPrefix(x.parent+"/"+name, "/") }

// section makes the tasks of some steps, the first of which wait for entry, and returns what has to be done for all to be.
func (x *expansion) section(steps []step, entry []string) ([]string, error) {
	index, last := map[string]int{}, map[int]bool{}
	for i, s := range steps {
		index[s.name], last[i] = i, true
	}
	for i := range steps {
		for _, before := range waits(steps, i, index) {
			delete(last, before)
		}
	}
	made := make([][]string, len(steps)) // what to wait for to have waited for a step
	known := make([]bool, len(steps))
	var make1 func(i int) error
	make1 = func(i int) error {
		if known[i] {
			return nil
		}
		var after []string
		for _, before := range waits(steps, i, index) {
			if err := make1(before); err != nil {
				return err
			}
			after = append(after, made[before]...)
		}
		if after = compact(after); len(after) == 0 {
			after = entry
		}
		ref, err := x.step(&steps[i], after)
		if made[i], known[i] = after, true; ref != "" {
			made[i] = []string{ref}
		}
		return err
	}
	var exit []string
	for i := range steps {
		if err := make1(i); err != nil {
			return nil, err
		}
		if last[i] {
			exit = append(exit, made[i]...)
		}
	}
	if exit = compact(exit); len(exit) == 0 {
		exit = entry
	}
	return exit, nil
}

// compact drops what is there twice, and keeps the order.
func compact(list []string) (kept []string) {
	for _, s := range list {
		if !slices.Contains(kept, s) {
			kept = append(kept, s)
		}
	}
	return kept
}

// step makes the tasks of a step, and returns the ref of the one that stands for it; "" if it makes none.
func (x *expansion) step(s *step, after []string) (string, error) {
	ref := x.ref(s.name)
	if s.foreach == nil {
		if holds, err := s.when.holds(x.environment); err != nil || !holds {
			return "", err
		}
		made, err := x.one(s, ref, after)
		if !made {
			ref = ""
		}
		return ref, err
	}
	items, err := x.listed(s)
	if err != nil || len(items) == 0 {
		return "", err
	}
	common, err := x.groupTitle(s)
	if err != nil {
		return "", err
	}
	group := len(x.specs)
	if err := x.add(s, dag.Spec{Ref: ref, Parent: x.parent, Detail: dag.Detail{Title: common, OnFail: s.said.OnFail}, After: after}); err != nil {
		return "", err
	}
	outer, serial, taken := x.parent, []string(nil), map[string]bool{}
	defer func() { delete(x.items, s.foreach.as); x.parent = outer }()
	for _, item := range items {
		x.items[s.foreach.as], x.parent = item, ref
		of := ref + "/" + itemKey(item.name)
		if taken[of] {
			return "", at(s.foreach.line, fmt.Errorf("%q is in the list twice", cut(item.name)))
		}
		taken[of] = true
		made, err := x.one(s, of, serial)
		if err != nil {
			return "", err
		}
		if made && s.serial {
			serial = []string{of}
		}
	}
	if len(x.specs) == group+1 { // no item makes a task
		x.specs = x.specs[:group]
		return "", nil
	}
	return ref, nil
}

// one makes the task of a step, or the group with the tasks of its steps, and returns whether there is any.
func (x *expansion) one(s *step, ref string, after []string) (bool, error) {
	if s.kind == loopStep {
		given, err := x.fill(s.title)
		if err != nil {
			return false, err
		}
		group := len(x.specs)
		if err := x.add(s, dag.Spec{Ref: ref, Parent: x.parent, Detail: dag.Detail{Title: orTitle(given, s.name+" "+x.items[s.foreach.as].name), OnFail: s.said.OnFail}, After: after}); err != nil {
			return false, err
		}
		outer := x.parent
		defer func() { x.parent = outer }()
		x.parent = ref
		if _, err := x.section(s.steps, nil); err != nil {
			return false, err
		}
		if len(x.specs) == group+1 {
			x.specs = x.specs[:group]
			return false, nil
		}
		return true, nil
	}
	spec, err := x.task(s)
	if err != nil {
		return false, err
	}
	spec.Ref, spec.Parent, spec.After = ref, x.parent, after
	if c := s.when; c != nil && c.step != "" {
		before, output := x.before(c.step)
		if output == "" { // without that step there is nothing to look at
			return false, nil
		}
		w := c.when
		w.Output, spec.When = output, &w
		if spec.After = slices.Clone(after); !slices.Contains(after, before) {
			spec.After = append(spec.After, before) // what it looks at, it waits for itself
		}
	}
	if s.captured {
		spec.Output = cmp.Or(spec.Output, ref)
		x.made[ref] = spec.Output
	}
	return true, x.add(s, spec)
}

// before finds the task of an earlier step, in the group at hand or in those around it, and the name of its output.
func (x *expansion) before(name string) (ref, output string) {
	for parent := x.parent; ; parent = parent[:max(strings.LastIndex(parent, "/"), 0)] {
		ref = strings.TrimPrefix(parent+"/"+name, "/")
		if output = x.made[ref]; output != "" || parent == "" {
			return ref, output
		}
	}
}

// listed are the items that a step is made for.
func (x *expansion) listed(s *step) ([]entry, error) {
	all, err := x.entries(s.foreach.items)
	if err != nil {
		return nil, err
	}
	if from := s.foreach.from; from.field != "" {
		v, err := x.lookup(from)
		if err != nil {
			return nil, err
		}
		if all, err = splitList(v.text); err != nil {
			return nil, at(from.line, err)
		}
		for i := range all {
			all[i].taint(v.loose)
		}
	} else if from.name != "" {
		all = x.vars[from.name].items
	}
	if len(all) > maxTasks {
		return nil, at(s.foreach.line, fmt.Errorf("the list has %d entries; at most %d tasks are made", len(all), maxTasks))
	}
	defer delete(x.items, s.foreach.as)
	var kept []entry
	for i := range all {
		x.items[s.foreach.as] = all[i]
		holds, err := s.when.holds(x.environment)
		if err != nil {
			return nil, err
		}
		if holds {
			kept = append(kept, all[i])
		}
	}
	return kept, nil
}

var keyForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$`)

// itemKey is how the task of an item is known: by the item itself if it is a short word.
func itemKey(name string) string {
	if keyForm.Get().MatchString(name) {
		return name
	}
	return strings.Trim(slug(name)+"-"+digest(name), "-")
}

// groupTitle is what the tasks of a step have in common.
func (x *expansion) groupTitle(s *step) (string, error) {
	t := s.body
	if !s.title.empty() {
		t = s.title
	}
	if t.empty() {
		return s.name, nil
	}
	common := text{line: t.line}
	for _, p := range t.parts {
		if p.name == s.foreach.as {
			p = part{literal: "…", line: p.line}
		}
		common.parts = append(common.parts, p)
	}
	filled, err := x.fill(common)
	first, _ := firstLine(filled)
	return plain.Brief(first), err
}

// task fills in one task, without its place in the graph.
func (x *expansion) task(s *step) (spec dag.Spec, err error) {
	spec = dag.Spec{Detail: s.said}
	fill, command := func(t text) string { return x.keep(&err, x.fill, t) }, func(t text) string { return x.keep(&err, x.command, t) }
	prose := func(t text) string { return x.keep(&err, x.prose, t) }
	given, about := fill(s.title), prose(s.description)
	switch s.kind {
	case shellStep:
		script := command(s.body)
		first, _ := firstLine(script)
		spec.Title, spec.Description = orTitle(given, plain.Brief(first)), join(fenced(script), about)
	case notifyStep:
		spec.Notify = prose(s.body)
		first, _ := firstLine(spec.Notify)
		spec.Title, spec.Description = orTitle(given, plain.Brief(first)), about
	default:
		body := prose(s.body)
		first, rest := firstLine(body)
		if given != "" {
			first, rest = plain.OneLine(given), body
		}
		spec.Title, spec.Description = first, join(rest, about)
		spec.Gates, spec.Context = x.commands(&err, x.gates, s.gates, nil), x.commands(&err, x.context, s.context, nil)
	}
	if e := slices.Concat(s.agent.places(), s.model.places()); err == nil && x.alien(e...) {
		err = at(s.line, fmt.Errorf("agent and model would be text that others wrote"))
	}
	spec.Effort = dag.Effort(plain.OneLine(fill(s.effort)))
	spec.Model, spec.Agent, spec.ExpectRed = plain.OneLine(fill(s.model)), plain.OneLine(fill(s.agent)), command(s.expectRed)
	if s.kind == shellStep {
		spec.Gates = x.commands(&err, nil, s.gates, nil)
	}
	for _, gate := range []string{command(s.until), spec.ExpectRed} {
		if gate != "" && !slices.Contains(spec.Gates, gate) {
			spec.Gates = append(spec.Gates, gate)
		}
	}
	return spec, err
}

// keep is what a text is filled in with. The first error stays.
func (x *expansion) keep(first *error, fill func(text) (string, error), t text) string {
	s, err := fill(t)
	if *first == nil {
		*first = err
	}
	return s
}

// commands fills in those of the template and of the step. One that nothing is left of is left out.
func (x *expansion) commands(first *error, lists ...[]text) (commands []string) {
	for _, t := range slices.Concat(lists...) {
		if s := x.keep(first, x.command, t); s != "" && !slices.Contains(commands, s) {
			commands = append(commands, s)
		}
	}
	return commands
}

// add takes a task in.
func (x *expansion) add(s *step, spec dag.Spec) error {
	if len(x.specs) == maxTasks {
		return at(s.line, fmt.Errorf("that makes more than %d tasks", maxTasks))
	}
	if spec.Title == "" {
		return at(s.line, fmt.Errorf("filled in, the title is empty"))
	}
	spec.Line, spec.Feature, spec.Origin = s.line, x.feature, x.origin+spec.Ref
	x.specs = append(x.specs, spec)
	return nil
}

func join(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// fenced is a script as the shell agent finds it in a description, whatever marks the script has itself.
func fenced(script string) string {
	fence := "```"
	for strings.Contains(script, fence) {
		fence += "`"
	}
	return fence + "sh\n" + script + "\n" + fence
}
