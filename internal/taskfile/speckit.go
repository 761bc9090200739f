package taskfile

import (
	"cmp"

	"ralph/dag"
	"ralph/internal/lazyregexp"
)

// stepPattern is a task of spec-kit: its number, whether it may run beside others, the user story that it belongs to.
var stepPattern = lazyregexp.New(`^\**(T\d{3,})\**:?\s+(\[P\]\s*)?(?:\[(US\d+)\]\s*)?(\[P\]\s*)?(.+)$`)

// step is what the title of a task of spec-kit says beside the work.
type step struct {
	spec     *dag.Spec
	beside   bool
	story    string
	numbered string
}

// readSpecKit reads a tasks.md of spec-kit: a checklist whose phases are headings. A task without [P] waits for all that stand
// before it in its phase, and one with [P] for the last without. A phase waits for the one before it, but those of user stories
// wait for the last phase that belongs to no story, so that stories can be worked on side by side.
func (d *draft) readSpecKit(data []byte) error {
	if err := d.readMarkdown(data); err != nil {
		return err
	}
	names, phases, order := map[string]string{}, map[string][]step{}, []string{}
	phaseOf := map[string]string{} // the topmost heading above, for headings and for what stands below them
	for i := range d.specs {
		s := &d.specs[i]
		phase := phaseOf[s.Parent]
		if d.given[s.Ref] {
			phaseOf[s.Ref] = cmp.Or(phase, s.Ref)
		}
		m := stepPattern.Get().FindStringSubmatch(s.Title)
		if m == nil {
			continue
		}
		names[s.Ref] = m[1]
		if _, known := phases[phase]; !known {
			order = append(order, phase)
		}
		phases[phase] = append(phases[phase], step{spec: s, beside: m[2]+m[4] != "", story: m[3], numbered: m[1]})
		s.Title = m[5]
		s.Description = paragraphs(s.Description, origin(m[1], ""))
	}
	for i := range d.specs {
		s := &d.specs[i]
		if name, ok := names[s.Ref]; ok {
			s.Ref = name
		}
		if name, ok := names[s.Parent]; ok {
			s.Parent = name
		}
	}
	for _, phase := range order {
		orderSteps(phases[phase])
	}
	d.orderPhases(order, phases)
	return nil
}

func orderSteps(steps []step) {
	last := "" // without [P]
	var since []string
	for _, s := range steps {
		switch {
		case s.beside && last != "":
			s.spec.After = append(s.spec.After, last)
		case !s.beside && len(since) > 0:
			s.spec.After = append(s.spec.After, since...)
		case !s.beside && last != "":
			s.spec.After = append(s.spec.After, last)
		}
		if s.beside {
			since = append(since, s.numbered)
		} else {
			last, since = s.numbered, nil
		}
	}
}

// orderPhases lets phases wait for those before them.
func (d *draft) orderPhases(order []string, phases map[string][]step) {
	groups := map[string]*dag.Spec{}
	for i := range d.specs {
		groups[d.specs[i].Ref] = &d.specs[i]
	}
	common, stories := "", []string(nil) // the last phase of no story, and those of stories since
	for _, ref := range order {
		group := groups[ref]
		if group == nil {
			continue // tasks above all headings
		}
		story := ownStory(phases[ref])
		switch {
		case story || len(stories) == 0:
			if common != "" {
				group.After = append(group.After, common)
			}
		default:
			group.After = append(group.After, stories...)
		}
		if story {
			stories = append(stories, ref)
		} else {
			common, stories = ref, nil
		}
	}
}

// ownStory says that all tasks of a phase belong to one user story.
func ownStory(steps []step) bool {
	for _, s := range steps {
		if s.story == "" || s.story != steps[0].story {
			return false
		}
	}
	return true
}
