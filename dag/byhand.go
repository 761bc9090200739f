package dag

import (
	"time"
)

const doneByHandSQL = `
SELECT id FROM tasks
WHERE status = 'done' AND finished_at >= :since AND children = 0 AND coalesce(verification, 'failed') = 'failed'
ORDER BY n LIMIT 20;`

// DoneByHand lists tasks that were made done since then and that no run has
// accepted: somebody said so with a command.
func (g *Graph) DoneByHand(since time.Time) ([]string, error) {
	return collect(g, doneByHandSQL, (*row).text, ":since", since.UnixMilli())
}
