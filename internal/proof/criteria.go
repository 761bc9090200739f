// Package proof knows the success criteria of a specification, and what shows that each of them is met.
package proof

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ralph/dag"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
	"ralph/internal/taskfile"
)

// Criterion is what a specification wants to see before it counts as met.
type Criterion struct {
	ID       string   `json:"id"`       // C1, C2 and so on; "" without one, or if an earlier criterion has it
	Text     string   `json:"text"`     // in one line, without the ID
	Taken    string   `json:"-"`        // the ID that an earlier one has, too
	Commands []string `json:"commands"` // where the criterion is commands that have to succeed
}

var (
	heading = lazyregexp.New(`(?i)\b(?:success|acceptance) criteri(?:a|on)\b|^(?:\d+[.)]?\s+)?acceptance:?$`)
	item    = lazyregexp.New(`^( {0,3})((?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?)(\S.*)$`)
	nested  = lazyregexp.New(`^( *)((?:[-*+]|\d+[.)])\s+(?:\[[ xX]\]\s+)?)(\S.*)$`)
	named   = lazyregexp.New(`(?i)^(?:(?:\*\*|__)(C[1-9][0-9]{0,4})(?:[:.]?(?:\*\*|__)[:.]?)|\[(C[1-9][0-9]{0,4})\]:?|(C[1-9][0-9]{0,4})(?:\s?[:.)]|\s+[-–—]))\s+`)
)

// line is one of a specification.
type line struct {
	text   string // without what ends it
	inside bool   // it stands below a heading of criteria
	fenced bool   // in a code block, or one of its ends
}

// read cuts a specification into lines. Criteria stand below headings like "Success criteria", up to the next heading that
// is not below that.
func read(spec string) (lines []line) {
	var fence plain.Fence
	level := 0 // of the heading above
	for text := range strings.Lines(spec) {
		l := line{text: strings.TrimRight(text, " \t\r\n")}
		border := fence.Next(l.text)
		if l.fenced = border || fence.Open(); !l.fenced {
			n, title, is := taskfile.Heading(l.text)
			if is && n <= level {
				level = 0
			}
			if is && level == 0 && heading.Get().MatchString(strings.Trim(title, "*_ ")) {
				level = n
				lines = append(lines, l)
				continue
			}
		}
		l.inside = level > 0
		lines = append(lines, l)
	}
	return lines
}

// place is where a criterion stands in a specification.
type place struct {
	first int // its line
	at    int // where its text begins there, before an ID
	last  int // its last line
	body  int // where its text begins, after an ID
	id    string
}

// places finds the criteria: the items of lists that are not below another item, and commands on lines of their own.
func places(lines []line) (list []place) {
	indent := -1 // of the items of the list at hand
	open := false
	for i, l := range lines {
		_, _, isHeading := taskfile.Heading(l.text)
		switch {
		case !l.inside || isHeading && !l.fenced:
			indent, open = -1, false
			continue
		case l.fenced:
			if open {
				list[len(list)-1].last = i
			}
			continue
		}
		p := place{first: i, last: i}
		m := item.Get().FindStringSubmatch(l.text)
		if m == nil { // below another item, but with an ID of its own
			if deep := nested.Get().FindStringSubmatch(l.text); deep != nil && named.Get().MatchString(deep[3]) {
				m = deep
			}
		}
		outer := m != nil && (indent < 0 || len(m[1]) <= indent)
		switch {
		case outer, m != nil && named.Get().MatchString(m[3]):
			if outer {
				indent = len(m[1])
			}
			p.at = len(m[1]) + len(m[2])
		case m == nil && strings.TrimSpace(l.text) != "" && !strings.HasPrefix(l.text, " ") && isCommandLine(l.text):
			indent = -1
		default:
			inItem := strings.HasPrefix(l.text, " ") || strings.TrimSpace(lines[i-1].text) != "" && !lines[i-1].fenced
			if open = open && (l.text == "" || inItem); open && l.text != "" {
				list[len(list)-1].last = i
			}
			continue
		}
		open, p.body = true, p.at
		if m := named.Get().FindStringSubmatch(l.text[p.at:]); m != nil {
			p.id, p.body = strings.ToUpper(m[1]+m[2]+m[3]), p.at+len(m[0])
		}
		list = append(list, p)
	}
	return list
}

// Criteria lists the criteria of a specification, in order.
func Criteria(spec string) (list []Criterion) {
	lines := read(spec)
	seen := map[string]bool{}
	for _, p := range places(lines) {
		c := Criterion{Commands: commandsOf(lines, p)}
		if c.ID = p.id; seen[p.id] {
			c.ID, c.Taken = "", p.id
		}
		seen[p.id] = true
		words := strings.Fields(lines[p.first].text[p.body:])
		for _, l := range lines[p.first+1 : p.last+1] {
			words = append(words, strings.Fields(l.text)...)
		}
		c.Text = strings.Join(words, " ")
		list = append(list, c)
	}
	return list
}

// IDs are those that criteria have.
func IDs(list []Criterion) (ids []string) {
	for _, c := range list {
		if c.ID != "" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Number gives an ID to every criterion that has none: the one that it had in the specification before, if it says the same, else a
// new one. One that was ever used is not used again: taken are those that are known from elsewhere. All else in the text stays as it is.
func Number(spec string, before []Criterion, taken ...string) (text string, added []string) {
	lines := read(spec)
	found := places(lines)
	had := map[string]string{} // by text
	for _, c := range before {
		if c.ID != "" && !slices.Contains(ids(found), c.ID) {
			had[c.Text] = c.ID
		}
	}
	now := Criteria(spec)
	last := 0
	for _, id := range slices.Concat(taken, IDs(before), ids(found)) {
		if n, err := strconv.Atoi(strings.TrimPrefix(id, "C")); err == nil {
			last = max(last, n)
		}
	}
	give := map[int]place{}
	seen := map[string]bool{}
	for i, p := range found {
		if p.id == "" || seen[p.id] {
			p.id = had[now[i].Text]
			delete(had, now[i].Text)
			give[p.first] = p
		}
		seen[p.id] = true
	}
	var b strings.Builder
	number := 0
	for whole := range strings.Lines(spec) {
		if p, is := give[number]; is {
			id := p.id
			if id == "" {
				last++
				id = fmt.Sprintf("C%d", last)
			}
			added = append(added, id)
			whole = whole[:p.at] + id + ": " + whole[p.body:]
		}
		b.WriteString(whole)
		number++
	}
	return b.String(), added
}

func ids(list []place) (ids []string) {
	for _, p := range list {
		if p.id != "" {
			ids = append(ids, p.id)
		}
	}
	return ids
}

// Unknown lists the criteria that a task says it proves and that are none of these.
func Unknown(proves []string, list []Criterion) []string {
	return slices.DeleteFunc(slices.Clone(proves), func(id string) bool {
		return slices.ContainsFunc(list, func(c Criterion) bool { return c.ID == id })
	})
}

// Of are the criteria that a task says it proves.
func Of(t dag.Task, list []Criterion) []Criterion {
	return slices.DeleteFunc(slices.Clone(list), func(c Criterion) bool { return c.ID == "" || !slices.Contains(t.Proves, c.ID) })
}

// Lines are criteria as text, each in a line with its ID.
func Lines(list []Criterion) (lines []string) {
	for _, c := range list {
		lines = append(lines, c.ID+": "+c.Text)
	}
	return lines
}
