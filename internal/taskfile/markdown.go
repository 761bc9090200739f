package taskfile

import (
	"bytes"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/plain"
)

const maxNested = 100

// checklist reads Markdown line by line. A list item with a box is a task, what is
// indented below it belongs to it, and a heading above tasks is their group.
type checklist struct {
	*draft
	texts    [][]string // descriptions, by spec
	items    []openItem
	headings []heading
	para     []textLine // outside of items; a line below may make it a heading
	gap      bool       // a blank line came since the last text of an item
	block    block
}

type openItem struct {
	spec    int
	marker  int // columns before the marker
	content int // columns before the text
}

type heading struct {
	level int
	title string
	line  int
	spec  int // -1 until a task stands below it
	text  []textLine
}

type textLine struct {
	number int
	text   string
}

func (d *draft) readMarkdown(data []byte) error {
	c := &checklist{draft: d}
	c.given = map[string]bool{}
	number := 0
	skip := frontMatter(data)
	for raw := range bytes.Lines(data) {
		number++
		if number <= skip {
			continue
		}
		indent, rest := columns(strings.TrimRight(string(raw), "\r\n"))
		if err := c.line(number, indent, rest); err != nil {
			return err
		}
	}
	if skip > 0 {
		c.lose(1, "front matter")
	}
	if c.block.open() && !c.block.inItem {
		return dag.PlanError{{Line: c.block.line, Err: fmt.Errorf("the %s that begins here does not end", c.block.name())}}
	}
	c.flush()
	for _, h := range c.headings {
		c.closeHeading(h)
	}
	for i, text := range c.texts {
		c.specs[i].Description = strings.Trim(strings.Join(text, "\n"), "\n")
	}
	c.dropTitles()
	return nil
}

func (c *checklist) line(number, indent int, rest string) error {
	if c.block.open() {
		if rest == "" || !c.block.inItem || indent >= c.block.content {
			c.text(number, indent, rest)
			if c.block.next(rest); !c.block.open() && len(c.items) == 0 {
				c.flush() // code is never the text of a heading
			}
			return nil
		}
		c.block = block{} // the item ended, and the block with it
	}
	if rest == "" {
		c.blank()
		return nil
	}
	if b, ok := parseBox(rest); ok {
		return c.task(number, indent, b)
	}
	if level, title, ok := Heading(rest); ok && indent < 4 && !c.inside(indent) {
		c.heading(number, level, title)
		return nil
	}
	if level := underline(rest); level > 0 && len(c.para) == 1 && indent < 4 && !isBullet(strings.TrimSpace(c.para[0].text)) {
		above := c.para[0]
		c.para = nil
		c.heading(above.number, level, strings.TrimSpace(above.text))
		return nil
	}
	c.text(number, indent, rest)
	if c.block.begin(number, rest) && len(c.items) > 0 {
		top := c.items[len(c.items)-1]
		c.block.inItem, c.block.content = indent >= top.marker+2, top.marker+2
	}
	return nil
}

// inside says that a line with that indentation belongs to the last item.
func (c *checklist) inside(indent int) bool {
	return len(c.items) > 0 && indent >= c.items[len(c.items)-1].marker+2
}

func (c *checklist) task(number, indent int, b box) error {
	c.flush()
	for len(c.items) > 0 && indent < c.items[len(c.items)-1].marker+2 {
		c.items = c.items[:len(c.items)-1]
	}
	if len(c.items) == maxNested {
		return dag.PlanError{{Line: number, Err: fmt.Errorf("nested more than %d deep", maxNested)}}
	}
	s := dag.Spec{Line: number, Ref: lineRef(number), Detail: dag.Detail{Title: b.title}}
	switch b.mark {
	case " ", "":
	case "x", "X":
		s.Status = dag.Done
	case "~":
		s.Status = dag.Cancelled
	default:
		s.Status = dag.Blocked
		c.lose(number, "the box [%s]: it is blocked until somebody unblocks it", b.mark)
	}
	if len(c.items) > 0 {
		s.Parent = c.specs[c.items[len(c.items)-1].spec].Ref
	} else if parent, err := c.group(); err != nil {
		return err
	} else if parent >= 0 {
		s.Parent = c.specs[parent].Ref
	}
	if err := c.add(s); err != nil {
		return err
	}
	c.texts = append(c.texts, nil)
	c.items = append(c.items, openItem{spec: len(c.specs) - 1, marker: indent, content: indent + b.width})
	c.gap = false
	return nil
}

// text gives a line to the item that it stands in, or to nobody.
func (c *checklist) text(number, indent int, rest string) {
	if rest == "" {
		c.blank()
		return
	}
	lazy := !c.gap && len(c.para) == 0 && !isBullet(rest)
	if c.block.open() {
		lazy = c.block.lazy
	}
	for len(c.items) > 0 && !c.inside(indent) && !lazy {
		c.items = c.items[:len(c.items)-1]
	}
	if len(c.items) == 0 {
		c.para = append(c.para, textLine{number, strings.Repeat(" ", indent) + rest})
		return
	}
	top := c.items[len(c.items)-1]
	c.texts[top.spec] = append(c.texts[top.spec], strings.Repeat(" ", max(indent-top.content, 0))+rest)
	c.gap = false
	c.block.lazy = lazy
}

func (c *checklist) blank() {
	c.gap = true
	if len(c.items) > 0 {
		top := c.items[len(c.items)-1].spec
		if n := len(c.texts[top]); n > 0 {
			c.texts[top] = append(c.texts[top], "")
		}
		return
	}
	if len(c.para) > 0 && c.block.open() {
		c.para = append(c.para, textLine{c.para[len(c.para)-1].number, ""})
		return
	}
	c.flush()
}

// flush gives text that stands outside of items to the heading above it.
func (c *checklist) flush() {
	for _, l := range c.para {
		if strings.TrimSpace(l.text) == "" || isBreak(l.text) {
			continue
		}
		if n := len(c.headings); n > 0 {
			c.headings[n-1].text = append(c.headings[n-1].text, l)
		} else {
			c.lose(l.number, "text outside of tasks")
		}
	}
	if n := len(c.headings); n > 0 && len(c.para) > 0 {
		c.headings[n-1].text = append(c.headings[n-1].text, textLine{})
	}
	c.para = nil
}

func (c *checklist) heading(number, level int, title string) {
	c.flush()
	c.items, c.gap = nil, true
	for len(c.headings) > 0 && c.headings[len(c.headings)-1].level >= level {
		c.closeHeading(c.headings[len(c.headings)-1])
		c.headings = c.headings[:len(c.headings)-1]
	}
	if title != "" {
		c.headings = append(c.headings, heading{level: level, title: title, line: number, spec: -1})
	}
}

// group returns the task that stands for the headings above a line, making it if
// this is the first task below them, or -1.
func (c *checklist) group() (int, error) {
	parent := -1
	for i := range c.headings {
		h := &c.headings[i]
		if h.spec < 0 {
			s := dag.Spec{Line: h.line, Ref: lineRef(h.line), Detail: dag.Detail{Title: h.title}}
			if parent >= 0 {
				s.Parent = c.specs[parent].Ref
			}
			if err := c.add(s); err != nil {
				return 0, err
			}
			c.texts = append(c.texts, nil)
			h.spec = len(c.specs) - 1
			c.given[s.Ref] = true
		}
		parent = h.spec
	}
	return parent, nil
}

// closeHeading describes a group by the text below its heading.
func (c *checklist) closeHeading(h heading) {
	for _, l := range h.text {
		switch {
		case h.spec >= 0:
			c.texts[h.spec] = append(c.texts[h.spec], l.text)
		case l.number > 0:
			c.lose(l.number, "text outside of tasks")
		}
	}
}

// dropTitles leaves out headings that stand above everything: a group of all
// tasks says nothing.
func (c *checklist) dropTitles() {
	for len(c.specs) > 0 && c.given[c.specs[0].Ref] {
		root := c.specs[0]
		for _, s := range c.specs[1:] {
			if s.Parent == "" {
				return
			}
		}
		c.lose(root.Line, "the title %s", plain.Cut(root.Title, 60))
		if root.Description != "" {
			c.lose(root.Line, "the text below the title")
		}
		c.specs = c.specs[1:]
		for i := range c.specs {
			if c.specs[i].Parent == root.Ref {
				c.specs[i].Parent = ""
			}
		}
	}
}

// Heading reads "## Title", with or without hashes at the end.
func Heading(rest string) (level int, title string, ok bool) {
	text := strings.TrimLeft(rest, "#")
	level = len(rest) - len(text)
	if level < 1 || level > 6 || text != "" && text[0] != ' ' && text[0] != '\t' {
		return 0, "", false
	}
	text = strings.TrimSpace(text)
	if short := strings.TrimRight(text, "#"); short == "" || strings.HasSuffix(short, " ") {
		text = strings.TrimSpace(short)
	}
	return level, text, true
}

// underline says that a line makes the text above it a heading, and of which level.
func underline(rest string) int {
	rest = strings.TrimRight(rest, " \t")
	switch {
	case len(rest) > 1 && strings.Trim(rest, "=") == "":
		return 1
	case len(rest) > 1 && strings.Trim(rest, "-") == "":
		return 2
	default:
		return 0
	}
}
