package template

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/ast"

	"ralph/dag"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
	"ralph/internal/project"
	"ralph/internal/yamlfile"
)

// Parse reads a template and checks all that can be checked without values. What is wrong with its lines is a dag.PlanError.
func Parse(data []byte) (Template, error) {
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
	switch {
	case len(data) > project.MaxTemplate:
		return Template{}, fmt.Errorf("%w: a template has at most %d KiB", dag.ErrRefused, project.MaxTemplate>>10)
	case !utf8.Valid(data) || bytes.IndexByte(data, 0) >= 0:
		return Template{}, fmt.Errorf("%w: it is no text in UTF-8", dag.ErrRefused)
	}
	docs, err := yamlfile.Parse(data)
	var located *yamlfile.Error
	switch {
	case errors.As(err, &located):
		return Template{}, fail(located.Line, "not YAML: "+located.Text)
	case len(docs) == 0:
		return Template{}, fail(1, "there is nothing in it")
	case len(docs) > 1:
		return Template{}, fail(yamlfile.Line(docs[1]), "a file has one template; this is a second document")
	}
	if line := yamlfile.Alias(docs[0]); line > 0 {
		return Template{}, fail(line, "anchors and aliases are not read; write it out")
	}
	r := &reader{}
	t := r.template(docs[0])
	if len(r.faults) == 0 {
		r.check(&t)
	}
	if len(r.faults) > 0 {
		slices.SortStableFunc(r.faults, func(a, b dag.SpecError) int { return cmp.Compare(a.Line, b.Line) })
		return Template{}, r.faults
	}
	return t, nil
}

func fail(line int, text string) error {
	return dag.PlanError{{Line: line, Err: errors.New(text)}}
}

func hasText(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsSpace(r) && !unicode.IsControl(r) })
}

func (r *reader) template(node ast.Node) (t Template) {
	top, _ := r.fields(node, "a template", "name", "description", "inputs", "gates", "before", "context", "steps", "after")
	t.Name, t.Description = r.plain(top["name"], "name"), strings.TrimSpace(r.plain(top["description"], "description"))
	if inputs := top["inputs"]; inputs.node != nil && !isNull(inputs.node) {
		fields, order := r.fields(inputs.node, "inputs")
		for _, name := range order {
			t.Inputs = append(t.Inputs, r.input(name, fields[name]))
		}
	}
	t.gates, t.context = r.texts(top["gates"], "gates"), r.texts(top["context"], "context")
	t.before, t.steps, t.after = r.section(top["before"], "before"), r.section(top["steps"], "steps"), r.section(top["after"], "after")
	switch {
	case len(r.faults) > 0:
	case r.steps == 0:
		r.fault(yamlfile.Line(node), "it has no steps")
	case r.steps > maxSteps:
		r.fault(top["steps"].line, "it has %d steps; at most %d are read", r.steps, maxSteps)
	case len(t.Inputs) > maxInputs:
		r.fault(top["inputs"].line, "it has %d inputs; at most %d are read", len(t.Inputs), maxInputs)
	}
	return t
}

func (r *reader) input(name string, f field) Input {
	in := Input{Name: name, line: f.line}
	if !inputName.Get().MatchString(name) || name == itemName {
		r.fault(f.line, "an input cannot be called %q: a name has letters, digits, - and _, and ${item} is the item of a foreach", cut(name))
	}
	if isNull(f.node) {
		return in
	}
	fields, _ := r.fields(f.node, "input "+name, "required", "default", "list", "description")
	in.Required, in.List = r.yes(fields["required"], "required"), r.yes(fields["list"], "list")
	in.Description = strings.TrimSpace(r.plain(fields["description"], "description"))
	given, ok := fields["default"]
	if !ok || isNull(given.node) {
		return in
	}
	if in.Required {
		r.fault(given.line, "input %s is required and has a default; one of them is enough", name)
	}
	list, isList := given.node.(*ast.SequenceNode)
	switch {
	case isList && in.List:
		in.items = r.items(list, "default")
		var shown []string
		for _, it := range in.items {
			shown = append(shown, cmp.Or(it.fields["name"].source(), it.text.source()))
		}
		in.Default = strings.Join(shown, ",")
	case isList:
		r.fault(given.line, "the default is a list, and input %s is none; say so with list: true", name)
	default:
		s, ok := scalar(given.node)
		if !ok {
			r.fault(given.line, "default is %s, not a text", kindOf(given.node))
		}
		in.value, in.Default = r.parseText(s, given.line), s
	}
	return in
}

func (r *reader) section(f field, what string) (steps []step) {
	if f.node == nil || isNull(f.node) {
		return nil
	}
	list, ok := f.node.(*ast.SequenceNode)
	if !ok {
		r.fault(f.line, "%s is %s, not a list of steps", what, kindOf(f.node))
		return nil
	}
	for _, node := range list.Values {
		steps = append(steps, r.step(node))
	}
	return steps
}

// notOf are the keys that a kind of step does not have, and why.
var notOf = map[stepKind]struct {
	why  string
	keys []string
}{
	shellStep:  {"no model is asked", []string{"model", "effort", "agent", "kind", "context", "expect_red"}},
	notifyStep: {"nothing is worked on", []string{"model", "effort", "agent", "kind", "context", "expect_red", "gates", "until", "max_retries", "may_change", "proves", "output", "timeout"}},
}

// loopKeys are those of a step that has steps. All else is said of those.
var loopKeys = []string{"name", "title", "foreach", "as", "serial", "when", "after", "steps", "on_fail"}

func (r *reader) step(node ast.Node) step {
	s := step{line: yamlfile.Line(node)}
	r.steps++
	keys := []string{"name", "task", "shell", "steps", "foreach", "as", "serial", "after", "until"}
	for _, field := range dag.Fields {
		keys = append(keys, field.Name)
	}
	f, order := r.fields(node, "a step", keys...)
	if f == nil {
		return s
	}
	for _, kind := range []stepKind{taskStep, shellStep, notifyStep, loopStep} {
		if _, has := f[string(kind)]; has && s.kind == "" {
			s.kind = kind
		} else if has {
			s.kind = loopStep + "+"
		}
	}
	for _, key := range order {
		switch not := notOf[s.kind]; {
		case slices.Contains(not.keys, key):
			r.fault(f[key].line, "a %s step has no %s: %s", s.kind, key, not.why)
		case s.kind == loopStep && !slices.Contains(loopKeys, key):
			r.fault(f[key].line, "a step with steps has no %s: say it of those", key)
		}
	}
	switch s.kind {
	case taskStep:
		s.body, s.agent = r.text(f["task"], "task"), r.text(f["agent"], "agent")
	case shellStep, notifyStep:
		s.body, s.agent = r.text(f[string(s.kind)], string(s.kind)), text{parts: []part{{literal: "shell"}}} // which is never limited
	case loopStep:
		s.steps = r.section(f["steps"], "steps")
		if f["foreach"].node == nil || f["name"].node == nil || len(s.steps) == 0 {
			r.fault(s.line, "a step with steps has foreach, what they are repeated for, a name, and at least one step")
		}
	default:
		r.fault(s.line, "a step has one of task, what an agent is to do, shell, a command, notify, what people are told, or steps")
		return s
	}
	s.name = r.stepName(f["name"], s)
	s.title, s.description = r.text(f["title"], "title"), r.text(f["description"], "description")
	s.effort = r.text(f["effort"], "effort")
	s.model, s.until, s.expectRed = r.text(f["model"], "model"), r.text(f["until"], "until"), r.text(f["expect_red"], "expect_red")
	s.gates, s.context = r.texts(f["gates"], "gates"), r.texts(f["context"], "context")
	for _, field := range dag.Fields {
		if given, has := f[field.Name]; has && field.Varies == dag.Never && !slices.Contains([]string{"title", "description", "when", "notify"}, field.Name) {
			r.said(field, given, &s.said)
		}
	}
	s.foreach, s.serial = r.loop(f["foreach"], f["as"]), r.yes(f["serial"], "serial")
	for _, key := range []string{"serial", "as"} {
		if _, has := f[key]; has && f["foreach"].node == nil {
			r.fault(f[key].line, "%s is for a step with foreach", key)
		}
	}
	if s.when = r.condition(f["when"]); s.when != nil && s.when.step != "" && s.kind == loopStep {
		r.fault(f["when"].line, "whether a step with steps is repeated cannot depend on what another came to: say so of its steps")
	}
	if after, has := f["after"]; has {
		s.after = r.references(after)
	}
	return s
}

var nameForm = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)

// stepName is the name of a step, or what its text makes of one: it is how a later application knows the tasks of the step.
func (r *reader) stepName(f field, s step) string {
	name := r.plain(f, "name")
	switch {
	case f.node == nil:
		return slug(s.body.outline())
	case !nameForm.Get().MatchString(name):
		r.fault(f.line, "a step cannot be called %q: a name has letters, digits, - and _, at most 64", cut(name))
	}
	return name
}

func slug(s string) string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !plain.IsAlnum(r) })
	s = strings.Join(words, "-")
	return strings.Trim(s[:min(len(s), 40)], "-")
}

// said reads a field of a task that no input varies: what it costs, and what may check or keep it back, is not for others to say.
func (r *reader) said(about dag.Field, f field, d *dag.Detail) {
	var err error
	switch choices := about.Choices(); {
	case choices != nil:
		if word := r.choice(f, about.Name, choices...); word != "" {
			err = about.Parse(d, word)
		}
	case about.Name == "max_retries":
		d.MaxRetries = r.number(f, about.Name) // -1 is typed for none elsewhere
	case about.IsList():
		err = about.Parse(d, r.list(f, about.Name)...)
	default:
		err = about.Parse(d, r.plain(f, about.Name))
	}
	if checked := *d; err == nil {
		err = about.Check(&checked) // and leaves it as it is written
	}
	if err != nil {
		r.fault(f.line, "%s: %v", about.Name, err)
	}
}

func (r *reader) loop(f, as field) *loop {
	if f.node == nil {
		return nil
	}
	l := &loop{line: f.line, as: cmp.Or(r.plain(as, "as"), itemName)}
	if !inputName.Get().MatchString(l.as) {
		r.fault(as.line, "an item cannot be called %q: a name has letters, digits, - and _", cut(l.as))
	}
	if list, ok := f.node.(*ast.SequenceNode); ok {
		l.items = r.items(list, "foreach")
		return l
	}
	t := r.text(f, "foreach")
	if len(t.parts) != 1 || t.parts[0].name == "" {
		r.fault(f.line, "foreach is one list: an input such as ${names}, a field of an item around it, or [a, b]")
		return nil
	}
	l.from = t.parts[0]
	return l
}

func (r *reader) references(f field) *[]reference {
	list := []reference{}
	nodes := []ast.Node{f.node}
	if seq, ok := f.node.(*ast.SequenceNode); ok {
		nodes = seq.Values
	}
	for _, node := range nodes {
		line := yamlfile.Line(node)
		list = append(list, reference{line, r.plain(field{line, node}, "an entry of after")})
	}
	return &list
}

// source is a text as it was written.
func (t text) source() string {
	var b strings.Builder
	for _, p := range t.parts {
		if b.WriteString(p.literal); p.name != "" {
			b.WriteString(p.String())
		}
	}
	return b.String()
}
