package project

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Moved is a key that Migrate renames.
type Moved struct{ Old, Is string }

// Migrate is the text of a configuration in which every key has its name of today, and what was renamed. What a person remarked stays;
// the comments that an earlier `ralph init` wrote go. It is refused if any key would have another value.
func Migrate(path string, data []byte) (text []byte, moved []Moved, err error) {
	before := Loaded{Config: Default(), origins: map[string]string{}}
	if err := before.add(path, data); err != nil || len(before.old) == 0 {
		return data, nil, err
	}
	doc, err := readDocument(path, bytes.TrimPrefix(data, []byte("\ufeff")))
	if err != nil {
		return nil, nil, err
	}
	m := &migration{document: doc, config: before.Config, known: oldComments(), written: map[string]bool{}}
	m.run()
	text = m.text()
	after := Loaded{Config: Default(), origins: map[string]string{}}
	if err := after.add(path, text); err != nil {
		return nil, nil, fmt.Errorf("%w: %s cannot be rewritten: %w", ErrConfig, path, err)
	}
	now := after.keys()
	for i, k := range before.keys() {
		if k.Group != Parts && !reflect.DeepEqual(k.Shown(), now[i].Shown()) {
			return nil, nil, fmt.Errorf("%w: %s cannot be rewritten without changing %s; change it by hand", ErrConfig, path, k.Name)
		}
	}
	return text, m.moved, nil
}

//go:embed template_old.toml
var oldTemplate string

// oldComments are the lines that `ralph init` wrote in earlier versions.
func oldComments() map[string]bool {
	known := map[string]bool{}
	for line := range strings.Lines(oldTemplate) {
		known[strings.TrimSpace(strings.TrimPrefix(line, "MODELS"))] = true
	}
	return known
}

// migration sorts the lines of a file into the sections of today.
type migration struct {
	*document
	config   Config
	known    map[string]bool
	sections []*section
	written  map[string]bool // keys that are several old ones together
	moved    []Moved
}

// section is what stands below a header: the root has none. Verbatim ones, of entries, begin with it.
type section struct {
	name     string
	verbatim bool
	lines    []string
}

// section is that of a name, at the end if it is new.
func (m *migration) section(name string) *section {
	for _, s := range m.sections {
		if s.name == name && !s.verbatim {
			return s
		}
	}
	m.sections = append(m.sections, &section{name: name})
	return m.sections[len(m.sections)-1]
}

func (m *migration) run() {
	at, end := m.section(""), 0
	for _, p := range m.parts {
		from := bytes.LastIndexByte(m.data[:p.start], '\n') + 1
		below, above := m.comments(string(m.data[end:from]))
		at.add(m, below...)
		end = m.endOfLine(p.end)
		line := strings.TrimRight(string(m.data[from:end]), "\r\n")
		if !p.header {
			m.assign(at, p, above)
			continue
		}
		name := strings.Join(p.path, ".")
		k := entriesOf(name)
		if k == nil {
			at = &section{name: name} // what it has goes to the sections of today
			if tail := strings.TrimSpace(string(m.data[p.end:end])); tail != "" && !m.known[strings.TrimSpace(line)] {
				above = append(above, tail)
			}
			at.add(m, above...)
			continue
		}
		if k.Old != "" && (name == k.Old || strings.HasPrefix(name, k.Old+".")) {
			line = strings.Replace(line, "["+k.Old, "["+k.Name, 1)
			m.note(k.Old, k.Name)
		}
		at = &section{name: name, verbatim: true, lines: append(above, line)}
		m.sections = append(m.sections, at)
	}
	below, above := m.comments(string(m.data[end:]))
	at.add(m, append(below, above...)...)
}

// add is for comments: those of an old section go to one of today.
func (s *section) add(m *migration, lines ...string) {
	if !s.verbatim && len(lines) > 0 {
		s = m.section(m.today(s.name))
	}
	s.lines = append(s.lines, lines...)
}

// entriesOf is the key whose entries a header is about.
func entriesOf(name string) *Key {
	for _, k := range Keys() {
		for _, known := range []string{k.Name, k.Old} {
			if k.isEntries() && known != "" && strings.HasPrefix(name+".", known+".") {
				return &k
			}
		}
	}
	return nil
}

// today is the section to which the comments of an old one go: the first that one of its keys is in.
func (m *migration) today(name string) string {
	for _, k := range Keys() {
		if strings.HasPrefix(k.Name, name+".") && k.Group != Parts {
			return name
		}
	}
	return ""
}

func (m *migration) note(old, is string) {
	if moved := (Moved{old, is}); old != is && !slices.Contains(m.moved, moved) {
		m.moved = append(m.moved, moved)
	}
}

// comments parts what stands between two parts: below the first, and directly above the second. What `ralph init` wrote is left out.
func (m *migration) comments(text string) (below, above []string) {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if text == "" {
		return nil, nil
	}
	for _, line := range lines {
		line = strings.TrimRight(line, " \t\r")
		switch {
		case m.known[strings.TrimSpace(line)] && strings.TrimSpace(line) != "":
		case line == "":
			below, above = append(append(below, above...), ""), nil
		default:
			above = append(above, line)
		}
	}
	return below, above
}

// assign puts an assignment where it stands today.
func (m *migration) assign(at *section, p part, above []string) {
	line := strings.TrimRight(string(m.data[bytes.LastIndexByte(m.data[:p.start], '\n')+1:m.endOfLine(p.end)]), "\r\n")
	tail := strings.TrimSpace(string(m.data[p.end:m.endOfLine(p.end)]))
	if at.verbatim {
		at.lines = append(append(at.lines, above...), line)
		return
	}
	name := p.name()
	k, isSection := find(m.config.keys(), name)
	if inner, ok := m.value(name).(map[string]any); ok && isSection {
		(&section{name: name}).add(m, append(above, comment(tail)...)...)
		m.flatten(name, inner)
		return
	}
	if k == nil { // in an entry, like agents.mine.command
		root := m.section("")
		root.lines = append(append(root.lines, above...), line)
		return
	}
	m.note(name, k.thing())
	if k.rule.of == "" {
		m.put(k.Name, string(m.data[p.value:p.end]), tail, above)
		return
	}
	m.together(k.rule.of, append(above, comment(tail)...))
}

// together writes a key that is several old ones, once.
func (m *migration) together(name string, above []string) {
	section, _, _ := cutLast(name)
	if m.written[name] {
		s := m.section(section)
		s.lines = append(s.lines, above...)
		return
	}
	m.written[name] = true
	k, _ := find(m.config.keys(), name)
	m.put(name, tomlText(k.Shown()), "", above)
}

// flatten writes each key of an inline table apart.
func (m *migration) flatten(prefix string, table map[string]any) {
	for _, word := range slices.Sorted(maps.Keys(table)) {
		name := prefix + "." + word
		k, isSection := find(m.config.keys(), name)
		inner, ok := table[word].(map[string]any)
		switch {
		case ok && isSection:
			m.flatten(name, inner)
		case k != nil && k.rule.of != "":
			m.note(name, k.rule.of)
			m.together(k.rule.of, nil)
		case k != nil:
			m.note(name, k.Name)
			m.put(k.Name, tomlText(table[word]), "", nil)
		}
	}
}

func (m *migration) put(name, value, tail string, above []string) {
	section, word, _ := cutLast(name)
	s := m.section(section)
	line := word + " = " + value
	if tail != "" {
		line += " " + tail
	}
	s.lines = append(append(s.lines, above...), line)
}

func comment(tail string) []string {
	if tail == "" {
		return nil
	}
	return []string{tail}
}

// value is what the file has under a name.
func (m *migration) value(name string) any {
	var at any = m.tree
	for word := range strings.SplitSeq(name, ".") {
		table, _ := at.(map[string]any)
		at = table[word]
	}
	return at
}

// text is the new file: the root first, then its sections, without empty ones and with one empty line between.
func (m *migration) text() []byte {
	var b strings.Builder
	for _, s := range m.sections {
		lines := slices.CompactFunc(s.lines, func(a, b string) bool { return a == "" && b == "" })
		body := strings.Trim(strings.Join(lines, "\n"), "\n")
		if body == "" || m.known[body] { // also the header of a table without entries
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
		}
		if s.name != "" && !s.verbatim {
			fmt.Fprintf(&b, "[%s]\n", s.name)
		}
		b.WriteString(body + "\n")
	}
	return []byte(b.String())
}
