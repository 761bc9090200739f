package dag_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// review asks for a review of feature f, and returns the titles of the tasks that were added for it.
func (w *world) review() (titles []string) {
	w.t.Helper()
	before := get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.List(dag.Filter{}) })
	w.pass(time.Second)
	w.update(func(g *dag.Graph) error {
		_, err := g.Plan.AddReviews("f", []dag.NewReview{
			{Focus: "security", NewTask: dag.NewTask{Detail: dag.Detail{Title: fmt.Sprintf("security %d", len(before)), Kind: dag.Check}, Feature: "f"}},
			{Focus: "API", NewTask: dag.NewTask{Detail: dag.Detail{Title: fmt.Sprintf("API %d", len(before)), Kind: dag.Check}, Feature: "f"}},
		})
		return err
	})
	w.pass(time.Second)
	for _, t := range get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.List(dag.Filter{}) })[len(before):] {
		titles = append(titles, t.Title)
		w.ids[t.Title] = t.ID
	}
	return titles
}

func (w *world) finish(titles ...string) {
	w.t.Helper()
	for _, title := range titles {
		w.workOn(title, "t", "a.go")
	}
}

// workOn completes a task that began with a tree and changed files.
func (w *world) workOn(title, tree string, files ...string) {
	w.t.Helper()
	c := w.take(title, dag.ClaimOptions{Scope: dag.Scope{Task: w.id(title)}, KeepGoing: true, Slots: true})
	w.update(func(g *dag.Graph) error {
		return errors.Join(g.History.NoteAttempt(c.Attempt, dag.Note{Tree: tree, Files: files}), g.Queue.Complete(c, "passed"))
	})
}

func (w *world) find(title string) error {
	w.t.Helper()
	return w.try(func(g *dag.Graph) error {
		id, err := g.Plan.AddFinding("security", dag.NewTask{Detail: dag.Detail{Title: title}, Feature: "f"})
		if err == nil {
			w.ids[title] = id
		}
		return err
	})
}

func TestAFeatureIsReviewedWhenAllOfItIsDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a feature f", "b feature f", "other")
	w.finish("a")
	check.Equal(t, "before its last task", 0, len(w.review()))
	w.finish("b")
	first := w.review()
	check.Equal(t, "reviewers", 2, len(first))
	check.Equal(t, "while they look", 0, len(w.review()))
	w.finish(first[0])
	check.OK(t, w.find("a finding"))
	w.finish("a finding")
	check.Equal(t, "while one of them looks", 0, len(w.review()))
	w.finish(first[1])
	second := w.review()
	check.Equal(t, "after work on a finding", 2, len(second))
	check.OK(t, w.find("a finding"))
	w.finish(append(second, "a finding")...)
	check.Equal(t, "after two rounds", 0, len(w.review()))

	w.plan("c feature f")
	w.finish("c")
	third := w.review()
	check.Equal(t, "after other work", 2, len(third))
	w.finish(third...)
	check.Equal(t, "and nothing since", 0, len(w.review()))
	w.plan("d feature f")
	w.workOn("d", "t")
	check.Equal(t, "after a task that changed nothing", 0, len(w.review()))
	w.update(func(g *dag.Graph) error { return g.Tasks.Reset(w.id("a")) })
	w.finish("a")
	check.Equal(t, "after work that was done again", 2, len(w.review()))
	w.sound()
}

func TestAFindingThatIsOpenIsNoSecondTask(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a feature f")
	check.OK(t, w.find("the same"))
	check.That(t, errors.Is(w.find("the same"), dag.ErrRefused), "a duplicate was added")
	w.finish("the same")
	check.OK(t, w.find("the same"))
	w.sound()
}

func TestAReviewLooksAtWhatItsFeatureChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("early", "a feature f", "other", "b feature f")
	w.workOn("early", "t0", "early.go")
	w.workOn("a", "t1", "a.go", "both.go")
	w.workOn("other", "t2", "other.go", "both.go")
	w.workOn("b", "t3", "b.go")
	titles := w.review()
	look := func(title string) *dag.Review {
		task := w.task(title)
		return get(w, func(g *dag.Graph) (*dag.Review, error) { return g.Plan.Review(task) })
	}
	check.Equal(t, "a review", &dag.Review{Focus: "security", Tree: "t1", Others: []string{"other.go"}}, look(titles[0]))
	check.Equal(t, "another task", (*dag.Review)(nil), look("a"))
	check.OK(t, w.find("a finding"))
	check.Equal(t, "a finding", (*dag.Review)(nil), look("a finding"))
}

// accept asks for an acceptance of feature f, and returns its title if one was added.
func (w *world) accept() string {
	w.t.Helper()
	n := len(w.ids)
	title := fmt.Sprintf("acceptance %d", n)
	w.pass(time.Second)
	w.update(func(g *dag.Graph) error {
		_, err := g.Plan.AddAcceptance(dag.NewTask{Detail: dag.Detail{Title: title, Kind: dag.Check}, Feature: "f"})
		return err
	})
	w.pass(time.Second)
	for _, t := range get(w, func(g *dag.Graph) ([]dag.Task, error) { return g.Tasks.List(dag.Filter{}) }) {
		if t.Title == title {
			w.ids[title] = t.ID
			return title
		}
	}
	return ""
}

func (w *world) miss(title string) {
	w.t.Helper()
	w.update(func(g *dag.Graph) error {
		id, err := g.Plan.AddFinding("", dag.NewTask{Detail: dag.Detail{Title: title}, Feature: "f"})
		w.ids[title] = id
		return err
	})
}

// last says whether what an acceptance misses becomes no task.
func (w *world) last(title string) bool {
	w.t.Helper()
	task := w.task(title)
	r := get(w, func(g *dag.Graph) (*dag.Review, error) { return g.Plan.Review(task) })
	check.That(w.t, r.Acceptance(), "%s is no acceptance", title)
	return r.Last
}

func TestAFeatureIsAcceptedAfterItsReviewsInAtMostThreeLooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("a feature f")
	check.Equal(t, "before its last task", "", w.accept())
	w.workOn("a", "t")
	first := w.accept()
	check.That(t, first != "", "no acceptance of work that changed nothing")
	check.Equal(t, "the first is the last", false, w.last(first))
	check.Equal(t, "while it looks", "", w.accept())
	w.finish(first)
	check.Equal(t, "when nothing was missed", "", w.accept())

	w.plan("b feature f")
	w.finish("b")
	reviews := w.review()
	check.Equal(t, "while reviewers look", "", w.accept())
	w.finish(reviews...)
	first = w.accept()
	w.finish(first)
	w.miss("missing")
	w.workOn("missing", "t") // it was there before
	check.Equal(t, "reviews of nothing", 0, len(w.review()))
	second := w.accept()
	check.Equal(t, "the second is the last", false, w.last(second))
	w.finish(second)
	w.miss("still missing")
	c := w.claim("still missing")
	w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: "an agent's own"}}, Place: dag.Beside})
	w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
	w.finish("an agent's own")
	w.finish(w.review()...)
	third := w.accept()
	check.Equal(t, "the third is the last", true, w.last(third))
	c = w.claim(third)
	w.update(func(g *dag.Graph) error { return g.Queue.Fail(c, "missing: a way out") })
	for scope, want := range map[dag.Scope]map[string]string{
		{}: {"f": "missing: a way out"}, {Feature: "f"}: {"f": "missing: a way out"}, {Feature: "g"}: {}, {Task: w.id("a")}: {},
	} {
		check.Equal(t, fmt.Sprint(scope), want, get(w, func(g *dag.Graph) (map[string]string, error) { return g.Plan.Unaccepted(scope) }))
	}
	w.person(finish, third)
	w.miss("again")
	w.finish("again")
	check.Equal(t, "a fourth", "", w.accept())

	w.plan("c feature f")
	w.finish("c")
	w.finish(w.review()...)
	check.Equal(t, "after other work it starts over", false, w.last(w.accept()))
	w.sound()
}

// Whatever way an agent adds tasks while it works on a finding, they are work on it.
func TestWhatComesOfFindingsDoesNotStartOver(t *testing.T) {
	t.Parallel()
	ways := map[string]func(w *world, c dag.Claim, title string){
		"a tool": func(w *world, c dag.Claim, title string) {
			w.addFrom(c, dag.Addition{NewTask: dag.NewTask{Detail: dag.Detail{Title: title}}, Place: dag.Beside})
		},
		"a command": func(w *world, c dag.Claim, title string) {
			w.addDiscovered(c, "", dag.NewTask{Detail: dag.Detail{Title: title}, Feature: "f"})
		},
		"a command that says which task": func(w *world, c dag.Claim, title string) {
			w.addDiscovered(c, c.Task.ID, dag.NewTask{Detail: dag.Detail{Title: title}, Feature: "f", DiscoveredFrom: w.id("a")})
		},
	}
	for name, add := range ways {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.plan("a feature f")
			w.finish("a")
			for i := range 6 {
				look := w.accept()
				if look == "" {
					check.Equal(t, "looks", 3, i)
					return
				}
				check.Equal(t, fmt.Sprint("the last of look ", i), i == 2, w.last(look))
				w.finish(look)
				missing := fmt.Sprint("missing ", i)
				w.miss(missing)
				c, extra := w.claim(missing), fmt.Sprint("extra ", i)
				add(w, c, extra)
				w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
				c = w.claim(extra)
				add(w, c, extra+" more")
				w.update(func(g *dag.Graph) error { return g.Queue.Complete(c, "passed") })
				w.finish(extra + " more")
				w.update(func(g *dag.Graph) (err error) { // a subtask of what was missing
					w.ids[extra+" below"], err = g.Plan.Add(dag.NewTask{Detail: dag.Detail{Title: extra + " below"}, Parent: w.id(missing)})
					return err
				})
				w.finish(extra + " below")
			}
			t.Error("there is no end")
		})
	}
}

// addDiscovered adds a task as the command of an agent at work does.
func (w *world) addDiscovered(c dag.Claim, said string, n dag.NewTask) {
	w.t.Helper()
	w.update(func(g *dag.Graph) error {
		id, err := g.Plan.Add(n)
		if err != nil {
			return err
		}
		w.ids[n.Title] = id
		run, err := g.History.Owner(c.Task.Owner)
		return errors.Join(err, g.Plan.Discover(run.ID, said, id))
	})
	check.Equal(w.t, "found by", c.Task.ID, w.task(n.Title).DiscoveredFrom)
}

func TestTheLastTaskOfAFeatureIsComparedWithItsBeginning(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.plan("one feature f", "two feature f", "other")
	end := func(title string) *dag.FeatureEnd {
		return get(w, func(g *dag.Graph) (*dag.FeatureEnd, error) {
			task, err := g.Tasks.Get(w.id(title))
			if err != nil {
				return nil, err
			}
			return g.Plan.FeatureEnd(task)
		})
	}
	none := (*dag.FeatureEnd)(nil)
	check.Equal(t, "while another task is to be done", none, end("one"))
	w.workOn("one", "first", "a.go")
	w.workOn("other", "later", "b.go")
	check.Equal(t, "the last", &dag.FeatureEnd{Tree: "first", Others: []string{"b.go"}}, end("two"))
	check.Equal(t, "a task without a feature", none, end("other"))
}
