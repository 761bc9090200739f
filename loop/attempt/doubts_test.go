package attempt

import (
	"testing"

	"ralph/dag"
	"ralph/internal/git"
	"ralph/internal/testing/check"
)

func TestAFileThatIsMovedInFromOutsideIsChangedThere(t *testing.T) {
	t.Parallel()
	task := dag.Task{Detail: dag.Detail{MayChange: []string{"tests"}}}
	changes := []git.Change{{Path: "tests/a.txt", Old: "../a.txt", Kind: git.Renamed}, {Path: "../b.txt"}, {Path: "c.txt", Old: "d.txt"}}
	check.Equal(t, "outside", []string{"../a.txt", "../b.txt"}, leavesOutside(task, changes))
}
