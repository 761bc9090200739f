package dag_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"ralph/dag"
	"ralph/internal/testing/check"
)

func TestALimitOfAnAgentIsKnownUntilItIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	limit := func(agent string, after time.Duration, reason string) {
		w.update(func(g *dag.Graph) error {
			return g.Queue.LimitAgent(dag.AgentLimit{Agent: agent, Until: w.clock().Add(after), Reason: reason})
		})
	}
	want := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, l := range get(w, func(g *dag.Graph) ([]dag.AgentLimit, error) { return g.Queue.AgentLimits() }) {
			got = append(got, l.Agent+": "+l.Reason)
		}
		check.Equal(t, when, want, got)
	}
	limit("claude", time.Hour, "first")
	limit("codex", time.Minute, "soon")
	limit("claude", 2*time.Hour, "again")
	want("at first", "codex: soon", "claude: again")
	w.pass(time.Minute)
	want("after a minute", "claude: again")
	w.update(func(g *dag.Graph) error { return g.Queue.LiftLimit("codex") })
	want("after another one's was lifted", "claude: again")
	w.update(func(g *dag.Graph) error { return g.Queue.LiftLimit("") })
	want("after all were lifted")
}

func TestAClaimSkipsRateLimitedAgentsAndSpentBudgets(t *testing.T) {
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
			w.add(dag.NewTask{Detail: dag.Detail{Title: "plain"}})
			w.add(dag.NewTask{Detail: dag.Detail{Title: "own", Agent: "codex"}, Feature: "f"})
			w.plan("group", "child in group prio 5")
			w.add(dag.NewTask{Detail: dag.Detail{Title: "own child", Agent: "codex", Priority: 6}, Parent: w.id("group")})
			opts := dag.ClaimOptions{KeepGoing: keepGoing, Skip: test.skip, Scope: map[string]dag.Scope{"f": {Feature: "f"}, "group": {Task: w.id("group")}}[test.scope]}
			opts.Skip.Tasks = nil
			for _, title := range test.skip.Tasks {
				opts.Skip.Tasks = append(opts.Skip.Tasks, w.id(title))
			}
			c, _ := w.next(opts)
			check.Equal(t, fmt.Sprintf("%s (keep going: %v)", name, keepGoing), test.want, c.Task.Title)
		}
	}
}

func TestATaskDoesNotWaitForAnAgentThatIsNotNeeded(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.add(dag.NewTask{Detail: dag.Detail{Title: "plain"}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "own", Agent: "claude"}})
	w.add(dag.NewTask{Detail: dag.Detail{Title: "other"}})
	for title, agent := range map[string]string{"plain": "claude", "own": "claude", "other": ""} {
		c := w.claim(title)
		w.update(func(g *dag.Graph) error {
			return g.Queue.Release(c, dag.Release{NotBefore: w.clock().Add(time.Hour), Wait: "a limit", WaitAgent: agent})
		})
	}
	for needed, want := range map[string][]string{"claude": {"plain", "own", "other"}, "codex": {"own", "other"}} {
		var waiting []string
		err := w.try(func(g *dag.Graph) error {
			err := g.Queue.ForgetWaits(func(agent string) bool { return agent == needed })
			list, _ := g.Tasks.List(dag.Filter{})
			for _, t := range list {
				if !t.NotBefore.IsZero() {
					waiting = append(waiting, t.Title)
				}
			}
			return keepNot(err)
		})
		check.That(t, errors.Is(err, errNotKept), "%v", err)
		check.Equal(t, "what waits while a run needs "+needed, want, waiting)
	}
}
