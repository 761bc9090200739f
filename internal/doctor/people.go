package doctor

import (
	"context"
	"fmt"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/project"
)

// People checks what people configured for agents at work, and what they are asked.
func (p Project) People(c project.Config) func(context.Context) []Finding {
	return func(ctx context.Context) (found []Finding) {
		if n := len(c.Hooks); n > 0 {
			var broken []string
			for _, h := range c.Hooks {
				for _, why := range h.Hook().Broken(p.Root) {
					broken = append(broken, fmt.Sprintf("%s: %s", h.Hook(), why))
				}
			}
			found = append(found, listed("hooks", human.Count(n, "hook"), "correct [[hooks]], or put the files there", broken))
		}
		if rules := c.Permissions; len(rules.Deny)+len(rules.Ask)+len(rules.Allow) > 0 {
			text := human.Count(len(rules.Deny)+len(rules.Ask)+len(rules.Allow), "rule")
			found = append(found, listed("permissions", text, "correct [permissions]; to try a call: ralph permissions check KIND TEXT", rules.Lists().Doubtful()))
		}
		if p.Store == nil {
			return found
		}
		var open []inbox.Request
		err := p.Store.View(ctx, func(g *dag.Graph) (err error) { open, err = inbox.Waiting(g); return err })
		switch {
		case err != nil:
			found = append(found, New("inbox", Problem, err.Error(), p.Hint(err)))
		case len(open) > 0:
			text := fmt.Sprintf("%s open; the oldest, %s, since %s", human.Count(len(open), "question"), open[0].ID, open[0].At.Local().Format("2006-01-02 15:04"))
			found = append(found, New("inbox", Warning, text, "answer with: ralph inbox"))
		}
		return found
	}
}

// listed is a warning about what was found, or that all is well.
func listed(check, text, fix string, found []string) Finding {
	if len(found) == 0 {
		return New(check, OK, text, "")
	}
	return New(check, Warning, text, fix, found...)
}
