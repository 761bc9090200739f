package dag_test

import (
	"fmt"
	"strings"
	"testing"

	"ralph/dag"
)

func TestALongCycleIsToldInAFewWords(t *testing.T) {
	t.Parallel()
	e := &dag.CycleError{}
	for i := range 1000 {
		e.IDs = append(e.IDs, fmt.Sprintf("t-%08d", i))
		e.Steps = append(e.Steps, "waits for")
	}
	e.IDs = append(e.IDs, e.IDs[0])
	got := e.Error()
	want := "t-00000009 ... 989 more ..., which waits for t-00000999, which waits for t-00000000"
	if len(got) > 500 || !strings.HasSuffix(got, want) {
		t.Errorf("got %q, want it to end with %q", got, want)
	}
}
