package project

import (
	"encoding/base64"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Temporal is how ralph-temporal has attempts made on other machines. Of ralph itself, only a run that hands its attempts
// out reads it, for Remote and Jobs.
type Temporal struct {
	Address   string   `toml:"address"`   // of the server; empty is what Temporal's own environment and profile say
	Namespace string   `toml:"namespace"` // the same
	Remote    string   `toml:"remote"`    // of git: code travels through it
	Queue     string   `toml:"queue"`     // that workers poll
	Needs     []string `toml:"needs"`     // tags whose tasks have a queue of their own
	CodecKey  string   `toml:"codec_key"` // the file with the key of what the server stores; empty encrypts nothing
	Heartbeat Duration `toml:"heartbeat"` // a worker that is silent for longer has lost its attempt
	Jobs      int      `toml:"jobs" least:"1"`
}

func defaultTemporal() Temporal {
	return Temporal{Remote: "origin", Queue: "ralph", Needs: []string{}, Heartbeat: Duration(30 * time.Second), Jobs: 16}
}

func (c Temporal) invalid() (key, why string) {
	if _, port, err := net.SplitHostPort(c.Address); c.Address != "" && (err != nil || port == "") {
		return "temporal.address", fmt.Sprintf("%q is not an address with a port, such as temporal.example.com:7233", c.Address)
	}
	if c.Remote == "" || strings.HasPrefix(c.Remote, "-") || strings.ContainsFunc(c.Remote, unicode.IsSpace) {
		return "temporal.remote", fmt.Sprintf("%q is not the name of a git remote, such as origin", c.Remote)
	}
	if c.Queue == "" || strings.ContainsFunc(c.Queue, unicode.IsSpace) {
		return "temporal.queue", fmt.Sprintf("%q is not the name of a task queue, such as ralph", c.Queue)
	}
	noTag := func(text string) bool {
		return text == "" || strings.ContainsFunc(text, unicode.IsSpace) || strings.Contains(text, ",")
	}
	if i := slices.IndexFunc(c.Needs, noTag); i >= 0 {
		return "temporal.needs", fmt.Sprintf("%q is not a tag of tasks, such as gpu", c.Needs[i])
	}
	if key, err := base64.StdEncoding.DecodeString(c.CodecKey); err == nil && len(key) == 32 {
		return "temporal.codec_key", "it is the path of the file with the key, never the key itself"
	}
	if c.Heartbeat.Std() < time.Second {
		return "temporal.heartbeat", fmt.Sprintf("%s is too short; the least is 1s", c.Heartbeat)
	}
	return "", ""
}
