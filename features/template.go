package features

import (
	"context"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/lazyregexp"
	"ralph/internal/plain"
)

// Template names one, with values for its inputs.
type Template struct {
	Name string
	Vars []string // NAME=VALUE
}

var templateLine = lazyregexp.New(`^Template:[ \t]*([A-Za-z0-9][A-Za-z0-9_-]*)[ \t]*(?:;(.*))?$`)

// chosenTemplate is what a plan says on a line of its own, outside of code: Template: NAME; input = value; input = value.
func chosenTemplate(plan string) (t Template) {
	var fence plain.Fence
	for line := range strings.Lines(plan) {
		if fence.Next(line) || fence.Open() {
			continue
		}
		m := templateLine.Get().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		t.Name = m[1]
		for value := range strings.SplitSeq(m[2], ";") {
			if name, value, ok := strings.Cut(value, "="); ok {
				t.Vars = append(t.Vars, strings.TrimSpace(name)+"="+strings.TrimSpace(value))
			}
		}
		return t
	}
	return t
}

// fromTemplate proposes the tasks of a template. No agent is asked.
func (b *builder) fromTemplate(ctx context.Context) (*Proposal, error) {
	t := b.wish.Template
	b.Note("tasks: from the template %s", t.Name)
	specs, err := b.Expand(ctx, t, b.wish.Mode == Append)
	if err != nil {
		return nil, err
	}
	if len(specs) == 0 {
		return nil, fmt.Errorf("%w: the feature has all tasks of the template %s", dag.ErrRefused, t.Name)
	}
	return b.save(ctx, specs, nil)
}
