package agents

import (
	"slices"
	"testing"

	"ralph/internal/testing/check"
)

// TestOnlyWhoGetsToolsTrustsTheFolder: a verifier must not obey settings that the agent before it may have written there.
func TestOnlyWhoGetsToolsTrustsTheFolder(t *testing.T) {
	t.Parallel()
	gemini, err := Finder{}.Preset("gemini")
	check.OK(t, err)
	o := &Opener{Settings: Settings{Chosen: Agent{Preset: gemini}}}
	for verifier, trusts := range map[bool]bool{false: true, true: false} {
		ag, err := o.agentFor(&SessionSpec{Verifier: verifier})
		check.OK(t, err)
		check.Equal(t, "trusts", trusts, slices.Contains(Environ(ag.Preset, nil, false), "GEMINI_CLI_TRUST_WORKSPACE=true"))
	}
	o.Chosen.Set = append(o.Chosen.Set, Variable{Name: "GEMINI_CLI_TRUST_WORKSPACE", Value: "false"})
	ag, err := o.agentFor(&SessionSpec{})
	check.OK(t, err)
	check.Equal(t, "what the user says", []string{"GEMINI_CLI_TRUST_WORKSPACE=false"}, Environ(ag.Preset, nil, false))
}
