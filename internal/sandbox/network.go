package sandbox

import "ralph/internal/human"

// offline says whether a process gets no network. Gates have no command of their own; see Process.
func (c *Confiner) offline(mode Mode, p Process) bool {
	network := c.opts.Network
	switch {
	case len(p.Argv) == 0:
		return network.Gates == "off" && !p.Online
	case mode == Verify:
		return network.Verifier == "off"
	}
	return network.Agent == "off"
}

// Unrestricted says what [sandbox.network] wants and mode "off" does not give.
func (c *Confiner) Unrestricted() string {
	return (&Confiner{opts: c.opts}).unenforced()
}

// offlines lists who is to have no network.
func (c *Confiner) offlines() (who []string) {
	network := c.opts.Network
	for _, w := range []struct{ name, is string }{{"agents", network.Agent}, {"verifiers", network.Verifier}, {"gates", network.Gates}} {
		if w.is == "off" {
			who = append(who, w.name)
		}
	}
	return who
}

// Hosts are the only ones that an agent may reach; none if it may reach all, or if that cannot be helped.
func (c *Confiner) Hosts(verifies bool) []string {
	network, level, is := c.opts.Network, c.Work.Level, c.opts.Network.Agent
	if verifies {
		level, is = c.Verification.Level, network.Verifier
	}
	if level != Namespaces || is == "off" {
		return nil
	}
	return network.Hosts
}

// unenforced says what [sandbox.network] wants and the level does not give. It is empty if nothing is missing.
func (c *Confiner) unenforced() string {
	who := c.offlines()
	switch {
	case c.Work.Level == Namespaces && c.Verification.Level == Namespaces:
		return ""
	case len(who) > 0:
		return human.List(who, len(who)) + " keep the network, because taking it away needs namespaces"
	case len(c.opts.Network.Hosts) > 0:
		return "agents reach every host, because a list of hosts needs namespaces"
	}
	return ""
}

// Network says what of [sandbox.network] is in force, and what is not. It is empty if nothing is restricted.
func (c *Confiner) Network() string {
	if c.unenforced() != "" {
		return c.unenforced()
	}
	who, hosts := c.offlines(), c.opts.Network.Hosts
	return human.List(human.Parts(
		human.Lead("no network for ", human.List(who, len(who))), human.Lead("agents reach only ", human.List(hosts, 5)),
	), 2)
}
