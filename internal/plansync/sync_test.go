package plansync

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ralph/dag"
	"ralph/internal/db"
	"ralph/internal/project"
	"ralph/internal/seq"
	"ralph/internal/taskfile"
	"ralph/internal/testing/check"
	"ralph/internal/testing/emptydb"
	"ralph/internal/testing/raced"
	_ "ralph/internal/testing/seeded"
)

// clone is a project with a plan that git carries.
type clone struct {
	*Sync
	t    check.TB
	ctx  context.Context
	said []string
	now  time.Time
	db   *db.DB
	life dag.Life
}

func newClone(ctx context.Context, t check.TB, dir string) *clone {
	t.Helper()
	c := &clone{t: t, ctx: ctx, now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	p := project.Project{Root: dir}
	check.OK(t, os.MkdirAll(filepath.Join(p.State(), "features"), 0o700))
	emptydb.Write(t, p.DB())
	d, err := db.Open(ctx, p.DB(), db.Options{})
	check.OK(t, err)
	c.db = d
	note := func(format string, args ...any) { c.said = append(c.said, fmt.Sprintf(format, args...)) }
	c.Sync = &Sync{Project: p, Store: dag.New(d, dag.Options{Now: func() time.Time { return c.now }}), Auto: true, Now: func() time.Time { return c.now }, Life: func(dag.Process) dag.Life { return c.life }, Note: note, Warn: note}
	return c
}

func (c *clone) close() { check.OK(c.t, c.db.Close()) }

func (c *clone) update(fn func(*dag.Graph) error) {
	c.t.Helper()
	c.now = c.now.Add(time.Minute)
	check.OK(c.t, c.Store.Update(c.ctx, fn))
}

func (c *clone) add(specs ...dag.Spec) {
	c.t.Helper()
	c.update(func(g *dag.Graph) error { _, err := g.Plan.Import(specs); return err })
}

func (c *clone) title(id, title string) {
	c.t.Helper()
	c.update(func(g *dag.Graph) error { return g.Plan.Edit(id, dag.Detail{Title: title}, "title") })
}

func (c *clone) text() string {
	data, err := os.ReadFile(Path(c.Project, ""))
	if !errors.Is(err, os.ErrNotExist) {
		check.OK(c.t, err)
	}
	return string(data)
}

// both takes in and writes the loose tasks, as a command that plans does, without asking git.
func (c *clone) both() error { return c.sync(c.ctx, []*file{c.file("")}, true) }

func (c *clone) in() error { return c.sync(c.ctx, []*file{c.file("")}, false) }

// titles are those of all tasks, by ID, and their statuses.
func (c *clone) titles() map[string]string {
	c.t.Helper()
	all := map[string]string{}
	check.OK(c.t, c.Store.View(c.ctx, func(g *dag.Graph) error {
		faults, err := g.Verify()
		if len(faults) > 0 {
			err = fmt.Errorf("faults: %v", faults)
		}
		return errors.Join(err, g.Tasks.Each(dag.Filter{}, func(t dag.Task) error {
			after, _, err := g.Tasks.BlockerIDs(t)
			slices.Sort(after)
			all[t.ID] = fmt.Sprint(t.Title, " ", t.Status, " ", t.Priority, t.Parent, after)
			related, rerr := g.Tasks.Related(t)
			if ids := seq.Map(related, func(t dag.Task) string { return t.ID }); len(ids) > 0 {
				slices.Sort(ids)
				all[t.ID] += fmt.Sprint(" related", ids)
			}
			return errors.Join(err, rerr)
		}))
	}))
	return all
}

const one, two, three = "t-00000001", "t-00000002", "t-00000003"

// TestAKilledSyncHeals stops a sync at each point at which kill -9 could leave file and database apart.
func TestAKilledSyncHeals(t *testing.T) {
	t.Parallel()
	killed := errors.New("killed")
	for name, kill := range map[string]func(*clone){
		"before anything is written": func(*clone) {},
		"between the file and the commit": func(c *clone) {
			err := c.Store.Update(c.ctx, func(g *dag.Graph) error {
				_, err := (&merging{s: c.Sync, g: g, files: []*file{c.file("")}, write: true}).do()
				return errors.Join(err, killed)
			})
			if !errors.Is(err, killed) {
				t.Error(err)
			}
			check.Equal(t, "file", true, strings.Contains(c.text(), "here"))
		},
		"after it took in the file, as a command that only looks": func(c *clone) { check.OK(t, c.in()) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClone(t.Context(), t, t.TempDir())
			defer c.close()
			c.add(dag.Spec{Ref: one, Detail: dag.Detail{Title: "one"}}, dag.Spec{Ref: two, Detail: dag.Detail{Title: "two"}}, dag.Spec{Ref: three, Detail: dag.Detail{Title: "three"}})
			check.OK(t, c.both())
			c.title(one, "here")
			c.update(func(g *dag.Graph) error { return g.Plan.Delete(three) })
			there := strings.Replace(c.text(), `"title":"two"`, `"title":"there"`, 1)
			check.OK(t, os.WriteFile(Path(c.Project, ""), []byte(there), 0o600))
			kill(c)
			check.OK(t, c.both())
			check.Equal(t, "tasks", map[string]string{one: "here pending 0[]", two: "there pending 0[]"}, c.titles())
			f, err := taskfile.ParseFile([]byte(c.text()))
			check.OK(t, err)
			check.Equal(t, "lines", []string{"here", "there"}, titlesOf(f))
			before := c.text()
			check.OK(t, c.both())
			check.Equal(t, "the file, once more", before, c.text())
		})
	}
}

func titlesOf(f taskfile.File) (titles []string) {
	for _, s := range f.Specs() {
		titles = append(titles, s.Title)
	}
	return titles
}

// TestWhatIsInProgressIsTakenInLater shows that neither side of it is lost.
func TestWhatIsInProgressIsTakenInLater(t *testing.T) {
	t.Parallel()
	c := newClone(t.Context(), t, t.TempDir())
	defer c.close()
	c.add(dag.Spec{Ref: one, Detail: dag.Detail{Title: "one"}}, dag.Spec{Ref: two, Detail: dag.Detail{Title: "two", Priority: 1}})
	check.OK(t, c.both())
	var claim dag.Claim
	c.update(func(g *dag.Graph) (err error) {
		run, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		if err == nil {
			claim, _, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: time.Hour})
		}
		return err
	})
	check.Equal(t, "claimed", one, claim.Task.ID)
	there := strings.Replace(strings.Replace(c.text(), `"title":"one"`, `"title":"changed"`, 1), `"title":"two"`, `"title":"also"`, 1)
	check.OK(t, os.WriteFile(Path(c.Project, ""), []byte(there), 0o600))
	check.OK(t, c.in())
	check.Equal(t, "while it runs", "one in_progress 0[]", c.titles()[one])
	check.Equal(t, "the other", "also pending 1[]", c.titles()[two])
	check.Equal(t, "said", true, slices.ContainsFunc(c.said, func(s string) bool { return strings.HasPrefix(s, one+": in progress; what ") }))
	c.title(two, "both")
	check.OK(t, c.both())
	check.Equal(t, "their change stays in the file", true, strings.Contains(c.text(), `"title":"changed"`))
	c.update(func(g *dag.Graph) error { return g.Queue.Complete(claim, "passed") })
	check.OK(t, c.both())
	check.Equal(t, "afterwards", map[string]string{one: "changed done 0[]", two: "both pending 1[]"}, c.titles())

	// A line that is deleted meanwhile goes when it can.
	c.update(func(g *dag.Graph) error { return g.Tasks.Reset(one) })
	c.update(func(g *dag.Graph) (err error) {
		run, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		if err == nil {
			claim, _, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: time.Hour})
		}
		return err
	})
	check.OK(t, c.both())
	lines := strings.SplitAfter(c.text(), "\n")
	check.OK(t, os.WriteFile(Path(c.Project, ""), []byte(strings.Join(slices.DeleteFunc(lines, func(l string) bool { return strings.Contains(l, one) }), "")), 0o600))
	check.OK(t, c.both())
	check.Equal(t, "while it runs", 2, len(c.titles()))
	c.update(func(g *dag.Graph) error { return g.Queue.Release(claim, dag.Release{}) })
	check.OK(t, c.both())
	check.Equal(t, "afterwards", map[string]string{two: "both pending 1[]"}, c.titles())
}

// TestTwoClonesEndWithOnePlan lets two people change their databases at random, merges their files as git does, in both
// directions, and demands one file and one plan.
func TestTwoClonesEndWithOnePlan(t *testing.T) {
	raced.Long(t, "one plan after the other is merged here")
	t.Parallel()
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		ann := newClone(t.Context(), rt, filepath.Join(dir, fmt.Sprint("ann", n)))
		bob := newClone(t.Context(), rt, filepath.Join(dir, fmt.Sprint("bob", n)))
		defer ann.close()
		defer bob.close()
		ann.add(dag.Spec{Ref: one, Detail: dag.Detail{Title: "one"}}, dag.Spec{Ref: two, Detail: dag.Detail{Title: "two"}, Parent: one}, dag.Spec{Ref: three, Detail: dag.Detail{Title: "three"}, After: []string{two}})
		check.OK(rt, ann.both())
		for round := range rapid.IntRange(1, 3).Draw(rt, "rounds") {
			base := ann.text()
			check.OK(rt, os.WriteFile(Path(bob.Project, ""), []byte(base), 0o600))
			check.OK(rt, bob.in())
			check.Equal(rt, "what bob has", ann.titles(), bob.titles())
			for i, c := range []*clone{ann, bob} {
				for step := range rapid.IntRange(0, 4).Draw(rt, "edits") {
					edit(rt, c, fmt.Sprintf("t-%02x%02x%04x", round, i, step+1))
				}
				check.OK(rt, c.both())
			}
			var sides [3]taskfile.File
			for i, text := range []string{base, ann.text(), bob.text()} {
				f, err := taskfile.ParseFile([]byte(text))
				check.OK(rt, err)
				sides[i] = f
			}
			for i, c := range []*clone{ann, bob} {
				merged, _, err := taskfile.Merge(sides[0], sides[1+i], sides[2-i])
				check.OK(rt, err)
				check.OK(rt, os.WriteFile(Path(c.Project, ""), merged.Bytes(), 0o600))
				check.OK(rt, c.both())
			}
			check.Equal(rt, "plans", ann.titles(), bob.titles())
			check.Equal(rt, "files", when.ReplaceAllString(ann.text(), ""), when.ReplaceAllString(bob.text(), ""))
		}
	})
}

// when is what two clones may say differently of a group whose status each rolled up by its own clock.
var when = regexp.MustCompile(`,"(updated|deleted)_at":"[^"]*"`)

// edit changes one thing, if that is allowed.
func edit(rt *rapid.T, c *clone, id string) {
	ids := slices.Sorted(maps.Keys(c.titles()))
	if len(ids) == 0 || rapid.IntRange(0, 3).Draw(rt, "add") == 0 {
		c.add(dag.Spec{Ref: id, Detail: dag.Detail{Title: "new " + id}})
		return
	}
	some := func(label string) string { return rapid.SampledFrom(ids).Draw(rt, label) }
	at, other := some("task"), some("other")
	title := rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "title")
	c.now = c.now.Add(time.Minute)
	_ = c.Store.Update(c.ctx, func(g *dag.Graph) error {
		switch rapid.IntRange(0, 9).Draw(rt, "what") {
		case 0:
			return g.Plan.Edit(at, dag.Detail{Title: title}, "title")
		case 1:
			return g.Tasks.Finish(at)
		case 2:
			return g.Plan.Link(other, at)
		case 3:
			return g.Plan.DeleteTree(at)
		case 4:
			return g.Plan.Move(at, other)
		case 5:
			return g.Tasks.Block(at, "")
		case 6:
			return g.Tasks.GiveUp(at, "")
		case 7:
			return g.Plan.Relate(at, other)
		case 8:
			return g.Plan.Unrelate(at, other)
		default:
			return g.Tasks.Reset(at)
		}
	})
}

// TestWhereGitCarriesNoPlanNothingHappens asks git once for each state of its index.
func TestWhereGitCarriesNoPlanNothingHappens(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("needs git")
	}
	c := newClone(t.Context(), t, t.TempDir())
	defer c.close()
	c.now = time.Now().Add(time.Hour) // nothing is fresh
	c.add(dag.Spec{Ref: one, Detail: dag.Detail{Title: "one"}})
	check.OK(t, c.Out(t.Context()))
	check.Equal(t, "file", "", c.text())
	git := func(args ...string) {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", c.Project.Root}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	git("init", "-q")
	check.OK(t, c.Out(t.Context()))
	check.Equal(t, "file", "", c.text())
	check.OK(t, os.MkdirAll(c.Project.Feature("x"), 0o700))
	check.OK(t, os.WriteFile(filepath.Join(c.Project.Feature("x"), "spec.md"), []byte("x"), 0o600))
	git("add", "-f", ".ralph/features")
	check.OK(t, c.Out(t.Context()))
	check.Equal(t, "written", true, strings.Contains(c.text(), "one"))

	// While an agent works in this folder, git there is its own.
	var claim dag.Claim
	c.update(func(g *dag.Graph) (err error) {
		run, err := g.History.StartRun(dag.Scope{}, dag.Process{PID: 1})
		if err == nil {
			claim, _, err = g.Queue.Claim(dag.ClaimOptions{Run: run, Lease: time.Hour})
		}
		return err
	})
	stashed := c.text()
	check.OK(t, os.WriteFile(Path(c.Project, ""), []byte(strings.Replace(stashed, `"title":"one"`, `"title":"there"`, 1)), 0o600))
	c.life = dag.Alive
	check.OK(t, c.In(t.Context()))
	c.add(dag.Spec{Ref: two, Detail: dag.Detail{Title: "new"}})
	check.OK(t, c.Out(t.Context()))
	check.Equal(t, "file", false, strings.Contains(c.text(), "new"))
	c.update(func(g *dag.Graph) error { return g.Queue.Release(claim, dag.Release{}) })
	check.Equal(t, "task", "one pending 0[]", c.titles()[one])
	check.OK(t, c.In(t.Context()))
	check.OK(t, c.Out(t.Context()))
	check.Equal(t, "task", "there pending 0[]", c.titles()[one])
	check.Equal(t, "file", true, strings.Contains(c.text(), "new"))

	c.Auto = false
	c.title(one, "two")
	check.OK(t, c.Out(t.Context()))
	check.Equal(t, "manual", false, strings.Contains(c.text(), "two"))
}
