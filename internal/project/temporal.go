package project

import "time"

// Temporal is how ralph-temporal has attempts made on other machines. Of ralph itself, only a run that hands its attempts
// out reads it, for Remote and Jobs.
type Temporal struct {
	Address   string   // of the server; empty is what Temporal's own environment and profile say
	Namespace string   // the same
	Remote    string   // of git: code travels through it
	Queue     string   // that workers poll
	Needs     []string // tags whose tasks have a queue of their own
	CodecKey  string   // the file with the key of what the server stores; empty encrypts nothing
	Heartbeat Duration // a worker that is silent for longer has lost its attempt
	Jobs      int
}

func defaultTemporal() Temporal {
	return Temporal{Remote: "origin", Queue: "ralph", Needs: []string{}, Heartbeat: Duration(30 * time.Second), Jobs: 16}
}
