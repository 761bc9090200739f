package prompt

// Unfinished returns the question put to an agent that ended its turn without
// saying how the task stands.
func Unfinished(taskID string) string {
	return followUp("unfinished.md.tmpl", taskID)
}

// GoOn returns the request to an agent whose answer was cut off by a limit.
func GoOn(taskID string) string {
	return followUp("goon.md.tmpl", taskID)
}

// Repair returns the request to an agent whose work a gate refused. It shows the
// end of what the gate printed.
func Repair(in RepairInput) string {
	p := page{budget: in.Budget, inert: in.Inert, worker: true}
	return p.render("repair.md.tmpl", view{
		ID:     cleanID(in.TaskID),
		Title:  p.inline(in.Gate, maxTitle),
		Output: p.quote(in.Output.Text, in.Output.From, 100, 0).keepEnd(),
	})
}

func followUp(name, taskID string) string {
	p := page{worker: true}
	return p.render(name, view{ID: cleanID(taskID)})
}
