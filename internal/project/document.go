package project

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// document is a configuration file: what it has, and where.
type document struct {
	path  string
	data  []byte
	tree  map[string]any
	parts []part
	lines map[string]int // of keys and headers, by their names from the root
}

// part is an assignment or the header of a table, with the bytes that it takes: its comment behind it is not among them.
type part struct {
	path       []string // from the root; an entry of a list has its number
	header     bool
	start, end int
	value      int // where the value of an assignment begins
}

func (p part) name() string { return strings.Join(p.path, ".") }

func readDocument(path string, data []byte) (*document, error) {
	d := &document{path: path, data: data, lines: map[string]int{}}
	if err := toml.Unmarshal(data, &d.tree); err != nil {
		row := 1
		if wrong := (*toml.DecodeError)(nil); errors.As(err, &wrong) {
			row, _ = wrong.Position()
		}
		return nil, fmt.Errorf("%w: %s:%d: %s", ErrConfig, path, row, strings.TrimPrefix(err.Error(), "toml: "))
	}
	var parser unstable.Parser
	parser.Reset(data)
	var section []string
	counts := map[string]int{} // of the entries of lists
	for parser.NextExpression() {
		node := parser.Expression()
		names, from, to := keyOf(node)
		if node.Kind == unstable.KeyValue {
			at := part{path: slices.Concat(section, names), start: from, end: int(node.Raw.Offset + node.Raw.Length)}
			at.value = to + len(data[to:at.end]) - len(bytes.TrimLeft(data[to:at.end], " \t="))
			d.parts = append(d.parts, at)
			d.place(section, node)
			continue
		}
		section = listed(names, counts, node.Kind == unstable.ArrayTable)
		from = bytes.LastIndexByte(data[:from], '\n') + 1
		end := bytes.LastIndexByte(data[:to+len("]")], ']') + 1
		if node.Kind == unstable.ArrayTable {
			end++
		}
		d.parts = append(d.parts, part{path: section, header: true, start: from, end: end})
		d.at(section, from)
	}
	return d, nil
}

// keyOf is the key of an expression, and where it is.
func keyOf(node *unstable.Node) (names []string, from, to int) {
	from = -1
	for keys := node.Key(); keys.Next(); {
		key := keys.Node()
		if from < 0 {
			from = int(key.Raw.Offset)
		}
		names, to = append(names, string(key.Data)), int(key.Raw.Offset+key.Raw.Length)
	}
	return names, from, to
}

// listed is the path of a header: within a list it is about the last entry.
func listed(names []string, counts map[string]int, begins bool) []string {
	var path []string
	for i, name := range names {
		path = append(path, name)
		list := strings.Join(path, "\x00")
		if begins && i == len(names)-1 {
			counts[list]++
		}
		if n := counts[list]; n > 0 {
			path = append(path, strconv.Itoa(n))
		}
	}
	return path
}

// place notes where a key is, and what is in its value.
func (d *document) place(section []string, node *unstable.Node) {
	names, from, _ := keyOf(node)
	path := slices.Concat(section, names)
	d.at(path, from)
	d.inside(path, node.Value())
}

func (d *document) inside(path []string, value *unstable.Node) {
	if value.Kind != unstable.InlineTable && value.Kind != unstable.Array {
		return
	}
	n := 0
	for children := value.Children(); children.Next(); {
		switch child := children.Node(); child.Kind {
		case unstable.KeyValue:
			d.place(path, child)
		case unstable.InlineTable:
			n++
			entry := slices.Concat(path, []string{strconv.Itoa(n)})
			d.at(entry, int(child.Raw.Offset))
			d.inside(entry, child)
		}
	}
}

func (d *document) at(path []string, offset int) {
	if name := strings.Join(path, "."); d.lines[name] == 0 {
		d.lines[name] = 1 + bytes.Count(d.data[:offset], []byte("\n"))
	}
}

// line is that of a name, or of what it is in.
func (d *document) line(name string) int {
	for more := true; more; name, _, more = cutLast(name) {
		if n := d.lines[name]; n > 0 {
			return n
		}
	}
	return 1
}

// given is a key that a file sets, by the name that it has there.
type given struct {
	key   Key
	name  string
	value any
}

// givens lists what a file sets, in the order of the table, and names what is unknown.
func (d *document) givens(keys []Key, problem func(name, why string)) (list []given) {
	var walk func(prefix string, table map[string]any)
	walk = func(prefix string, table map[string]any) {
		for _, word := range slices.Sorted(maps.Keys(table)) {
			name, value := prefix+word, table[word]
			k, isSection := find(keys, name)
			inner, isTable := value.(map[string]any)
			switch {
			case isSection && isTable:
				walk(name+".", inner)
			case k != nil:
				list = append(list, given{*k, name, value})
			case isSection:
				problem(name, mistyped("a table of its own", value))
			default:
				problem(name, "")
			}
		}
	}
	walk("", d.tree)
	order := map[string]int{}
	for i, k := range keys {
		order[k.Name] = i
	}
	slices.SortStableFunc(list, func(a, b given) int { return order[a.key.Name] - order[b.key.Name] })
	return list
}
