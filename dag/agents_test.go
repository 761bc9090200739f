package dag_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func (w *world) limits() (names []string) {
	w.view(func(g *dag.Graph) error {
		list, err := g.AgentLimits()
		for _, l := range list {
			names = append(names, l.Agent+": "+l.Reason)
		}
		return err
	})
	return names
}

func TestALimitOfAnAgentIsKnownUntilItIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limit := func(agent string, after time.Duration, reason string) {
		w.update(func(g *dag.Graph) error {
			return g.LimitAgent(dag.AgentLimit{Agent: agent, Until: w.clock().Add(after), Reason: reason})
		})
	}
	limit("claude", time.Hour, "first")
	limit("codex", time.Minute, "soon")
	limit("claude", 2*time.Hour, "told again")
	check.Equal(t, "result", []string{"codex: soon", "claude: told again"}, w.limits())
	w.pass(time.Minute)
	if diff := cmp.Diff([]string{"claude: told again"}, w.limits()); diff != "" {
		t.Errorf("after a minute:\n%s", diff)
	}
	w.update(func(g *dag.Graph) error { return g.LiftLimit("codex") })
	if len(w.limits()) != 1 {
		t.Error("another agent's limit was lifted")
	}
	w.update(func(g *dag.Graph) error { return g.LiftLimit("") })
	if len(w.limits()) != 0 {
		t.Error("lifting all leaves some")
	}
}

func TestAClaimSkipsWhatHasNoRoomOrNoMoney(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		skip  dag.Skip
		scope string // a feature, a group, or all
		want  string
	}{
		"nothing is skipped":                         {dag.Skip{Agent: "claude"}, "", "plain"},
		"the run's agent is limited":                 {dag.Skip{Agent: "claude", Agents: []string{"claude"}}, "", "own"},
		"another agent is limited":                   {dag.Skip{Agent: "claude", Agents: []string{"codex"}}, "", "plain"},
		"a task is set aside":                        {dag.Skip{Agent: "claude", Tasks: []string{"plain"}}, "", "own"},
		"a task is set aside, in a feature":          {dag.Skip{Agent: "claude", Tasks: []string{"own"}}, "f", ""},
		"a task is set aside, below a group":         {dag.Skip{Agent: "claude", Tasks: []string{"child"}}, "group", "own child"},
		"both are limited":                           {dag.Skip{Agent: "claude", Agents: []string{"claude", "codex"}}, "", ""},
		"a feature has spent its money":              {dag.Skip{Agent: "claude", Agents: []string{"codex"}, Features: []string{"f"}}, "f", ""},
		"a feature has, and others have not":         {dag.Skip{Agent: "claude", Features: []string{"f"}}, "", "plain"},
		"the run's agent is limited, in a feature":   {dag.Skip{Agent: "claude", Agents: []string{"claude"}}, "f", "own"},
		"another agent is limited, below a group":    {dag.Skip{Agent: "claude", Agents: []string{"codex"}}, "group", "child"},
		"the run's agent is limited, below a group":  {dag.Skip{Agent: "claude", Agents: []string{"claude"}}, "group", "own child"},
		"all agents are limited, below a group":      {dag.Skip{Agent: "claude", Agents: []string{"claude", "codex"}}, "group", ""},
		"the run's agent is all that there is":       {dag.Skip{Agent: "codex", Agents: []string{"codex"}}, "", ""},
		"a name that means nothing in JSON or SQL":   {dag.Skip{Agent: `"'`, Agents: []string{`"'`}}, "", "own"},
		"a feature that all of the scope belongs to": {dag.Skip{Agent: "claude", Features: []string{"f"}}, "f", ""},
	}
	for name, test := range tests {
		for _, keepGoing := range []bool{false, true} {
			w := newWorld(t)
			ids := map[string]string{"plain": w.add(dag.NewTask{Title: "plain"})}
			ids["own"] = w.add(dag.NewTask{Title: "own", Agent: "codex", Feature: "f"})
			group := w.add(dag.NewTask{Title: "group"})
			ids["child"] = w.add(dag.NewTask{Title: "child", Parent: group, Priority: 5})
			w.add(dag.NewTask{Title: "own child", Parent: group, Agent: "codex", Priority: 6})
			opts := dag.ClaimOptions{KeepGoing: keepGoing, Skip: test.skip}
			opts.Skip.Tasks = nil
			for _, title := range test.skip.Tasks {
				opts.Skip.Tasks = append(opts.Skip.Tasks, ids[title])
			}
			switch test.scope {
			case "f":
				opts.Scope.Feature = "f"
			case "group":
				opts.Scope.Task = group
			}
			if c, _ := w.next(opts); c.Task.Title != test.want {
				t.Errorf("%s (keep going: %v): got %q, want %q", name, keepGoing, c.Task.Title, test.want)
			}
		}
	}
}

func TestATaskDoesNotWaitForAnAgentThatIsNotNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Title: "plain"})
	w.add(dag.NewTask{Title: "own", Agent: "claude"})
	w.add(dag.NewTask{Title: "other"})
	for title, agent := range map[string]string{"plain": "claude", "own": "claude", "other": ""} {
		c := w.claim(title)
		w.update(func(g *dag.Graph) error {
			return g.Release(c, dag.Release{NotBefore: w.clock().Add(time.Hour), Wait: "a limit", WaitAgent: agent})
		})
	}
	waiting := func() (titles []string) {
		for _, title := range []string{"plain", "own", "other"} {
			if !w.task(title).NotBefore.IsZero() {
				titles = append(titles, title)
			}
		}
		return titles
	}
	w.update(func(g *dag.Graph) error { return g.ForgetWaits(func(agent string) bool { return agent == "claude" }) })
	if diff := cmp.Diff([]string{"plain", "own", "other"}, waiting()); diff != "" {
		t.Errorf("the same agent runs again:\n%s", diff)
	}
	w.update(func(g *dag.Graph) error { return g.ForgetWaits(func(agent string) bool { return agent == "codex" }) })
	if diff := cmp.Diff([]string{"own", "other"}, waiting()); diff != "" {
		t.Errorf("another agent runs:\n%s", diff)
	}
}
