package main

import "errors"

// confinedSession is an agent, and what it is confined to.
type confinedSession struct {
	*agentSession
	conf  *confined
	judge bool // it was to change nothing

	changed []string // by a judge, and undone
	failed  error    // to tell, or to undo
}

// Sandbox is the level that is in force.
func (s *confinedSession) Sandbox() string { return s.conf.Level.String() }

// Tampered lists what the agent changed although it must not, where nothing could
// prevent it. An agent at work may be asked about at any time; of a judge the
// answer is known after Close.
func (s *confinedSession) Tampered() ([]string, error) {
	if s.judge {
		return s.changed, s.failed
	}
	return s.conf.Tampered()
}

// Close ends the agent, undoes what a judge did, and removes the agent's
// temporary folder.
func (s *confinedSession) Close() error {
	err := s.agentSession.Close()
	if s.judge {
		s.changed, s.failed = s.conf.undo()
	}
	return errors.Join(err, s.conf.Close())
}
