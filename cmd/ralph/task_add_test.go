package main

import (
	"slices"
	"testing"

	"ralph/dag"
)

func TestEverySettingOfATaskHasAFlag(t *testing.T) {
	t.Parallel()
	for _, f := range dag.Fields {
		has := func(flag flagSpec) bool { return flag.name == f.Flag && flag.usage != "" }
		if f.Name != "title" && !slices.ContainsFunc(taskAddCommand.flags, has) || !slices.ContainsFunc(taskUpdateCommand.flags, has) {
			t.Errorf("task add and task update have no --%s", f.Flag)
		}
	}
}
