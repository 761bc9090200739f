package main

import (
	"fmt"
	"strings"
)

// row is a race that is over.
type row struct {
	contestant, plan string
	score
}

// table is Markdown: a row a race, and one for all races of a contestant.
func table(rows []row) string {
	var b strings.Builder
	b.WriteString("| contestant | plan | false dones | not done | lost work | survivors | wasted calls | human actions |\n|---|---|---|---|---|---|---|---|\n")
	for i, r := range rows {
		b.WriteString(r.line(r.plan))
		if i == len(rows)-1 || rows[i+1].contestant != r.contestant {
			b.WriteString(sum(rows, r.contestant).line("**all**"))
		}
	}
	return b.String()
}

func (r row) line(plan string) string {
	survivors, wasted := "n/a", fmt.Sprint(r.wasted)
	if r.killed {
		survivors = fmt.Sprint(r.survivors)
	}
	if r.checks > 0 {
		wasted += fmt.Sprintf(" (%d verify)", r.checks)
	}
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %s | %s | %d |\n", r.contestant, plan, r.falseDone, r.notDone, r.lost, survivors, wasted, r.actions)
}

// sum adds the races of a contestant up.
func sum(rows []row, name string) row {
	all := row{contestant: name}
	for _, r := range rows {
		if r.contestant != name {
			continue
		}
		all.falseDone += r.falseDone
		all.notDone += r.notDone
		all.lost += r.lost
		all.survivors += r.survivors
		all.wasted += r.wasted
		all.checks += r.checks
		all.actions += r.actions
		all.killed = all.killed || r.killed
	}
	return all
}
