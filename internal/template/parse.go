package template

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
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
	switch steps := len(t.before) + len(t.steps) + len(t.after); {
	case len(r.faults) > 0:
	case steps == 0:
		r.fault(yamlfile.Line(node), "it has no steps")
	case steps > maxSteps:
		r.fault(top["steps"].line, "it has %d steps; at most %d are read", steps, maxSteps)
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

func (r *reader) step(node ast.Node) step {
	s := step{line: yamlfile.Line(node)}
	keys := []string{"name", "task", "shell", "foreach", "serial", "when", "after", "until"}
	for _, field := range dag.Fields {
		keys = append(keys, field.Name)
	}
	f, _ := r.fields(node, "a step", keys...)
	if f == nil {
		return s
	}
	_, task := f["task"]
	if _, s.shell = f["shell"]; task == s.shell {
		r.fault(s.line, "a step has either task, what an agent is to do, or shell, a command")
		return s
	}
	if s.shell {
		for _, key := range []string{"model", "effort", "agent", "kind", "context", "expect_red"} {
			if extra, has := f[key]; has {
				r.fault(extra.line, "a shell step has no %s: no model is asked", key)
			}
		}
		s.body, s.agent = r.text(f["shell"], "shell"), text{parts: []part{{literal: "shell"}}}
	} else {
		s.body, s.agent = r.text(f["task"], "task"), r.text(f["agent"], "agent")
	}
	s.name = r.stepName(f["name"], s)
	s.title, s.description = r.text(f["title"], "title"), r.text(f["description"], "description")
	s.effort = r.text(f["effort"], "effort")
	s.model, s.until, s.expectRed = r.text(f["model"], "model"), r.text(f["until"], "until"), r.text(f["expect_red"], "expect_red")
	s.gates, s.context = r.texts(f["gates"], "gates"), r.texts(f["context"], "context")
	for _, field := range dag.Fields {
		if given, has := f[field.Name]; has && field.Varies == dag.Never && !slices.Contains([]string{"title", "description"}, field.Name) {
			r.said(field, given, &s.said)
		}
	}
	s.foreach, s.serial = r.loop(f["foreach"]), r.yes(f["serial"], "serial")
	if s.serial && s.foreach == nil {
		r.fault(f["serial"].line, "serial is for a step with foreach; steps run one after the other anyway")
	}
	if when := f["when"]; when.node != nil {
		s.when = r.parseCondition(r.plain(when, "when"), when.line)
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
	what := about.Name
	switch choices := about.Choices(); {
	case choices != nil:
		if word := r.choice(f, what, choices...); word != "" {
			err = about.Parse(d, word)
		}
	case what == "max_retries":
		d.MaxRetries = r.number(f, what)
	case what == "output":
		d.Output = r.output(f)
	case what == "timeout":
		d.Timeout = r.timeout(f)
	case about.IsList():
		err = about.Parse(d, r.list(f, what)...)
	default:
		err = about.Parse(d, r.plain(f, what))
	}
	if checked := *d; err == nil {
		err = about.Check(&checked) // and leaves it as it is written
	}
	if err != nil {
		r.fault(f.line, "%s: %v", what, err)
	}
}

func (r *reader) output(f field) string {
	name := r.plain(f, "output")
	if f.node != nil && !nameForm.Get().MatchString(name) {
		r.fault(f.line, "an output cannot be called %q: a name has letters, digits, - and _, at most 64", cut(name))
	}
	return name
}

func (r *reader) timeout(f field) time.Duration {
	written := r.plain(f, "timeout")
	if f.node == nil {
		return 0
	}
	var d project.Duration
	if err := d.UnmarshalText([]byte(written)); err != nil || d.Std() < time.Millisecond || d.Std()%time.Millisecond != 0 {
		r.fault(f.line, "timeout is a time such as 90s, 10m or 2h, not %q", cut(written))
		return 0
	}
	return d.Std()
}

func (r *reader) loop(f field) *loop {
	if f.node == nil {
		return nil
	}
	l := &loop{line: f.line}
	if list, ok := f.node.(*ast.SequenceNode); ok {
		l.items = r.items(list, "foreach")
		return l
	}
	t := r.text(f, "foreach")
	if len(t.parts) != 1 || t.parts[0].name == "" || t.parts[0].field != "" {
		r.fault(f.line, "foreach is one list: an input such as ${names}, or [a, b]")
		return nil
	}
	l.input = t.parts[0].name
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
		switch {
		case p.name == "":
			b.WriteString(p.literal)
		case p.field == "":
			b.WriteString("${" + p.name + "}")
		default:
			b.WriteString("${" + p.name + "." + p.field + "}")
		}
	}
	return b.String()
}
