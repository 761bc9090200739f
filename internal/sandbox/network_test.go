package sandbox

import (
	"testing"

	"ralph/internal/project"
	"ralph/internal/testing/check"
)

// TestWhoHasANetwork: each setting is about one sort of processes, and only namespaces can take the network away.
func TestWhoHasANetwork(t *testing.T) {
	t.Parallel()
	agent := Process{Argv: []string{"agent"}}
	for name, tc := range map[string]struct {
		network                 project.NetworkConfig
		agent, verifier, gate   bool
		setup, verifyingCommand bool
	}{
		"nobody named": {network: project.NetworkConfig{}},
		"agent":        {network: project.NetworkConfig{Agent: "off", Verifier: "on"}, agent: true},
		"verifier":     {network: project.NetworkConfig{Verifier: "off"}, verifier: true},
		"gates":        {network: project.NetworkConfig{Gates: "off"}, gate: true, verifyingCommand: true},
	} {
		c := &Confiner{opts: Options{Network: tc.network}}
		check.Equal(t, name+": agent", tc.agent, c.offline(Work, agent))
		check.Equal(t, name+": verifier", tc.verifier, c.offline(Verify, agent))
		check.Equal(t, name+": gate", tc.gate, c.offline(Work, Process{}))
		check.Equal(t, name+": gate in a copy", tc.verifyingCommand, c.offline(Verify, Process{}))
		check.Equal(t, name+": setup", tc.setup, c.offline(Work, Process{Online: true}))
		check.Equal(t, name+": said where it cannot be", name != "nobody named", c.unenforced() != "")
		c.Work.Level, c.Verification.Level = Namespaces, Namespaces
		check.Equal(t, name+": said where it can be", "", c.unenforced())
	}
}
