package dag_test

import (
	"errors"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestImportRefusesACycleThatLeadsThroughTasksThatExist(t *testing.T) {
	t.Parallel()
	tests := map[string][]dag.Spec{
		"through two parents of which one waits for the other": {
			{Line: 1, Ref: "one", Detail: dag.Detail{Title: "one"}, Parent: "late"},
			{Line: 2, Ref: "two", Detail: dag.Detail{Title: "two"}, Parent: "early", After: []string{"one"}},
		},
		"a child that waits for its own parent":           {{Line: 1, Detail: dag.Detail{Title: "x"}, Parent: "early", After: []string{"early"}}},
		"a child that waits for its grandparent":          {{Line: 1, Detail: dag.Detail{Title: "x"}, Parent: "inner", After: []string{"early"}}},
		"a child of a blocker that waits for the blocked": {{Line: 1, Detail: dag.Detail{Title: "x"}, Parent: "early", After: []string{"late"}}},
		"a child that waits for a child of the blocked":   {{Line: 1, Detail: dag.Detail{Title: "x"}, Parent: "early", After: []string{"leaf"}}},
		"two of the plan that wait for each other": {
			{Line: 1, Ref: "a", Detail: dag.Detail{Title: "a"}, After: []string{"b"}}, {Line: 2, Ref: "b", Detail: dag.Detail{Title: "b"}, After: []string{"a"}},
		},
		"its own blocker":     {{Line: 1, Ref: "a", Detail: dag.Detail{Title: "a"}, After: []string{"a"}}},
		"its own parent":      {{Line: 1, Ref: "a", Detail: dag.Detail{Title: "a"}, Parent: "a"}},
		"parents in a circle": {{Line: 1, Ref: "a", Detail: dag.Detail{Title: "a"}, Parent: "b"}, {Line: 2, Ref: "b", Detail: dag.Detail{Title: "b"}, Parent: "a"}},
	}
	for name, specs := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("early", "inner in early", "late after early", "leaf in late")
			for i := range specs {
				specs[i].Parent = w.id(specs[i].Parent)
				for j, name := range specs[i].After {
					specs[i].After[j] = w.id(name)
				}
			}
			closedCycle(t, w.refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err }))
		})
	}
}

func TestImportTellsEveryFaultInTheOrderOfLines(t *testing.T) {
	t.Parallel()
	negative := -1
	specs := []dag.Spec{
		{Line: 1, Ref: "a", Detail: dag.Detail{Title: "a"}, Parent: "nobody"},
		{Line: 2, Ref: "b", Detail: dag.Detail{Title: " "}},
		{Line: 3, Ref: "c", Detail: dag.Detail{Title: "c"}, After: []string{"t-00000000", "a"}},
		{Line: 4, Ref: "a", Detail: dag.Detail{Title: "again"}},
		{Line: 5, Detail: dag.Detail{Title: "d", Kind: "game"}},
		{Line: 6, Detail: dag.Detail{Title: "e"}, Status: "lost"},
		{Line: 7, Detail: dag.Detail{Title: "f"}, Verification: "maybe"},
		{Line: 8, Detail: dag.Detail{Title: "g", MaxRetries: &negative}},
		{Line: 9, Detail: dag.Detail{Title: "h"}, Retries: -1},
		{Line: 10, Detail: dag.Detail{Title: "i"}, Feature: "../etc"},
		{Line: 11, Detail: dag.Detail{Title: "j", Gates: []string{""}}},
		{Line: 12, Detail: dag.Detail{Title: "k"}},
	}
	w := newWorld(t)
	err := w.refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
	check.Equal(t, "lines", []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, faultyLines(err))
	check.That(t, strings.HasPrefix(err.Error(), "line 1: ") && strings.HasSuffix(err.Error(), "(and 10 more, line 2, 3, 4, 5, 6, ...)"),
		"got %v, want the first fault and the lines of the next", err)
}

func faultyLines(err error) (lines []int) {
	var plan dag.PlanError
	_ = errors.As(err, &plan)
	for _, fault := range plan {
		lines = append(lines, fault.Line)
	}
	return lines
}

func TestImportRefuses(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		specs []dag.Spec
		line  int
	}{
		"a subtask of a task in progress": {[]dag.Spec{{Line: 3, Detail: dag.Detail{Title: "x"}, Parent: "running"}}, 3},
		"a feature that is not the parent's in the plan": {[]dag.Spec{
			{Line: 1, Ref: "p", Detail: dag.Detail{Title: "p"}, Feature: "one"}, {Line: 2, Detail: dag.Detail{Title: "c"}, Parent: "p", Feature: "two"},
		}, 2},
		"a feature that is not the parent's in the graph": {[]dag.Spec{{Line: 1, Detail: dag.Detail{Title: "c"}, Parent: "group", Feature: "two"}}, 1},
		"a group that is done above a task that is not": {[]dag.Spec{
			{Line: 4, Ref: "p", Detail: dag.Detail{Title: "p"}, Status: dag.Done}, {Line: 5, Detail: dag.Detail{Title: "c"}, Parent: "p"},
		}, 4},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("running", "group feature one", "child in group")
			w.claim("running")
			for i := range test.specs {
				test.specs[i].Parent = w.id(test.specs[i].Parent)
			}
			err := w.refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Plan.Import(test.specs); return err })
			check.Equal(t, "lines", []int{test.line}, faultyLines(err))
		})
	}
}

func TestAnImportedGroupFollowsItsSubtasks(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		group    dag.Status
		children []dag.Status
		want     dag.Status
	}{
		"all are done":                    {"", []dag.Status{dag.Done, dag.Done}, dag.Done},
		"all are done, and it is blocked": {dag.Blocked, []dag.Status{dag.Done, dag.Done}, dag.Blocked},
		"all ended, one failed":           {"", []dag.Status{dag.Done, dag.Failed}, dag.Failed},
		"one failed, one is open":         {"", []dag.Status{dag.InProgress, dag.Failed}, dag.Pending},
	} {
		w := newWorld(t)
		specs := []dag.Spec{{Line: 1, Ref: "t-00000000", Detail: dag.Detail{Title: "group"}, Status: test.group}}
		for i, status := range test.children {
			specs = append(specs, dag.Spec{Line: i + 2, Detail: dag.Detail{Title: "child"}, Parent: "t-00000000", Status: status})
		}
		w.update(func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
		check.Equal(t, name, test.want, w.task("t-00000000").Status)
		w.sound()
	}
}

func TestAddRefusesWhatCannotBeStored(t *testing.T) {
	t.Parallel()
	negative := -1
	tests := map[string]dag.NewTask{
		"an empty title":             {Detail: dag.Detail{Title: " \n"}},
		"a title that is not text":   {Detail: dag.Detail{Title: "\xff"}},
		"a title with NUL":           {Detail: dag.Detail{Title: "a\x00b"}},
		"a title beyond 16 KiB":      {Detail: dag.Detail{Title: strings.Repeat("x", 16<<10+1)}},
		"a description beyond 1 MiB": {Detail: dag.Detail{Title: "x", Description: strings.Repeat("x", 1<<20+1)}},
		"an empty gate":              {Detail: dag.Detail{Title: "x", Gates: []string{" "}}},
		"a gate that is not text":    {Detail: dag.Detail{Title: "x", Gates: []string{"\xff"}}},
		"an unknown kind":            {Detail: dag.Detail{Title: "x", Kind: "game"}},
		"negative retries":           {Detail: dag.Detail{Title: "x", MaxRetries: &negative}},
	}
	for name, nt := range tests {
		t.Run(name, func(t *testing.T) {
			newWorld(t).refused(dag.ErrRefused, func(g *dag.Graph) error { _, err := g.Plan.Add(nt); return err })
		})
	}
}
