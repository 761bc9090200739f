package main

import (
	"slices"
	"testing"

	"ralph/dag"
	"ralph/internal/cli"
)

func TestEverySettingOfATaskHasAFlag(t *testing.T) {
	t.Parallel()
	root := newApp(cli.System{}).Root
	add, _ := commandNamed(root, []string{"task", "add"})
	update, _ := commandNamed(root, []string{"task", "update"})
	for _, f := range dag.Fields {
		has := func(flag cli.Flag) bool { return flag.Name == f.Flag && flag.Usage != "" }
		if f.Name != "title" && !slices.ContainsFunc(add.Flags, has) || !slices.ContainsFunc(update.Flags, has) {
			t.Errorf("task add and task update have no --%s", f.Flag)
		}
	}
}
