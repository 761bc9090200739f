package main

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"ralph/dag"
)

func TestEverySettingOfATaskHasAFlag(t *testing.T) {
	t.Parallel()
	for _, f := range reflect.VisibleFields(reflect.TypeFor[dag.Edit]()) {
		name := flagName(f.Name)
		has := func(flag flagSpec) bool { return flag.name == name || flag.name == strings.TrimSuffix(name, "s") }
		if f.Name != "Title" && !slices.ContainsFunc(taskFields(""), has) {
			t.Errorf("task add and task update have no --%s", name)
		}
	}
}
