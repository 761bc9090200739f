package prompt

import "strings"

// Unfinished returns the question put to an agent that ended its turn without
// saying how the task stands.
func Unfinished(taskID string) string { return followUp("unfinished.md.tmpl", taskID) }

// GoOn returns the request to an agent whose answer was cut off by a limit.
func GoOn(taskID string) string { return followUp("goon.md.tmpl", taskID) }

// Repair returns the request to an agent whose work a gate refused. It shows the
// end of what the gate printed.
func Repair(in RepairInput) string {
	p := page{budget: in.Budget, worker: true}
	return p.render("repair.md.tmpl", view{
		ID:     cleanID(in.TaskID),
		Title:  p.inline(in.Gate, maxTitle),
		Output: p.quote(in.Output, 100).keepEnd(),
	})
}

// Drift returns the request to an agent that makes no progress. The signs of that are
// sentences of ralph's own, but they may name what the agent called.
func Drift(taskID string, signs []string) string {
	p := page{worker: true}
	q := p.quoteOr(strings.Join(signs, "\n"), "nothing comes of it", "ralph's records")
	return p.render("drift.md.tmpl", view{ID: cleanID(taskID), Output: q})
}

func followUp(name, taskID string) string {
	return (&page{worker: true}).render(name, view{ID: cleanID(taskID)})
}
