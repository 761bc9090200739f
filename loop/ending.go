package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
)

// blocked ends a run that can do nothing more, unless other runs work on what remains: their tasks are waited for.
func (c *claimer) blocked(ctx context.Context, tally dag.Tally, elsewhere []dag.Merge) (look, error) {
	reason := fmt.Sprintf("%d of %d tasks remain, and none of them can run", countsOf(tally).Remaining, tally.Total())
	if countsOf(tally).Remaining == 0 {
		n := tally.OpenGroups()
		reason = fmt.Sprintf("all tasks are finished, but %s %s still blocked", human.Count(n, "group"), isAre(n))
	}
	others := tally.ByStatus[dag.InProgress]
	if others > 0 { // whoever has them may have died
		if n, err := c.reclaim(ctx); err != nil || n > 0 {
			return look{again: true}, err
		}
	}
	var held []dag.Merge
	var leaving map[string]string
	var holders []string
	var now dag.Tally
	err := c.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) {
		now, _ = g.Tasks.Tally(c.opts.Graph.Scope) // the first error of the database is that of all that follow
		held, _ = g.Queue.ToReview()
		leaving, _ = g.Queue.Leaving()
		holders, err = c.holders(g)
		return err
	})
	if err != nil {
		return look{}, err
	}
	if !reflect.DeepEqual(now, tally) { // another run gave something back, or a person changed something
		return look{again: true}, nil
	}
	if len(holders) > 0 {
		return c.await(ctx, fmt.Sprintf("another run works on %d of %d tasks: %s", others, tally.Total(), strings.Join(holders, ", ")))
	}
	skipped, keptBack := c.ledger.held()
	if len(skipped) > 0 {
		reason += "; finished but not verified, because project files kept changing: " + strings.Join(skipped, ", ")
	}
	if len(keptBack) > 0 {
		reason += "; kept back by hooks on task.before: " + human.Few(keptBack)
	}
	if len(held) > 0 {
		reason += fmt.Sprintf("; %d to review: ralph review", len(held))
	}
	switch tally.Asks {
	case 0:
	case 1:
		reason += "; 1 waits for an answer: ralph inbox"
	default:
		reason += fmt.Sprintf("; %d wait for an answer: ralph inbox", tally.Asks)
	}
	reason += human.Lead("; ", onOtherBranches(elsewhere))
	if len(leaving) > 0 { // whoever is to stop an agent may have died
		_, err := c.reclaim(ctx)
		return look{until: c.soon()}, err
	}
	return look{end: ending{kind: event.OutcomeBlocked, reason: reason}}, nil
}

// onOtherBranches says on which branches finished work lands, and how.
func onOtherBranches(finished []dag.Merge) string {
	tasks := map[string][]string{}
	for _, m := range finished {
		tasks[m.Target] = append(tasks[m.Target], m.Task)
	}
	var parts []string
	for _, target := range slices.Sorted(maps.Keys(tasks)) {
		parts = append(parts, fmt.Sprintf("%s: finished, lands %s with: %s", human.Few(tasks[target]), human.On(target), human.MergeCommand(target)))
	}
	return strings.Join(parts, "; ")
}

// merged ends a run that was only to land what is finished.
func (c *claimer) merged(elsewhere []dag.Merge) ending {
	_, tasks := c.ledger.resolved()
	var left []string
	for _, t := range tasks {
		if t.Status == dag.Pending {
			left = append(left, t.ID)
		}
	}
	if len(left) > 0 {
		return ending{kind: event.OutcomeBlocked, reason: "the next run gives these to an agent: " + human.Few(left)}
	}
	return ending{kind: event.OutcomeComplete, reason: onOtherBranches(elsewhere)}
}

// holders are the other runs that have claimed tasks in scope.
func (c *claimer) holders(g *dag.Graph) (runs []string, err error) {
	scope := c.opts.Graph.Scope
	tasks, err := g.Tasks.List(dag.Filter{Statuses: []dag.Status{dag.InProgress}, Feature: scope.Feature})
	if scope.Task != "" || scope.Tag != "" {
		tasks, err = g.Tasks.In(scope)
	}
	for _, t := range tasks {
		if t.Owner == "" {
			continue
		}
		run, oerr := g.History.Owner(t.Owner)
		if err = errors.Join(err, oerr); run.ID != c.run.ID && !slices.Contains(runs, run.ID) {
			runs = append(runs, run.ID)
		}
	}
	return runs, err
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// resolved says whether there is anything left to do.
func resolved(t dag.Tally, running int) ending {
	c := countsOf(t)
	switch {
	case t.Total() == 0:
		return ending{kind: event.OutcomeNoPlan, reason: "there is no task in scope"}
	case c.Remaining > 0 || running > 0 || t.OpenGroups() > 0: // blocked speaks of groups
		return ending{}
	case c.Failed > 0:
		return ending{kind: event.OutcomeComplete, reason: fmt.Sprintf("%d of %d tasks failed", c.Failed, c.Total)}
	default:
		return ending{kind: event.OutcomeComplete}
	}
}
