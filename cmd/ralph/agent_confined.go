package main

import "errors"

// confinedSession is an agent, and what it is confined to.
type confinedSession struct {
	*agentSession
	conf *confined
}

// Sandbox is the level that is in force.
func (s *confinedSession) Sandbox() string { return s.conf.Level.String() }

// Tampered lists what the agent changed although it must not, where nothing could
// prevent it. It may be asked at any time.
func (s *confinedSession) Tampered() ([]string, error) { return s.conf.Tampered() }

// Close ends the agent and removes its temporary folder.
func (s *confinedSession) Close() error {
	return errors.Join(s.agentSession.Close(), s.conf.Close())
}
