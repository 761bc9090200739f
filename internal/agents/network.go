package agents

import (
	"crypto/rand"
	"fmt"
	"path/filepath"

	"ralph/acp"
	"ralph/internal/project"
	"ralph/internal/proxy"
	"ralph/internal/sandbox"
)

// Restrictable says why an agent cannot be restricted to the hosts that [sandbox.network] names, if there are any: through
// the proxy that is its only way out, it would reach nothing.
func (o *Opener) Restrictable(p Preset, verifies bool) error {
	if p.Proxy || len(o.Sandbox.Hosts(verifies)) == 0 {
		return nil
	}
	return fmt.Errorf("%w: sandbox.network.hosts: %s was not seen to send its requests through a proxy; remove the list, take an agent that does (docs/agents.md), or, "+
		"if you know that it does, set proxy = true in [agents.%s]", project.ErrConfig, p.Name, p.Name)
}

// startProxy gives an agent a proxy to the hosts that it may reach.
func (o *Opener) startProxy(s *Session, r SessionSpec, process *sandbox.Process) error {
	list := o.Sandbox.Hosts(r.Verifier)
	if len(list) == 0 {
		return nil
	}
	if err := o.Restrictable(s.preset, r.Verifier); err != nil {
		return err
	}
	hosts, err := proxy.Parse(list)
	if err != nil {
		return err
	}
	var folder string
	if len(o.ToolFolders) > 0 { // short enough for a socket
		folder = o.ToolFolders[0]
	} else if folder, err = o.Sandbox.NewTemp(); err != nil {
		return err
	}
	s.proxy, err = proxy.Listen(filepath.Join(folder, rand.Text()[:8]), hosts, func(host string) {
		s.show(acp.Warned{Text: "the network: no way to " + host})
	})
	if err == nil {
		process.Proxy = s.proxy.Socket()
	}
	return err
}

// closeProxy ends the agent's connections. Doing so again does nothing.
func (s *Session) closeProxy() error {
	if s.proxy == nil {
		return nil
	}
	defer func() { s.proxy = nil }()
	return s.proxy.Close()
}
