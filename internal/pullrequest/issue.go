package pullrequest

import (
	"fmt"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/forge"
	"ralph/internal/taskfile"
)

// Landed is an issue whose task has landed.
type Landed struct {
	Issue  forge.Issue
	Task   string
	Commit string
	Begun  bool // somebody may have told it already, and was killed
}

const (
	postedSQL = `SELECT posted FROM issue_comments WHERE issue = :issue;`
	tellSQL   = `INSERT INTO issue_comments (issue, posted, at) VALUES (:issue, :posted, :at) ON CONFLICT DO UPDATE SET posted = excluded.posted, at = excluded.at;`
)

// Untold lists issues that do not know yet that their task landed on a branch.
func Untold(g *dag.Graph, feature, target string) (list []Landed, err error) {
	tasks, err := g.Tasks.List(dag.Filter{Feature: feature, Statuses: []dag.Status{dag.Done}})
	if err != nil {
		return nil, err
	}
	for _, t := range tasks {
		repository, number := taskfile.IssueOf(t.Origin)
		if number == 0 {
			continue
		}
		l := Landed{Issue: forge.Issue{Repository: repository, Number: number}, Task: t.ID}
		work, err := g.Queue.LandedWork(t)
		if err != nil {
			return nil, err
		}
		if work.N == 0 || work.Target != target {
			continue
		}
		posted, err := db.All(g.Tx(), postedSQL, (*db.Row).Bool, ":issue", l.Issue.String())
		if err != nil {
			return nil, err
		}
		if len(posted) > 0 && posted[0] {
			continue
		}
		l.Commit, l.Begun = work.Candidate, len(posted) > 0
		list = append(list, l)
	}
	return list, nil
}

// Begin remembers that an issue is about to be told, and Told that it was.
func (l Landed) Begin(g *dag.Graph) error { return l.store(g, false) }

// Told remembers that an issue was told.
func (l Landed) Told(g *dag.Graph) error { return l.store(g, true) }

func (l Landed) store(g *dag.Graph, posted bool) error {
	return g.Tx().Exec(tellSQL, ":issue", l.Issue.String(), ":posted", posted, ":at", g.Now().UnixMilli())
}

// Mark is what tells the comment from all others.
func (l Landed) Mark() string { return fmt.Sprintf("%s: landed %s -->", marker, l.Task) }

// Text is the comment.
func (l Landed) Text(branch, url string) string {
	return fmt.Sprintf("The work on this issue is commit %s on %s, part of %s.\n\n%s", l.Commit, branch, url, l.Mark())
}
