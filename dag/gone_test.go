package dag_test

import (
	"maps"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// TestWhatIsDeletedAndComesBackIsAsItWas deletes tasks by a plan, as a branch without them does, and brings them back.
func TestWhatIsDeletedAndComesBackIsAsItWas(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const first, second, third = "t-00000001", "t-00000002", "t-00000003"
	plan := []dag.Spec{
		{Line: 1, Ref: first, Detail: dag.Detail{Title: "first"}, Status: dag.Done},
		{Line: 2, Ref: second, Detail: dag.Detail{Title: "second"}, Feature: "f"},
		{Line: 3, Ref: third, Detail: dag.Detail{Title: "third"}, Feature: "f", After: []string{second}},
	}
	w.update(func(g *dag.Graph) error { _, err := g.Plan.Import(plan); return err })
	claim := w.take("second", dag.ClaimOptions{})
	w.update(func(g *dag.Graph) error { return g.Queue.Release(claim, dag.Release{}) })
	w.update(func(g *dag.Graph) error {
		if err := g.Tasks.Log(second, dag.LogUser, "mind the gap"); err != nil {
			return err
		}
		for _, query := range []string{
			`INSERT INTO reviews SELECT n, 'tests', 0 FROM tasks WHERE id = 't-00000002';`,
			`INSERT INTO imported (task, line) SELECT n, '{}' FROM tasks WHERE id = 't-00000002';`,
			`INSERT INTO added SELECT n, (SELECT n FROM tasks WHERE id = 't-00000002'), 'a-1', 1, 0, 1 FROM tasks WHERE id = 't-00000003';`,
			`INSERT INTO undoes (task, undone) SELECT n, (SELECT n FROM tasks WHERE id = 't-00000002') FROM tasks WHERE id = 't-00000001';`,
			`INSERT INTO merges (task, task_id, attempt, target, base, work, patch, at, ended_at, state) SELECT n, id, 'a-1', 'main', 'x', 'y', 'z', 1, 2, 'landed' FROM tasks WHERE id = 't-00000002';`,
			`INSERT INTO requests (id, kind, task, task_id, sender, text, at, state, answered_at) SELECT 'q-1', 'question', n, id, 'agent', 'Why?', 1, 'answered', 2 FROM tasks WHERE id = 't-00000002';`,
		} {
			g.Tx().Do(query)
		}
		return g.Tx().Err()
	})
	dump := func() map[string][]string {
		all := w.dump()
		w.view(func(g *dag.Graph) error {
			for table, query := range map[string]string{
				"reviews": `SELECT task || focus || round FROM reviews;`, "imported": `SELECT task || line FROM imported;`, "gone": `SELECT id FROM gone;`,
				"added": `SELECT concat_ws(' ', task, caller, attempt, depth, below, closing) FROM added;`, "undoes": `SELECT task || undone FROM undoes;`,
				"spent": `SELECT scope || key || attempts FROM spent WHERE attempts <> 0;`,
			} {
				for r := range g.Tx().Rows(query) {
					all[table] = append(all[table], r.Text())
				}
			}
			return g.Tx().Err()
		})
		return all
	}
	before := dump()
	check.Equal(t, "deleted", dag.Applied{Deleted: []string{second, third}}, applied(w, plan[:1], []string{second, third}))
	w.sound()
	check.Equal(t, "left", 0, len(dump()["task_logs"]))
	check.Equal(t, "added", dag.Applied{Added: []string{third, second}}, applied(w, []dag.Spec{plan[2], plan[1]}, nil))
	w.sound()
	after := dump()
	for table := range maps.Keys(before) {
		check.Equal(t, table, before[table], after[table])
	}
	check.Equal(t, "gone", 0, len(after["gone"]))
}

// TestWhatIsGoneForLongIsForgotten keeps what a deleted task was for as long as its line in a plan file says that it was deleted.
func TestWhatIsGoneForLongIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	plan := []dag.Spec{{Line: 1, Ref: "t-00000001", Detail: dag.Detail{Title: "one"}}, {Line: 2, Ref: "t-00000002", Detail: dag.Detail{Title: "two"}}, {Line: 3, Ref: "t-00000003", Detail: dag.Detail{Title: "three"}}}
	w.update(func(g *dag.Graph) error { _, err := g.Plan.Import(plan); return err })
	prune := func() (n int) {
		w.update(func(g *dag.Graph) (err error) { n, err = g.Plan.PruneGone(); return err })
		return n
	}
	w.pass(dag.KeepDeleted) // how old a task was does not count
	applied(w, nil, []string{"t-00000001"})
	w.pass(dag.KeepDeleted)
	applied(w, nil, []string{"t-00000002"})
	check.Equal(t, "after 90 days", 0, prune())
	w.pass(time.Millisecond)
	check.Equal(t, "a moment later", 1, prune())
	check.Equal(t, "again", 0, prune())
	w.update(func(g *dag.Graph) error { // by a version that did not store when
		return g.Tx().Exec(`UPDATE gone SET record = json_remove(record, '$.gone_at');`)
	})
	check.Equal(t, "of an older version", 1, prune())
	w.sound()
}

// TestApplyKeepsWhatSomebodyHasToLookAt shows that no plan deletes tasks with work or a question that is open, until that is over.
func TestApplyKeepsWhatSomebodyHasToLookAt(t *testing.T) {
	t.Parallel()
	const group, task, other = "t-00000001", "t-00000002", "t-00000003"
	for name, queries := range map[string][2]string{
		"a question": {
			`INSERT INTO requests (id, kind, task, task_id, sender, text, at) SELECT 'q-1', 'question', n, id, 'agent', 'Why?', 1 FROM tasks WHERE id = 't-00000002';`,
			`UPDATE requests SET state = 'answered', answered_at = 2;`,
		},
		"work to check": {`UPDATE tasks SET unverified = 'a-1' WHERE id = 't-00000002';`, `UPDATE tasks SET unverified = NULL;`},
		"work to land": {
			`INSERT INTO merges (task, task_id, attempt, target, base, work, patch, at, state) SELECT n, id, 'a-1', 'main', 'x', 'y', 'z', 1, 'landing' FROM tasks WHERE id = 't-00000002';`,
			`UPDATE merges SET state = 'landed', ended_at = 2;`,
		},
		"an agent that is leaving": {`UPDATE tasks SET leaving = 'a-1' WHERE id = 't-00000002';`, `UPDATE tasks SET leaving = NULL;`},
		"work that is taken back": {
			`INSERT INTO undoes (task, undone) SELECT (SELECT n FROM tasks WHERE id = 't-00000003'), n FROM tasks WHERE id = 't-00000002';`, `DELETE FROM undoes;`,
		},
	} {
		w := newWorld(t)
		w.update(func(g *dag.Graph) error {
			_, err := g.Plan.Import([]dag.Spec{{Ref: group, Detail: dag.Detail{Title: "group"}}, {Ref: task, Detail: dag.Detail{Title: "task"}, Parent: group}, {Ref: other, Detail: dag.Detail{Title: "other"}}})
			g.Tx().Do(queries[0])
			return err
		})
		check.Equal(t, name, dag.Applied{Kept: []string{group, task}}, applied(w, nil, []string{group, task}))
		w.sound()
		w.update(func(g *dag.Graph) error { return g.Tx().Exec(queries[1]) })
		check.Equal(t, name+", over", dag.Applied{Deleted: []string{group, task}}, applied(w, nil, []string{group, task}))
		w.sound()
	}
}
