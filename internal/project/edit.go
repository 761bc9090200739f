package project

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/pelletier/go-toml/v2"
)

// ErrKey is a key or a value that a file cannot get.
var ErrKey = errors.New("cannot be set")

// KeyError is a name that is not a key.
type KeyError struct{ Name string }

func (e *KeyError) Error() string { return "unknown key " + e.Name }

// Set is the text of a configuration in which a key has another value. All else stays as it is, comments too.
func Set(path string, data []byte, name, value string) ([]byte, error) {
	doc, err := readDocument(path, data)
	if err != nil {
		return nil, err
	}
	c := Default()
	k, err := settable(&c, name)
	if err != nil {
		return nil, err
	}
	if err := k.setText(value); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrKey, name, err)
	}
	if why := k.invalid(); why != "" {
		return nil, fmt.Errorf("%w: %s: %s", ErrKey, name, why)
	}
	text, err := doc.with(k, k.written(value))
	if err != nil {
		return nil, err
	}
	l := Loaded{Config: Default(), origins: map[string]string{}}
	return text, l.add(path, text)
}

// settable is the key of a name; also a field of an entry under a name that a user chose, like agents.mine.command.
func settable(c *Config, name string) (Key, error) {
	k, _ := find(c.keys(), name)
	if k != nil && k.now(name) != "" {
		return Key{}, fmt.Errorf("%w: %s is the old name of %s", ErrKey, name, k.thing())
	}
	if k != nil && !k.isEntries() {
		return *k, nil
	}
	for _, k := range c.keys() {
		rest, in := strings.CutPrefix(name, k.Name+".")
		if !k.isEntries() || !in && k.Name != name {
			continue
		}
		entry := reflect.TypeOf(k.at).Elem().Elem()
		section, field, ok := cutLast(rest)
		switch {
		case reflect.TypeOf(k.at).Elem().Kind() == reflect.Slice || !in:
			return Key{}, fmt.Errorf("%w: %s has entries; add them in the file", ErrKey, k.Name)
		case entry.Kind() != reflect.Struct && !ok:
			return Key{row: row{Name: name, at: reflect.New(entry).Interface(), rule: k.rule}}, nil
		case entry.Kind() != reflect.Struct || !ok || section == "":
			return Key{}, fmt.Errorf("%w: %s", ErrKey, name)
		}
		for i := range entry.NumField() {
			f := entry.Field(i)
			if f.Tag.Get("toml") != field {
				continue
			}
			at := f.Type
			if at.Kind() == reflect.Pointer {
				at = at.Elem()
			}
			if at.Kind() == reflect.Map {
				return Key{}, fmt.Errorf("%w: %s is a table; change it in the file", ErrKey, name)
			}
			return Key{row: row{Name: name, at: reflect.New(at).Interface(), rule: ruleOf(f.Tag)}}, nil
		}
	}
	return Key{}, &KeyError{name}
}

// written is how a value that somebody typed is written in a file.
func (k Key) written(typed string) string {
	typed = strings.TrimSpace(typed)
	switch at := k.at.(type) {
	case *bool, *int, *int64, *float64:
		return tomlText(reflect.ValueOf(at).Elem().Interface())
	case *[]string:
		if !strings.HasPrefix(typed, "[") {
			return tomlText(*at)
		}
		return typed
	case compound:
		if strings.HasPrefix(typed, "[") {
			return typed
		}
	}
	return tomlText(typed)
}

// tomlText is a value as people write it.
func tomlText(v any) string {
	switch v := v.(type) {
	case string:
		if !strings.ContainsFunc(v, func(r rune) bool { return r == '"' || r == '\\' || !unicode.IsPrint(r) }) {
			return `"` + v + `"`
		}
	case []string:
		var list []string
		for _, one := range v {
			list = append(list, tomlText(one))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case []any:
		var list []string
		for _, one := range v {
			list = append(list, tomlText(one))
		}
		return "[" + strings.Join(list, ", ") + "]"
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	text, _ := toml.Marshal(map[string]any{"v": v}) // of what was read from a file
	return strings.TrimSpace(strings.TrimPrefix(string(text), "v = "))
}

// with is the text with another value of a key.
func (d *document) with(k Key, value string) ([]byte, error) {
	for _, p := range d.parts {
		if p.header {
			continue
		}
		switch found, _ := find([]Key{k}, p.name()); {
		case found != nil:
			return slices.Concat(d.data[:p.value], []byte(value), d.data[p.end:]), nil
		case strings.HasPrefix(k.Name, p.name()+".") || k.Old != "" && strings.HasPrefix(k.Old, p.name()+"."):
			return nil, fmt.Errorf("%w: line %d sets %s as a whole; change %s there", ErrKey, d.line(p.name()), p.name(), k.Name)
		}
		if old, _ := find(Keys(), p.name()); old != nil && old.rule.of == k.Name {
			return nil, fmt.Errorf("%w: line %d has %s in the style of an earlier version", ErrKey, d.line(p.name()), k.Name)
		}
	}
	if d.lines[k.Name] > 0 {
		return nil, fmt.Errorf("%w: line %d has it as a table; change it there", ErrKey, d.lines[k.Name])
	}
	section, word, _ := cutLast(k.Name)
	at, assignment := d.insertion(section), tomlKey(word)+" = "+value+"\n"
	if at < 0 {
		at, assignment = len(d.data), "\n["+tomlKeys(section)+"]\n"+assignment
		if len(d.data) == 0 {
			assignment = assignment[1:]
		}
	}
	before := d.data[:at]
	if len(before) > 0 && before[len(before)-1] != '\n' {
		assignment = "\n" + assignment
	}
	return slices.Concat(before, []byte(assignment), d.data[at:]), nil
}

// insertion is where an assignment is added to a section: behind the last that it has, or behind its header. The root begins the file,
// below the comment that it begins with. -1: there is no such section.
func (d *document) insertion(section string) int {
	at, in := -1, section == ""
	first := len(d.data)
	for _, p := range d.parts {
		if p.header {
			in = p.name() == section
			first = min(first, d.above(p.start))
		}
		if in && (!p.header || section != "") {
			at = d.endOfLine(p.end)
		}
	}
	if at < 0 && section == "" {
		return first
	}
	return at
}

func (d *document) endOfLine(from int) int {
	if i := bytes.IndexByte(d.data[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(d.data)
}

// above is where the comment directly above a line begins.
func (d *document) above(start int) int {
	for start > 0 {
		line := bytes.LastIndexByte(d.data[:start-1], '\n') + 1
		if !bytes.HasPrefix(bytes.TrimSpace(d.data[line:start]), []byte("#")) {
			return start
		}
		start = line
	}
	return start
}

// tomlKey is a word of a key as it is written.
func tomlKey(word string) string {
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool {
		return r >= 0x80 || !(unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_')
	}) {
		return word
	}
	return tomlText(word)
}

func tomlKeys(name string) string {
	words := strings.Split(name, ".")
	for i, word := range words {
		words[i] = tomlKey(word)
	}
	return strings.Join(words, ".")
}
