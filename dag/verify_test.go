package dag_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestVerifyFindsEveryKindOfFault breaks one stored value at a time.
func TestVerifyFindsEveryKindOfFault(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		damage string
		want   string
		mends  bool
	}{
		"a wrong number of children": {`UPDATE tasks SET children = 5 WHERE title = 'group';`, "children is 5 and should be 2", true},
		"a wrong number of blockers": {`UPDATE tasks SET open_deps = 0 WHERE title = 'waiting';`, "open_deps is 0 and should be 1", true},
		"a leaf that is not held":    {`UPDATE tasks SET held = 0 WHERE title = 'below';`, "held is 0 and should be 1", true},
		"a leaf that is doomed":      {`UPDATE tasks SET doomed = 1 WHERE title = 'a';`, "doomed is 1 and should be 0", true},
		"a question of nobody":       {`UPDATE tasks SET asks = 2 WHERE title = 'a';`, "asks is 2 and should be 0", true},
		"a count that is too high":   {`UPDATE counts SET tasks = 7 WHERE feature = 0 AND queue = 0;`, "a count of pending tasks is 7 and should be 2", true},
		"a count that is too low":    {`UPDATE counts SET tasks = 0 WHERE feature = 0 AND queue = 0;`, "a count of pending tasks is 0 and should be 2", true},
		"a count that is missing":    {`DELETE FROM counts WHERE feature = 1 AND queue = 0;`, "a count of pending tasks is 0 and should be 2", true},
		"a sum that is too high":     {`UPDATE spent SET cost_usd = 9 WHERE scope = 'feature';`, "what was used by feature 1 is not what its attempts used", true},
		"an attempt elsewhere":       {`UPDATE attempts SET feature = NULL;`, " is not that of its task", true},
		"an entry of nobody": {
			`INSERT INTO merges (task, task_id, attempt, target, base, work, patch, at, state) SELECT n, id, 'a-0', 'main', '', '', '', 0, 'testing' FROM tasks WHERE title = 'b';`,
			"entry 1 of the queue is testing, but nobody has it", true,
		},
		"held work of no task": {
			`INSERT INTO merges (task, task_id, attempt, target, base, work, patch, at, state, accepted) SELECT n, id, 'a-0', 'main', '', '', '', 0, 'held', 1 FROM tasks WHERE title = 'b';`,
			"entry 1 of the queue is held, but nobody has it", true,
		},
		"a review of nothing":        {`UPDATE tasks SET review = 1 WHERE title = 'b';`, "review is 1, which is not what the queue says", true},
		"a slot of nobody":           {`INSERT INTO locks VALUES ('slot:2', 'a-0', 't-0');`, "the lock slot:2 is held by a-0, whose run has ended", true},
		"a lock of nobody":           {`INSERT INTO locks VALUES ('gpu', 'a-0', 't-0');`, "the lock gpu is held by a-0, whose run has ended", true},
		"a feature of its own":       {`UPDATE tasks SET feature = NULL WHERE title = 'a';`, "its feature differs", false},
		"a group that is done early": {`UPDATE tasks SET status = 'done' WHERE title = 'waiting';`, "it is done, but its subtask", false},
		"a cycle": {
			`INSERT INTO dependencies SELECT a.n, b.n FROM tasks a, tasks b WHERE a.title = 'below' AND b.title = 'a';`,
			"that would be a cycle", false,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("group feature f", "a in group", "b in group", "waiting after group", "below in waiting")
			w.use("a", 10, 1, false, "released")
			w.sound()
			before := w.dump()
			var faults []dag.Fault
			w.update(func(g *dag.Graph) (err error) {
				if err := g.Tx().Exec(test.damage); err != nil {
					return err
				}
				faults, err = g.Verify()
				return err
			})
			check.Contains(t, "faults", test.want, fmt.Sprint(faults))
			if !test.mends {
				return
			}
			var mended [2]int
			w.update(func(g *dag.Graph) (err error) { mended[0], mended[1], err = g.Recompute(); return err })
			check.Equal(t, "mended tasks and counts", [2]int{strings.Count(test.damage, "UPDATE tasks"), len(regexp.MustCompile(` (counts|spent|attempts|merges|locks) `).FindAllString(test.damage, -1))}, mended)
			w.sound()
			check.Equal(t, "tasks", before["tasks"], w.dump()["tasks"])
		})
	}
}

// TestVerifyFindsFaultsOfTheQueue breaks what the queue says about work that is in it.
func TestVerifyFindsFaultsOfTheQueue(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		state        dag.MergeState
		damage, want string
	}{
		"held work that can be claimed": {dag.MergeHeld, `UPDATE tasks SET review = 0;`, "review is 0, which is not what the queue says"},
		"held work that was forgotten":  {dag.MergeHeld, `UPDATE merges SET state = 'dropped', ended_at = 1;`, "review is 1, which is not what the queue says"},
		"an entry after its attempt":    {dag.MergeLanded, `UPDATE merges SET state = 'green', ended_at = NULL;`, "entry 1 of the queue is green, but nobody has it"},
		"an entry of no task":           {dag.MergeGreen, `UPDATE merges SET attempt = 'a-0';`, "entry 1 of the queue is green, but nobody has it"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a")
			w.put("a", test.state)
			w.sound()
			w.update(func(g *dag.Graph) error { return g.Tx().Exec(test.damage) })
			check.Contains(t, "faults", test.want, fmt.Sprint(get(w, (*dag.Graph).Verify)))
			w.update(func(g *dag.Graph) error { _, _, err := g.Recompute(); return err })
			w.sound()
		})
	}
}

func TestWhyTellsEverythingThatKeepsATaskBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("first", "top after first", "group in top", "own", "leaf in group after own", "free", "running", "idle after first", "kid in idle")
	w.claim("running")
	w.person(giveUp, "group")
	titles := map[string]string{}
	for title, id := range w.ids {
		titles[id] = title
	}
	tests := map[string]string{
		"leaf": "blocker own, ancestor group, ancestor top, blocker first", "free": "", "running": "claim", "group": "status",
		"top": "status", "idle": "children, blocker first", "kid": "blocker first",
	}
	for title, want := range tests {
		var kinds []string
		task := w.task(title)
		for _, r := range get(w, func(g *dag.Graph) ([]dag.Reason, error) { return g.Tasks.Why(task) }) {
			kinds = append(kinds, strings.TrimSpace(r.Kind+" "+titles[r.Task]))
		}
		check.Equal(t, title, want, strings.Join(kinds, ", "))
	}
}
