package dag_test

import (
	"reflect"
	"testing"

	"ralph/dag"
)

// TestTheSidesOfAGraphStaySmall: whoever looks for a method reads one list, not all.
func TestTheSidesOfAGraphStaySmall(t *testing.T) {
	for side, most := range map[reflect.Type]int{
		reflect.TypeFor[*dag.Graph](): 10, // what belongs to all
		reflect.TypeFor[dag.Tasks]():  80, reflect.TypeFor[dag.Plan](): 80, reflect.TypeFor[dag.Queue](): 80, reflect.TypeFor[dag.History](): 80,
	} {
		if n := side.NumMethod(); n > most {
			t.Errorf("%s has %d exported methods, more than %d", side, n, most)
		}
	}
}
