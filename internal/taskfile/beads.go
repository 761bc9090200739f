package taskfile

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/plain"
)

// readBeads reads an issues.jsonl of beads, or the list that "bd list --json" prints.
func (d *draft) readBeads(data []byte) error {
	made := map[string]time.Time{}
	list, err := d.objects(data, func(o object) (dag.Spec, bool) { return o.bead(made) })
	if err != nil {
		return err
	}
	// IDs are random, and so is the order of the file.
	slices.SortStableFunc(d.specs, func(x, y dag.Spec) int { return made[x.Ref].Compare(made[y.Ref]) })
	d.adoptByName()
	d.listTypes(list)
	for _, o := range list {
		o.loseRest()
	}
	return nil
}

func (o object) bead(made map[string]time.Time) (dag.Spec, bool) {
	s := dag.Spec{Line: o.line, Ref: o.text("id")}
	if s.Ref == "" {
		o.draft.fault(o.line, "no id: this is not an issue of beads")
		return s, false
	}
	status := o.text("status")
	if status == "tombstone" {
		o.draft.lose(o.line, "issues that were deleted")
		clear(o.fields)
		return s, false
	}
	if at, err := time.Parse(time.RFC3339, o.text("created_at")); err == nil {
		made[s.Ref] = at
	}
	s.Title, s.Priority, s.Tags = o.text("title"), o.priority(), o.labels()
	s.Description = paragraphs(
		o.text("description"), section("Design", o.text("design")),
		section("Acceptance criteria", bulletsUnlessOne(o.texts("acceptance_criteria"))),
		section("Notes", o.text("notes")), origin(s.Ref, o.text("external_ref")),
	)
	switch status {
	case "", "open":
	case "closed":
		s.Status = dag.Done
	case "blocked", "deferred":
		s.Status = dag.Blocked
		if status == "deferred" {
			o.draft.lose(o.line, "status deferred: it is blocked until somebody unblocks it")
		}
	default:
		o.draft.lose(o.line, "status %s: it is pending", status)
	}
	o.dependencies(&s)
	o.forget("content_hash", "source_repo", "updated_at", "closed_at", "dependency_count", "dependent_count", "comment_count")
	return s, true
}

// dependencies takes the relations that a graph has.
func (o object) dependencies(s *dag.Spec) {
	raw := o.take("dependencies")
	var list []json.RawMessage
	if raw != nil && json.Unmarshal(raw, &list) != nil {
		o.draft.fault(o.line, "dependencies is %s, not a list", kindOf(raw))
		return
	}
	for _, item := range list {
		dep, ok := o.draft.object(o.line, item)
		if !ok {
			continue
		}
		kind, on, of := dep.text("type"), dep.text("depends_on_id"), dep.text("issue_id")
		switch {
		case on == "":
			o.draft.fault(o.line, "a dependency without depends_on_id")
		case of != "" && of != s.Ref:
			o.draft.lose(o.line, "a dependency of %s, which is another issue", of)
		case kind == "blocks" || kind == "":
			s.After = append(s.After, on)
		case kind == "parent-child" && s.Parent == "":
			s.Parent = on
		case kind == "parent-child":
			o.draft.lose(o.line, "a second parent")
		case (kind == "related" || kind == "relates-to" || kind == "discovered-from") && on != s.Ref:
			s.Related = append(s.Related, on)
		default:
			o.draft.lose(o.line, "dependencies of type %s", plain.Cut(kind, 40))
		}
	}
}

// adoptByName gives an issue whose ID continues another's, bd-7.2, to that one.
func (d *draft) adoptByName() {
	byRef := d.byRef()
	for i := range d.specs {
		s := &d.specs[i]
		dot := strings.LastIndexByte(s.Ref, '.')
		if s.Parent != "" || dot < 0 {
			continue
		}
		if _, ok := byRef[s.Ref[:dot]]; ok {
			s.Parent = s.Ref[:dot]
		}
	}
}

// listTypes notes the types of issues, but not that of those which became groups.
func (d *draft) listTypes(list []object) {
	groups := map[string]bool{}
	line := map[int]string{}
	for _, s := range d.specs {
		groups[s.Parent] = true
		line[s.Line] = s.Ref
	}
	for _, o := range list {
		switch kind := o.text("issue_type"); {
		case kind == "" || kind == "task" || kind == "epic" && groups[line[o.line]]:
		default:
			d.lose(o.line, "issue_type %s", plain.Cut(kind, 40))
		}
	}
}

// bulletsUnlessOne leaves a text that has its own lines as it is.
func bulletsUnlessOne(list []string) string {
	if len(list) == 1 {
		return list[0]
	}
	return bullets(list)
}
