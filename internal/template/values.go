package template

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/seq"
)

// Var is a value for an input, as somebody typed it.
type Var struct{ Name, Value string }

// VarError says that the values do not fit the inputs.
type VarError struct{ Text, Hint string }

func (e *VarError) Error() string { return e.Text }

// value is what an input has: a text, or a list.
type value struct {
	text  string
	list  bool
	items []entry
	loose string // the input whose value a default puts into it, though that means more to a shell than a word
	alien bool   // it has text that others wrote
}

// entry is an item that is filled in.
type entry struct {
	name   string // or all of it, if it has no fields
	fields map[string]string
	loose  map[string]string // by field, "" for one without: as for a value
}

func (v value) String() string {
	if !v.list {
		return v.text
	}
	return strings.Join(v.names(), ", ")
}

func (v value) names() []string {
	if !v.list {
		return []string{v.text}
	}
	return seq.Map(v.items, func(e entry) string { return e.name })
}

// environment is what fills places in: the values of the inputs, and the items at hand by their names.
type environment struct {
	vars  map[string]value
	items map[string]entry
	spent int // bytes so far
}

// resolve puts what was given beside the defaults. Which inputs lack a value is a VarError.
func (t *Template) resolve(vars, texts []Var) (*environment, error) {
	given := map[string]*value{}
	for i, v := range slices.Concat(vars, texts) {
		if err := t.give(given, v, i >= len(vars)); err != nil {
			return nil, err
		}
	}
	var missing []string
	for _, in := range t.Inputs {
		if v := given[in.Name]; in.Required && (v == nil || v.String() == "") {
			missing = append(missing, in.Name)
		}
	}
	if len(missing) > 0 {
		return nil, missingVars(missing)
	}
	e := &environment{vars: map[string]value{}, items: map[string]entry{}}
	for name, v := range given {
		e.vars[name] = *v
	}
	for i := range t.Inputs {
		if err := t.byDefault(e, &t.Inputs[i]); err != nil {
			return nil, err
		}
	}
	return e, nil
}

func missingVars(names []string) error {
	flags := seq.Map(names, func(name string) string {
		if name == featureName {
			return "--feature NAME"
		}
		return "--var " + name + "=VALUE"
	})
	return &VarError{"no value for " + human.Series(names, "and"), "give it with: " + strings.Join(flags, " ")}
}

// give takes one value in. Several for a list add up.
func (t *Template) give(given map[string]*value, v Var, alien bool) error {
	in := t.input(v.Name)
	names := seq.Map(t.Inputs, func(in Input) string { return in.Name })
	switch {
	case in == nil && len(names) == 0:
		return &VarError{fmt.Sprintf("the template has no inputs, so there is no %q", cut(v.Name)), ""}
	case in == nil:
		return &VarError{fmt.Sprintf("the template has no input %q%s", cut(v.Name), meant(v.Name, names)), ""}
	case len(v.Value) > maxText || !utf8.ValidString(v.Value) || strings.ContainsFunc(v.Value, isControl):
		return &VarError{fmt.Sprintf("%s: a value is text of at most %d KiB", v.Name, maxText>>10), ""}
	case alien && (strings.Contains(v.Value, "\n") || strings.Contains(v.Value, "```") || strings.Contains(v.Value, "~~~")):
		return &VarError{v.Name + ": text that others wrote is one line, without the marks of code blocks", ""} // the shell agent runs those
	case in.List && alien:
		return &VarError{v.Name + " is a list, and text that others wrote is one value", ""}
	case !in.List && given[v.Name] != nil:
		return &VarError{v.Name + " is given twice, and is no list", ""}
	case !in.List:
		given[v.Name] = &value{text: v.Value, alien: alien}
		return nil
	}
	items, err := splitList(v.Value)
	if err != nil {
		return &VarError{v.Name + ": " + err.Error(), `a list is a,b,c or JSON: ["a","b"] or [{"name":"a"}]`}
	}
	before := given[v.Name]
	if before == nil {
		before = &value{list: true}
		given[v.Name] = before
	}
	before.items = append(before.items, items...)
	return nil
}

// isControl says that a character is no text; the ends of lines and tabs are.
func isControl(r rune) bool { return unicode.IsControl(r) && r != '\n' && r != '\t' }

// splitList reads a list as people type it: words with commas between them, or JSON.
func splitList(s string) (items []entry, err error) {
	s = strings.TrimSpace(s)
	if !strings.HasPrefix(s, "[") {
		for word := range strings.SplitSeq(s, ",") {
			if word = strings.TrimSpace(word); word != "" {
				items = append(items, entry{name: word})
			}
		}
		return items, nil
	}
	var list []any
	if err := json.Unmarshal([]byte(s), &list); err != nil {
		return nil, fmt.Errorf("it begins like JSON and is none: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	for _, v := range list {
		fields, isObject := v.(map[string]any)
		if !isObject {
			name, err := jsonText(v)
			if err != nil || name == "" {
				typed, _ := json.Marshal(v) // as it was typed: null, and not what Go calls it
				return nil, fmt.Errorf("an entry is a text or an object, not %s", typed)
			}
			items = append(items, entry{name: name})
			continue
		}
		e := entry{fields: map[string]string{}}
		for key, v := range fields {
			if e.fields[key], err = fieldText(key, v); err != nil {
				return nil, fmt.Errorf("%s: %w", key, err)
			}
		}
		if e.name = e.fields["name"]; e.name == "" {
			return nil, fmt.Errorf("an entry with fields needs one called name, by which it is known")
		}
		items = append(items, e)
	}
	return items, nil
}

func jsonText(v any) (string, error) {
	switch v := v.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	case float64, bool:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("a field is a text, or a list of texts without commas")
}

// fieldText is what a field of an entry has: a list as it is typed.
func fieldText(key string, v any) (string, error) {
	list, isList := v.([]any)
	if !isList || key == "name" {
		return jsonText(v)
	}
	texts := make([]string, len(list))
	for i, v := range list {
		var err error
		if texts[i], err = jsonText(v); err != nil || strings.Contains(texts[i], ",") {
			return jsonText(list)
		}
	}
	return strings.Join(texts, ", "), nil
}

// byDefault gives an input the value that its default has, after those of the inputs it names. The check has made sure
// that this ends.
func (t *Template) byDefault(e *environment, in *Input) error {
	if _, has := e.vars[in.Name]; has {
		return nil
	}
	for _, p := range in.places() {
		if err := t.byDefault(e, t.input(p.name)); err != nil {
			return err
		}
	}
	v := value{list: in.List, alien: e.alien(in.places()...)}
	if v.alien && v.list {
		return at(in.line, fmt.Errorf("the list %s would have text in it that others wrote", in.Name))
	}
	var err error
	if v.items, err = e.entries(in.items); err != nil {
		return err
	}
	if v.text, err = e.fill(in.value); err != nil {
		return err
	}
	v.loose = e.loose(in.value)
	if in.List && v.items == nil {
		if v.items, err = splitList(v.text); err != nil {
			return at(in.line, err)
		}
		for i := range v.items {
			v.items[i].taint(v.loose)
		}
	}
	for _, it := range v.items {
		v.loose = cmp.Or(v.loose, it.loose[""])
	}
	e.vars[in.Name] = v
	return nil
}

func at(line int, err error) error { return dag.PlanError{{Line: line, Err: err}} }

// alien says that one of the places has text that others wrote, other than quoted.
func (e *environment) alien(places ...part) bool {
	return slices.ContainsFunc(places, func(p part) bool { return p.filter != quoteFilter && e.vars[p.name].alien })
}

// entries fills in items that the template has.
func (e *environment) entries(items []item) (list []entry, err error) {
	for _, it := range items {
		if e.alien(it.places()...) {
			return nil, at(it.line, fmt.Errorf("an entry of a list would have text in it that others wrote"))
		}
		filled := entry{loose: map[string]string{"": e.loose(it.text)}}
		if filled.name, err = e.fill(it.text); err != nil {
			return nil, err
		}
		if it.fields != nil {
			filled.fields = map[string]string{}
			for _, name := range slices.Sorted(maps.Keys(it.fields)) {
				if filled.fields[name], err = e.fill(it.fields[name]); err != nil {
					return nil, err
				}
				filled.loose[name] = e.loose(it.fields[name])
			}
			filled.name, filled.loose[""] = filled.fields["name"], filled.loose["name"]
		}
		if !hasText(filled.name) {
			return nil, at(it.line, fmt.Errorf("an entry of the list is empty"))
		}
		list = append(list, filled)
	}
	return list, nil
}

// fill puts values into a text.
func (e *environment) fill(t text) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		s := p.literal
		if p.name != "" {
			v, err := e.lookup(p)
			if err != nil {
				return "", err
			}
			s = p.filtered(v)
		}
		b.WriteString(s)
		e.spent += len(s)
		if b.Len() > maxText || e.spent > maxFilled {
			return "", at(p.line, fmt.Errorf("filled in, this is too long: at most %d KiB a text, and %d MiB in all", maxText>>10, maxFilled>>20))
		}
	}
	return b.String(), nil
}

// command is fill for what a shell runs: a value must not become more of it than its place says.
func (e *environment) command(t text) (string, error) { return e.fillFor(t, true) }

// prose is fill for what an agent reads. The shell agent runs code blocks in it.
func (e *environment) prose(t text) (string, error) { return e.fillFor(t, false) }

func (e *environment) fillFor(t text, command bool) (string, error) {
	uses := t.uses(command)
	for i, p := range t.parts {
		if p.name == "" || uses[i] == inText {
			continue
		}
		v, err := e.lookup(p)
		if err != nil {
			return "", err
		}
		if err := shellValue(p, v, uses[i]); err != nil {
			return "", at(p.line, err)
		}
	}
	s, err := e.fill(t)
	return strings.TrimSpace(s), err
}

// taint says of an item and its fields that they are parts of a text into which a default puts the value of that input.
func (it *entry) taint(input string) {
	it.loose = map[string]string{"": input}
	for name := range it.fields {
		it.loose[name] = input
	}
}

// loose is the input whose value a text puts beside something else, though that means more to a shell than a word.
func (e *environment) loose(t text) string {
	for _, p := range t.places() {
		v, err := e.lookup(p)
		switch {
		case err != nil || p.filter != "":
		case len(t.parts) == 1:
			return v.loose
		case strings.ContainsFunc(v.String(), func(r rune) bool { return r != ' ' && !plain.ShellWord(r) }):
			return p.name
		}
	}
	return ""
}

// values are the single values of a text that names a list, or the text.
func (e *environment) values(t text) ([]string, error) {
	if len(t.parts) == 1 && t.parts[0].name != "" {
		v, err := e.lookup(t.parts[0])
		return v.names(), err
	}
	s, err := e.fill(t)
	return []string{s}, err
}

func (e *environment) lookup(p part) (value, error) {
	item, is := e.items[p.name]
	if !is {
		return e.vars[p.name], nil
	}
	switch s, has := item.fields[p.field]; {
	case p.field == "":
		return value{text: item.name, loose: item.loose[""]}, nil
	case has:
		return value{text: s, loose: item.loose[p.field]}, nil
	case item.fields == nil:
		return value{}, at(p.line, fmt.Errorf("%s: %q is a text without fields", p, cut(item.name)))
	}
	return value{}, at(p.line, fmt.Errorf("%q has no field %s%s", cut(item.name), p.field, meant(p.field, slices.Sorted(maps.Keys(item.fields)))))
}

// firstLine splits a text into its first line that has something in it, and the rest.
func firstLine(s string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return plain.OneLine(first), strings.TrimSpace(rest)
}

// orTitle is the title of a step, or else what stands for one.
func orTitle(given, otherwise string) string { return cmp.Or(plain.OneLine(given), otherwise) }
