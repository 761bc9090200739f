package taskfile

import (
	"strings"

	"ralph/dag"
)

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
			s := dag.Spec{Line: h.line, Ref: lineRef(h.line), Title: h.title}
			if parent >= 0 {
				s.Parent = c.specs[parent].Ref
			}
			if err := c.add(s); err != nil {
				return 0, err
			}
			c.texts = append(c.texts, nil)
			h.spec = len(c.specs) - 1
			c.given[h.spec] = true
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
	for len(c.specs) > 0 && c.given[0] {
		root := c.specs[0]
		for _, s := range c.specs[1:] {
			if s.Parent == "" {
				return
			}
		}
		c.lose(root.Line, "the title %s", cut(root.Title, 60))
		if root.Description != "" {
			c.lose(root.Line, "the text below the title")
		}
		c.specs = c.specs[1:]
		for i := range c.specs {
			if c.specs[i].Parent == root.Ref {
				c.specs[i].Parent = ""
			}
		}
		given := map[int]bool{}
		for i := range c.given {
			given[i-1] = true
		}
		c.given = given
	}
}

// parseHeading reads "## Title", with or without hashes at the end.
func parseHeading(rest string) (level int, title string, ok bool) {
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
