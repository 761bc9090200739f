package dag

// outputsSQL goes from a task and what it is part of to all that was to be done before, nearest first: blockers, what those are part of or
// consist of, and so on. The limit keeps the cost of a prompt flat in a long plan.
const outputsSQL = `
WITH RECURSIVE
self(n) AS (SELECT :n UNION SELECT t.parent FROM self JOIN tasks t ON t.n = self.n WHERE t.parent IS NOT NULL),
before(n) AS (
    SELECT d.blocker FROM self CROSS JOIN dependencies d ON d.blocked = self.n
    UNION SELECT d.blocker FROM before CROSS JOIN dependencies d ON d.blocked = before.n
    UNION SELECT c.n FROM before CROSS JOIN tasks c ON c.parent = before.n
    UNION SELECT d.blocker FROM before CROSS JOIN tasks t ON t.n = before.n CROSS JOIN dependencies d ON d.blocked = t.parent
    LIMIT 1000
)
SELECT {task} FROM tasks WHERE n IN (SELECT n FROM before) AND output IS NOT NULL AND status = 'done' ORDER BY n LIMIT +:most;`

// Outputs lists the finished tasks that have an output and that the task had to wait for, itself or through others, oldest first.
func (g Tasks) Outputs(t Task, most int) ([]Task, error) {
	return g.all(outputsSQL, ":n", t.N, ":most", most)
}
