package dag

import (
	"fmt"
	"slices"

	"ralph/internal/db"
)

// Place is where an agent puts a task that it adds, seen from its own task.
type Place string

// The places.
const (
	Below  Place = "below"  // a subtask, once the caller is done: it is a group then
	Beside Place = "beside" // next to it, independent
	Behind Place = "after"  // next to it, and waits for it
)

// Places lists them.
func Places() []Place { return []Place{Below, Beside, Behind} }

// Addition is a task that an agent adds while it works. Its parent and its feature are the caller's.
type Addition struct {
	NewTask
	Place   Place
	Closing bool // with Below: when all subtasks are done, the caller's work is finished in one more
}

// AdditionLimits are how much agents may add.
type AdditionLimits struct {
	PerAttempt int
	Depth      int // of tasks that were added by tasks that were added
}

const (
	addedSQL      = `INSERT INTO added (task, caller, attempt, depth, below, closing) VALUES (:task, :caller, :attempt, :depth, :below, :closing);`
	addedDepthSQL = `SELECT depth FROM added WHERE task = :n;`
	addedCountSQL = `SELECT count(*) FROM added WHERE attempt = :attempt;`
	addedSameSQL  = `SELECT t.id FROM added a JOIN tasks t ON t.n = a.task WHERE a.caller = :n AND t.title = :title AND t.status <> 'done' LIMIT 1;`
	addedBelowSQL = `SELECT t.id, a.depth, a.closing FROM added a JOIN tasks t ON t.n = a.task WHERE a.caller = +:n AND a.below = 1 ORDER BY a.task;`
	attachedSQL   = `UPDATE added SET below = 0 WHERE caller = :n;`
)

// AddFrom adds a task for the agent that has a claim, and returns its ID. One that the same task added before, in an attempt
// that was interrupted, is found again by its title.
func (g Plan) AddFrom(c Claim, a Addition, limits AdditionLimits) (string, error) {
	caller, err := g.queue().held(c)
	if err != nil {
		return "", err
	}
	if known, err := db.One(g.tx, addedSameSQL, (*db.Row).Text, ":n", caller.n, ":title", a.Title); err != nil || known != "" {
		return known, err
	}
	depth := g.number(addedDepthSQL, ":n", caller.n) + 1
	switch added := g.number(addedCountSQL, ":attempt", c.Attempt); {
	case !slices.Contains(Places(), a.Place):
		return "", fmt.Errorf("%w: a task is added below, beside or after its caller, not %q", ErrRefused, a.Place)
	case a.Closing && a.Place != Below:
		return "", fmt.Errorf("%w: closing is for tasks below the caller", ErrRefused)
	case depth > int64(limits.Depth):
		return "", fmt.Errorf("%w: tasks that agents add may add others only %d deep (run.max_depth); do the work in this task", ErrRefused, limits.Depth)
	case added >= int64(limits.PerAttempt):
		return "", fmt.Errorf("%w: this attempt has added %d tasks, which is the limit (run.max_subtasks)", ErrRefused, added)
	}
	if a.Place == Below {
		if err := g.refuseBehind(caller, a.After); err != nil {
			return "", err
		}
	}
	t := a.NewTask
	t.DiscoveredFrom = c.Task.ID
	t.Parent, t.Feature = c.Task.Parent, c.Task.Feature
	if a.Place != Beside && !slices.Contains(t.After, c.Task.ID) {
		t.After = append(slices.Clip(t.After), c.Task.ID)
	}
	id, err := g.Add(t)
	if err != nil {
		return "", err
	}
	return id, g.noteAdded(id, c, depth, a.Place == Below, a.Closing)
}

// refuseBehind refuses what a subtask of a task cannot wait for, because it waits for that task. Other subtasks do so only until it
// is done.
func (g Plan) refuseBehind(caller node, after []string) error {
	siblings, err := db.All(g.tx, addedBelowSQL, (*db.Row).Text, ":n", caller.n)
	if err != nil {
		return err
	}
	for _, id := range after {
		if slices.Contains(siblings, id) {
			continue
		}
		t, err := g.nodeByID(id)
		if err != nil {
			return err
		}
		if g.path(point{t.n, true}, point{caller.n, true}) != nil {
			return fmt.Errorf("%w: %s waits for your task, so a subtask of yours cannot wait for %s; add it after your task", ErrRefused, id, id)
		}
	}
	return g.tx.Err()
}

func (g Plan) noteAdded(id string, c Claim, depth int64, below, closing bool) error {
	t, err := g.nodeByID(id)
	if err != nil {
		return err
	}
	return g.tx.Exec(addedSQL, ":task", t.n, ":caller", c.Task.N, ":attempt", c.Attempt, ":depth", depth, ":below", below, ":closing", closing)
}

const (
	// An agent that was started before it had a task does not know which it is. If the run has several, one that must not
	// start rounds over is the safe guess.
	discovererSQL = `
SELECT t.id FROM runs r JOIN tasks t ON t.owner = r.owner WHERE r.id = :run AND t.status = 'in_progress'
ORDER BY t.id = :task DESC, EXISTS (SELECT 1 FROM reviews f WHERE f.task = t.n) DESC, t.n LIMIT 1;`
	discoverSQL = `UPDATE tasks SET discovered_from = :by WHERE id = :id;`
)

// Discover says of tasks that an agent of a run added them by a command while it worked on a task, if it says which.
func (g Plan) Discover(run, task string, ids ...string) error {
	by, err := db.One(g.tx, discovererSQL, (*db.Row).Text, ":run", run, ":task", task)
	if err != nil || by == "" {
		return err
	}
	for _, id := range ids {
		g.tx.Do(discoverSQL, ":by", by, ":id", id)
	}
	return g.tx.Err()
}

// Split says that a claimed task is to become a group, and whether its work is to be finished after its subtasks.
func (g Plan) Split(c Claim) (split, closing bool, err error) {
	for r := range g.tx.Rows(addedBelowSQL, ":n", c.Task.N) {
		_, _ = r.Text(), r.Int64()
		split, closing = true, r.Bool() || closing
	}
	return split, closing, g.tx.Err()
}

// group makes a task that is done a group of what its agents added below it. It is open again until they are done, and who waits for
// it waits for them. What by now waits for the group in another way, or keeps it waiting, stays beside it.
func (g Queue) group(c Claim) error {
	var added []node
	var depth int64
	closing := false
	for r := range g.tx.Rows(addedBelowSQL, ":n", c.Task.N) {
		added = append(added, node{id: r.Text()})
		depth, closing = max(depth, r.Int64()), r.Bool() || closing
	}
	if len(added) == 0 {
		return g.tx.Err()
	}
	g.tx.Do(attachedSQL, ":n", c.Task.N)
	for i := range added {
		added[i], _ = g.nodeByID(added[i].id)
		g.tx.Do(unlinkSQL, ":blocker", c.Task.N, ":blocked", added[i].n) // no count changes: the blocker is done
	}
	var ids []string
	for _, t := range added {
		if g.plan().path(point{t.n, true}, point{c.Task.N, true}) != nil || g.plan().path(point{c.Task.N, false}, point{t.n, false}) != nil {
			g.log(t.n, LogSystem, "stays beside "+c.Task.ID+": one waits for the other")
			continue
		}
		ids = append(ids, t.id)
		if err := g.plan().Move(t.id, c.Task.ID); err != nil {
			return err
		}
	}
	if !closing {
		return g.tx.Err()
	}
	t, err := g.tasks().Get(c.Task.ID)
	if err != nil {
		return err
	}
	title := "Finish: " + t.Title
	if len(title) > maxTitle {
		title = t.Title
	}
	last := t.Spec()
	last.Ref, last.Title, last.Parent, last.After, last.Group, last.Origin, last.DiscoveredFrom = "", title, t.ID, ids, false, "", ""
	last.Kind = Check // it need not change anything: the others may have done all of it
	id, err := g.plan().Add(last)
	if err != nil {
		return err
	}
	return g.plan().noteAdded(id, c, depth, false, false)
}
