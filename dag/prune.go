package dag

import (
	"slices"
	"time"
)

// Cutoffs say what is old: what ended before Others, and before Failures if an
// attempt in it did not work, because that is what people look for longest.
type Cutoffs struct{ Others, Failures time.Time }

// A run that may still be continued keeps its files, and so does one with finished
// work that is still to be verified, or with an attempt that has not ended.
const prunableSQL = `
SELECT ` + runColumns + ` FROM runs r
WHERE ended_at < CASE
        WHEN EXISTS (SELECT 1 FROM attempts a WHERE a.run = r.n AND a.outcome IN ('failed', 'retried', 'refused', 'timeout', 'error'))
        THEN :failures ELSE :others END
    AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.run = r.n AND a.ended_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM tasks t JOIN attempts a ON a.id = t.unverified WHERE a.run = r.n)
    AND (outcome IN ('complete', 'no_plan') OR EXISTS (
        SELECT 1 FROM runs l WHERE l.n > r.n AND l.scope_feature IS r.scope_feature AND l.scope_task IS r.scope_task))
ORDER BY n;`

// Prunable lists the runs whose files nobody needs any more, the oldest first.
func (g *Graph) Prunable(c Cutoffs) ([]Run, error) {
	return g.runs(prunableSQL, ":others", c.Others.UnixMilli(), ":failures", c.Failures.UnixMilli())
}

const pruneSQL = `UPDATE runs SET pruned_at = :now WHERE id = :id AND ended_at IS NOT NULL AND pruned_at IS NULL;`

// Pruned says that the files of a run are gone, or about to be. What is stored here
// about it stays.
func (g *Graph) Pruned(id string) error { return g.tx.Exec(pruneSQL, ":id", id, ":now", g.millis()) }

const treesSQL = `
SELECT json_extract(base, '$.tree') FROM tasks WHERE base IS NOT NULL AND status <> 'done' AND json_valid(base)
UNION
SELECT a.tree FROM attempts a JOIN runs r ON r.n = a.run LEFT JOIN tasks t ON t.n = a.task
WHERE r.pruned_at IS NULL OR t.status <> 'done'
UNION
SELECT a.tree_after FROM attempts a JOIN runs r ON r.n = a.run LEFT JOIN tasks t ON t.n = a.task
WHERE r.pruned_at IS NULL OR t.status <> 'done';`

// Trees lists the trees of the working folder that work may still be compared with.
func (g *Graph) Trees() ([]string, error) {
	trees, err := collect(g, treesSQL, (*row).text)
	return slices.DeleteFunc(trees, func(tree string) bool { return tree == "" }), err
}
