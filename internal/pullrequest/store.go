// Package pullrequest makes tasks of what a pull request meets: red checks, and comments of reviewers. It remembers what became
// a task, for which commits, and which issues were told that their task has landed. It never pushes, runs an agent or talks to a forge.
package pullrequest

import (
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/db"
)

// MaxRounds is for how many commits findings become tasks.
const MaxRounds = 3

// Request is the pull request of a feature, as it is stored.
type Request struct {
	Feature string
	Remote  string
	Branch  string // without refs/heads/
	Number  int    // 0 if there is none
	URL     string
	Round   int    // how many commits had something that became a task
	Looked  string // the last of them
}

const (
	requestColumns = `(SELECT f.name FROM features f WHERE f.n = pull_requests.feature), remote, branch, number, url, round, looked`
	requestSQL     = `SELECT ` + requestColumns + ` FROM pull_requests WHERE feature = (SELECT n FROM features WHERE name = :feature);`
	branchSQL      = `SELECT ` + requestColumns + ` FROM pull_requests WHERE branch = :branch AND remote = :remote;`
	saveSQL        = `
INSERT INTO pull_requests (feature, remote, branch, number, url, round, looked)
SELECT n, :remote, :branch, :number, :url, :round, :looked FROM features WHERE name = :feature
ON CONFLICT DO UPDATE SET remote = excluded.remote, branch = excluded.branch, number = excluded.number, url = excluded.url,
    round = excluded.round, looked = excluded.looked;`
)

func scanRequest(r *db.Row) Request {
	return Request{Feature: r.Text(), Remote: r.Text(), Branch: r.Text(), Number: r.Int(), URL: r.Text(), Round: r.Int(), Looked: r.Text()}
}

// Of is the pull request of a feature. Its number is 0 if there is none.
func Of(g *dag.Graph, feature string) (Request, error) {
	r, err := db.One(g.Tx(), requestSQL, scanRequest, ":feature", feature)
	r.Feature = feature
	return r, err
}

// Other is the pull request that another feature has for a branch. A forge has one for each branch.
func Other(g *dag.Graph, feature, remote, branch string) (Request, error) {
	list, err := db.All(g.Tx(), branchSQL, scanRequest, ":branch", branch, ":remote", remote)
	for _, r := range list {
		if r.Feature != feature {
			return r, err
		}
	}
	return Request{}, err
}

// Save remembers the pull request of a feature. Another one than before has all its rounds ahead of it.
func Save(g *dag.Graph, r Request) (Request, error) {
	last, err := Of(g, r.Feature)
	if err != nil {
		return r, err
	}
	r.Round, r.Looked = 0, ""
	same := last.URL == r.URL // the remote may have another name now
	if r.URL == "" {
		same = last.Remote == r.Remote
	}
	if last.Number == r.Number && same {
		r.Round, r.Looked = last.Round, last.Looked
	}
	return r, r.store(g)
}

func (r Request) store(g *dag.Graph) error {
	return g.Tx().Exec(saveSQL, ":feature", r.Feature, ":remote", r.Remote, ":branch", r.Branch, ":number", r.Number, ":url", r.URL,
		":round", r.Round, ":looked", db.OrNull(r.Looked))
}

const (
	findingSQL    = `SELECT task FROM pull_findings WHERE feature = (SELECT n FROM features WHERE name = :feature) AND name = :name;`
	addFindingSQL = `INSERT INTO pull_findings (feature, name, task) SELECT n, :name, :task FROM features WHERE name = :feature;`
)

// Fresh are the findings that never became a task, neither here, also if it was deleted since, nor in another clone of which git brought
// the plan.
func Fresh(g *dag.Graph, feature string, findings []Finding) (fresh []Finding, err error) {
	origins, err := g.Plan.Origins()
	if err != nil {
		return nil, err
	}
	for _, f := range findings {
		known, err := db.One(g.Tx(), findingSQL, (*db.Row).Text, ":feature", feature, ":name", f.Name)
		if err != nil {
			return nil, err
		}
		if known == "" && origins[f.Name] == "" {
			fresh = append(fresh, f)
			origins[f.Name] = f.Name // two checks may have one name
		}
	}
	return fresh, nil
}

// Added is a finding, and the task that it became.
type Added struct {
	Finding
	Task string
}

// Add makes tasks of the findings at a commit that are fresh, and counts the round: all that is found at one commit is one. After
// the last round nothing becomes a task any more, and left are those that would have.
func Add(g *dag.Graph, feature, commit string, findings []Finding) (added []Added, left []Finding, r Request, err error) {
	if r, err = Of(g, feature); err != nil {
		return nil, nil, r, err
	}
	fresh, err := Fresh(g, feature, findings)
	if err != nil || len(fresh) == 0 || r.Looked != commit && r.Round >= MaxRounds {
		return nil, fresh, r, err
	}
	newID := g.Plan.StableIDs()
	for _, f := range fresh {
		id, err := newID("pull request", feature, f.Name)
		if err == nil {
			id, err = g.Plan.Add(dag.NewTask{Ref: id, Detail: dag.Detail{Title: f.Title, Description: f.Description, Kind: f.Kind}, Feature: feature, Origin: f.Name})
		}
		if err != nil {
			return nil, nil, r, fmt.Errorf("%s: %w", f.Name, err)
		}
		g.Tx().Do(addFindingSQL, ":feature", feature, ":name", f.Name, ":task", id)
		added = append(added, Added{f, id})
	}
	if r.Looked != commit {
		r.Round, r.Looked = r.Round+1, commit
	}
	return added, nil, r, r.store(g)
}

// Tasks are those of a feature that findings of a pull request became, oldest first.
func Tasks(g *dag.Graph, feature string, number int) ([]dag.Task, error) {
	all, err := g.Tasks.List(dag.Filter{Feature: feature})
	return slices.DeleteFunc(all, func(t dag.Task) bool { return !strings.HasPrefix(t.Origin, origin(number)) }), err
}

// origin is how the names of all findings of a pull request begin.
func origin(number int) string { return fmt.Sprintf("pull request %d, ", number) }
