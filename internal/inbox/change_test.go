package inbox_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/inbox"
	"ralph/internal/testing/check"
)

// TestWhatAPersonAllowsIsAmongWhatTheTaskMayChange, and nothing else is.
func TestWhatAPersonAllowsIsAmongWhatTheTaskMayChange(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reply inbox.Reply
		want  []string
		told  string
	}{
		"allowed":  {inbox.Reply{Option: 1}, []string{"ci/**", "old", "tests/a_test.py"}, "You may change ci/**, tests/a_test.py."},
		"refused":  {inbox.Reply{Text: "refuse"}, []string{"old"}, "Leave these files as they are"},
		"denied":   {inbox.Reply{Denied: true, Text: "not CI"}, []string{"old"}, "Leave these files as they are: not CI"},
		"in words": {inbox.Reply{Other: true, Text: "only the test"}, []string{"old"}, "Leave these files as they are: only the test"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			task := w.add("paint")
			w.update(func(g *dag.Graph) error {
				return g.Plan.Edit(task, dag.Detail{MayChange: []string{"old"}}, "may_change")
			})
			c := w.claim(task)
			q := w.ask(c, inbox.NewChange([]string{"ci/", "tests/a_test.py"}, "they say blue"))
			check.Equal(t, "text", "May the task change these files, which check its work: ci/**, tests/a_test.py?\nthey say blue", q.Text)
			w.release(c)
			check.Equal(t, "while it is open", "asks", w.task(task).State(start))
			check.OK(t, w.answer(q.ID, tt.reply))
			check.Equal(t, "may change", tt.want, w.task(task).MayChange)
			check.Equal(t, "told", tt.told, w.request(q.ID).Told())
			check.That(t, errors.Is(w.answer(q.ID, inbox.Reply{Option: 2, Change: true}), dag.ErrRefused), "what was allowed was changed by another answer")
			w.sound()
		})
	}
}

func TestWhatNobodyAllowsIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("paint")
	r := inbox.NewChange([]string{"ci/**"}, "they say blue")
	r.ExpiresAt = start.Add(time.Hour)
	q := w.ask(w.claim(task), r)
	w.pass(time.Hour)
	w.update(func(g *dag.Graph) error { _, _, err := inbox.Expire(g, w.trust); return err })
	check.Equal(t, "may change", 0, len(w.task(task).MayChange))
	check.Equal(t, "told", "Leave these files as they are", w.request(q.ID).Told())
}

// TestARequestShowsAllThatItIsAbout: an agent that can write the database could have it stand for other files.
func TestARequestShowsAllThatItIsAbout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	task := w.add("paint")
	c := w.claim(task)
	q := w.ask(c, inbox.NewChange([]string{"a_test.py"}, "it says blue"))
	w.update(func(g *dag.Graph) error {
		return g.Tx().Exec(`UPDATE requests SET detail = '{"files":["**"]}' WHERE id = :id;`, ":id", q.ID)
	})
	check.Err(t, "the answer", "does not show all of the files", w.answer(q.ID, inbox.Reply{Option: 1}))
	check.Equal(t, "may change", 0, len(w.task(task).MayChange))
	check.OK(t, w.answer(q.ID, inbox.Reply{Option: 2}))
	for name, globs := range map[string][]string{"none": nil, "outside": {"../a"}, "back up": {"tests/.."}, "exclusion": {"!a"}, "too many": {strings.Repeat("a/", 400), strings.Repeat("b/", 2000)}} {
		err := w.try(func(g *dag.Graph) error {
			_, err := inbox.Ask(g, w.trust, c, inbox.NewChange(globs, "why"))
			return err
		})
		check.That(t, errors.Is(err, dag.ErrRefused), "%s: %v", name, err)
	}
}

// TestARequestForEverythingReadsSo: "." and "./" are all files.
func TestARequestForEverythingReadsSo(t *testing.T) {
	t.Parallel()
	check.Equal(t, "text", "May the task change these files, which check its work: **?\nwhy", inbox.NewChange([]string{"./"}, "why").Text)
}
