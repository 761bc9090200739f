package loop

import (
	"slices"
	"strings"
	"testing"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/testing/fakeagent"
)

// TestDiffersHintsAreTiersOrOffered: an agent that asks for a model that nobody
// offers must not end the run.
func TestDiffersHintsAreTiersOrOffered(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		hint   string
		model  string // that the second task is opened with
		warned bool
	}{
		"a tier is taken":                {"opus", "opus", false},
		"a name that is offered, too":    {"swift-1", "swift-1", false},
		"a name that nobody offers, not": {"gpt-99", "sonnet", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fakeagent.Script{
				Models: []string{"sonnet", "opus", "haiku", "swift-1"},
				Conversations: []fakeagent.Conversation{
					{When: fakeagent.When{Contains: "first thing"}, Steps: []fakeagent.Step{{Do: "say", Text: "<next-model>" + tt.hint + "</next-model>\n"}, done()}},
				},
			})
			s.add(t, dag.NewTask{Title: "first thing"}, dag.NewTask{Title: "second thing"})
			out := s.run(t)
			if out.Outcome != event.OutcomeComplete || out.Counts.Done != 2 {
				t.Errorf("got %s (%s) with %d done, want complete with 2", out.Outcome, out.Reason, out.Counts.Done)
			}
			claims := s.all(ofType(event.TaskClaimed))
			if len(claims) != 2 || claims[1].Model != tt.model {
				t.Errorf("got %+v, want the second with model %s", claims, tt.model)
			}
			warned := slices.ContainsFunc(s.all(ofType(event.Warned)), func(e event.Event) bool { return strings.Contains(e.Text, tt.hint) })
			if warned != tt.warned {
				t.Errorf("warned: %v, want %v", warned, tt.warned)
			}
		})
	}
}

// TestAHintStaysWithTheAgentThatGaveIt: the name of one agent's model means
// nothing to another agent.
func TestAHintStaysWithTheAgentThatGaveIt(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		first, second string // agents of the tasks; empty is the run's own
		model         string // of the second
	}{
		"from the run's own agent to itself":          {"", "", "swift-1"},
		"from the run's own agent to a task's own":    {"", "other", "sonnet"},
		"from a task's own agent to the run's own":    {"other", "", "sonnet"},
		"from a task's own agent to the same of next": {"other", "other", "swift-1"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, fakeagent.Script{
				Models: []string{"sonnet", "swift-1"},
				Conversations: []fakeagent.Conversation{
					{When: fakeagent.When{Contains: "first thing"}, Steps: []fakeagent.Step{{Do: "say", Text: "<next-model>swift-1</next-model>\n"}, done()}},
				},
			})
			s.add(t, dag.NewTask{Title: "first thing", Agent: tt.first}, dag.NewTask{Title: "second thing", Agent: tt.second})
			s.run(t)
			if claims := s.all(ofType(event.TaskClaimed)); len(claims) != 2 || claims[1].Model != tt.model {
				t.Errorf("got %+v, want the second with model %s", claims, tt.model)
			}
		})
	}
}
