package dag_test

import (
	"strings"
	"testing"

	"ralph/dag"
	"ralph/internal/testing/check"
)

// conditional has a task "build" with the output out, and "fix", which waits for it and says when.
func conditional(t *testing.T, when dag.When) *world {
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "build", Output: "out", OnFail: dag.Continue}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "fix", When: &when}, After: []string{w.id("build")}})
	w.plan("after after fix")
	return w
}

const unknown = -2

// end ends the task build with what its attempt came to; the code unknown and "-" are not known.
func (w *world) end(status dag.Status, code int, printed string) {
	w.t.Helper()
	var came dag.Came
	if code != unknown {
		came.Exit = &code
	}
	if printed != "-" {
		came.Printed = &printed
	}
	c := w.claim("build")
	w.update(func(g *dag.Graph) error {
		if err := g.History.NoteAttempt(c.Attempt, dag.Note{Came: came}); err != nil {
			return err
		}
		if status == dag.Failed {
			return g.Queue.Fail(c, "it broke")
		}
		return g.Queue.Complete(c, "passed")
	})
}

func TestAConditionLooksAtWhatAnEarlierTaskCameTo(t *testing.T) {
	t.Parallel()
	three := 3
	tests := map[string]struct {
		when    dag.When
		status  dag.Status
		exit    int
		printed string
		claim   string // which comes next
		why     string // of fix, where it is not fix
	}{
		"it failed":               {dag.When{Status: dag.Failed}, dag.Failed, 1, "-", "fix", ""},
		"it did not fail":         {dag.When{Status: dag.Failed}, dag.Done, 0, "-", "after", "is done, not failed"},
		"its exit status":         {dag.When{Exit: &three}, dag.Failed, 3, "-", "fix", ""},
		"another exit status":     {dag.When{Exit: &three}, dag.Failed, 4, "-", "after", "ended with exit status 4, not 3"},
		"an unknown exit status":  {dag.When{Exit: &three}, dag.Failed, unknown, "-", "", "no exit status of out"},
		"a signal":                {dag.When{Exit: &three}, dag.Failed, dag.BySignal, "-", "after", "a signal ended out"},
		"a match":                 {dag.When{Matches: `(?m)^\d+ errors$`}, dag.Done, 0, "all\n3 errors\n", "fix", ""},
		"no match":                {dag.When{Matches: "errors"}, dag.Done, 0, "fine", "after", "does not match errors"},
		"a match with nothing":    {dag.When{Matches: "errors"}, dag.Done, 0, "", "after", "does not match errors"},
		"an unknown result":       {dag.When{Matches: "errors"}, dag.Done, 0, "-", "", "no result of out"},
		"it lacks that":           {dag.When{Lacks: "errors"}, dag.Done, 0, "fine", "fix", ""},
		"it does not lack that":   {dag.When{Lacks: "errors"}, dag.Done, 0, "errors", "after", "matches errors"},
		"an unknown one may lack": {dag.When{Lacks: "errors"}, dag.Done, 0, "-", "", "no result of out"},
		"both":                    {dag.When{Status: dag.Failed, Exit: &three, Matches: "a", Lacks: "b"}, dag.Failed, 3, "a", "fix", ""},
		"one of both":             {dag.When{Status: dag.Failed, Exit: &three, Matches: "a", Lacks: "b"}, dag.Failed, 3, "ab", "after", "matches b"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.when.Output = "out"
			w := conditional(t, test.when)
			w.end(test.status, test.exit, test.printed)
			c, _ := w.next(dag.ClaimOptions{})
			check.Equal(t, "claim", test.claim, c.Task.Title)
			want := map[string]dag.Status{"fix": dag.InProgress, "after": dag.Cancelled, "": dag.Blocked}[test.claim]
			w.wantStatuses(map[string]dag.Status{"fix": want})
			fix := w.task("fix")
			if reasons := get(w, func(g *dag.Graph) ([]dag.Reason, error) { return g.Tasks.Why(fix) }); test.why != "" {
				check.That(t, len(reasons) == 1 && strings.Contains(reasons[0].Text, test.why), "got %v, want %s", reasons, test.why)
			}
			w.sound()
		})
	}
}

func TestWhatNobodyRecordedIsADoubt(t *testing.T) {
	t.Parallel()
	for name, earlier := range map[string]func(w *world){
		"it was done by hand": func(w *world) { w.person(finish, "build") },
		"it was done by hand after a failure": func(w *world) {
			w.end(dag.Failed, 1, "x")
			w.person(finish, "build")
		},
		"it is not waited for": func(w *world) {
			w.update(func(g *dag.Graph) error { return g.Plan.Unlink(w.id("build"), w.id("fix")) })
		},
		"two have the name": func(w *world) {
			w.end(dag.Done, 0, "x")
			two := w.add(dag.NewTask{Detail: dag.Detail{Title: "two", Output: "out"}})
			w.update(func(g *dag.Graph) error { return g.Plan.Link(two, w.id("fix")) })
			w.work("two")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := conditional(t, dag.When{Output: "out", Matches: "x"})
			earlier(w)
			w.claims(dag.ClaimOptions{})
			w.wantStatuses(map[string]dag.Status{"fix": dag.Blocked, "after": dag.Pending})
			w.person(unblock, "fix")
			w.claims(dag.ClaimOptions{})
			w.wantStatuses(map[string]dag.Status{"fix": dag.Blocked}) // nobody knows more
			w.update(func(g *dag.Graph) error { return g.Plan.Edit(w.id("fix"), dag.Detail{}, "when") })
			w.person(unblock, "fix")
			w.work("fix")
			w.sound()
		})
	}
}

func TestATaskThatIsLeftOutCameToNothing(t *testing.T) {
	t.Parallel()
	w := conditional(t, dag.When{Output: "out", Status: dag.Failed})
	add := func(title string, when dag.When) {
		when.Output = "fixed"
		w.add(dag.NewTask{Detail: dag.Detail{Title: title, When: &when}, After: []string{w.id("fix")}})
	}
	w.update(func(g *dag.Graph) error { return g.Plan.Edit(w.id("fix"), dag.Detail{Output: "fixed"}, "output") })
	add("checks", dag.When{Matches: "x"})
	add("lacks", dag.When{Lacks: "x"})
	add("instead", dag.When{Status: dag.Cancelled})
	w.end(dag.Done, 0, "x")
	check.Equal(t, "claims", []string{"after", "instead"}, w.claims(dag.ClaimOptions{}))
	w.wantStatuses(map[string]dag.Status{"checks": dag.Cancelled, "lacks": dag.Cancelled})
	w.sound()
}

// A script that runs again has not ended as it did before.
func TestAnotherPromptForgetsWhatTheOneBeforeCameTo(t *testing.T) {
	t.Parallel()
	zero, printed := 0, "fine"
	w := conditional(t, dag.When{Output: "out", Exit: &zero})
	c := w.claim("build")
	w.update(func(g *dag.Graph) error {
		for _, n := range []dag.Note{{Came: dag.Came{Exit: &zero, Printed: &printed}}, {Phase: dag.Prompted}} {
			if err := g.History.NoteAttempt(c.Attempt, n); err != nil {
				return err
			}
		}
		return g.Queue.Complete(c, "passed")
	})
	w.claims(dag.ClaimOptions{})
	w.wantStatuses(map[string]dag.Status{"fix": dag.Blocked})
}

func TestATaskThatIsDecidedIsDecidedAgainOnceItIsReset(t *testing.T) {
	t.Parallel()
	w := conditional(t, dag.When{Output: "out", Status: dag.Failed})
	w.end(dag.Done, 0, "x")
	w.claims(dag.ClaimOptions{})
	w.person(reset, "fix")
	w.person(reset, "build")
	w.end(dag.Failed, 1, "x")
	w.work("fix")
	w.sound()
}

// What a group waits for, its members wait for: the items of a loop say what they look at.
func TestAMemberOfAGroupLooksAtWhatTheGroupWaitsFor(t *testing.T) {
	t.Parallel()
	w := conditional(t, dag.When{Output: "out", Status: dag.Done})
	group := w.add(dag.NewTask{Detail: dag.Detail{Title: "group"}, After: []string{w.id("build")}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "member", When: &dag.When{Output: "out", Status: dag.Failed}}, Parent: group})
	w.end(dag.Done, 0, "x")
	w.claims(dag.ClaimOptions{})
	w.wantStatuses(map[string]dag.Status{"member": dag.Cancelled, "group": dag.Cancelled})
	check.That(t, w.task("group").Satisfied, "who waits for the group waits for ever")
	w.sound()
}

func TestConditionsThatCannotBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for text, want := range map[string]string{
		`{"status": "failed"}`:                  "names no output",
		`{"output": "a"}`:                       "asks nothing",
		`{"output": "a", "status": "pending"}`:  "done, failed or cancelled",
		`{"output": "a", "matches": "("}`:       "missing closing )",
		`{"output": "a", "task": "t-00000001"}`: "is not a condition",
		`failed`:                                "is not a condition",
	} {
		var d dag.Detail
		f, _ := dag.FieldNamed("when")
		err := f.Parse(&d, text)
		if err == nil {
			err = f.Check(&d)
		}
		check.Err(t, text, want, err)
	}
	w.sound()
}

func TestARunDecidesOnlyWhatIsInItsScope(t *testing.T) {
	t.Parallel()
	w := conditional(t, dag.When{Output: "out", Status: dag.Failed})
	w.plan("other feature f")
	w.end(dag.Done, 0, "x")
	for _, scope := range []dag.Scope{{Feature: "f"}, {Task: w.id("other")}} {
		list := []dag.Decided{}
		w.update(func(g *dag.Graph) (err error) { list, err = g.Queue.Decide(scope, true); return err })
		check.Equal(t, "decided", 0, len(list))
	}
	w.claims(dag.ClaimOptions{Scope: dag.Scope{Task: w.id("fix")}})
	w.wantStatuses(map[string]dag.Status{"fix": dag.Cancelled})
}
