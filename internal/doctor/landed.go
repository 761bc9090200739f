package doctor

import (
	"context"
	"fmt"
	"strings"

	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/loop/land"
)

// Landed checks whether the work of tasks that are done is where it landed: a branch may have been rewritten, or never pushed.
func (p Project) Landed(ctx context.Context) []Finding {
	const check = "landed work"
	if p.Store == nil {
		return nil
	}
	lost, known, err := land.Lost(ctx, p.Store, p.Root)
	var details []string
	for _, l := range lost {
		for i, task := range l.Tasks {
			details = append(details, fmt.Sprintf("%s: %.10s is not on %s", task, l.Commits[i], human.Branch(l.Target)))
		}
	}
	switch {
	case err != nil:
		return []Finding{New(check, Warning, "cannot be looked for: "+err.Error(), "")}
	case known == 0:
		return nil
	case len(lost) > 0:
		return []Finding{New(check, Warning, fmt.Sprintf("the work of %s is not on its branch any more", human.Count(len(details), "task")),
			strings.Join(seq.Map(lost, func(l land.LostWork) string { return l.Help }), "; "), details...)}
	}
	return []Finding{New(check, OK, human.Count(known, "task")+" on their branches", "")}
}
