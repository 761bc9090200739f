package project

import "time"

// Temporal is how ralph-temporal has attempts made on other machines. Of ralph itself, only a run that hands its attempts
// out reads it, for Remote and Jobs.
type Temporal struct {
	Address   string   `toml:"address" is:"server"`     // of the server; empty is what Temporal's own environment and profile say
	Namespace string   `toml:"namespace"`               // the same
	Remote    string   `toml:"remote" is:"remote"`      // of git: code travels through it
	Queue     string   `toml:"queue" is:"queue"`        // that workers poll
	Needs     []string `toml:"needs" is:"tag"`          // tags whose tasks have a queue of their own
	CodecKey  string   `toml:"codec_key" is:"key file"` // the file with the key of what the server stores; empty encrypts nothing
	Heartbeat Duration `toml:"heartbeat" least:"1s"`    // a worker that is silent for longer has lost its attempt
	Jobs      int      `toml:"jobs" least:"1"`
}

func defaultTemporal() Temporal {
	return Temporal{Remote: "origin", Queue: "ralph", Needs: []string{}, Heartbeat: Duration(30 * time.Second), Jobs: 16}
}
