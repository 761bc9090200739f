package project

import (
	"fmt"
	"net"
	"strings"
)

// ServeConfig is where ralph serve is reached, and by whom.
type ServeConfig struct {
	Listen   string   `toml:"listen"`
	TokenEnv string   `toml:"token_env"` // the variable that has the token
	Hosts    []string `toml:"hosts"`     // names under which it is reached through a proxy
	ReadOnly bool     `toml:"read_only"`
	Allow    []string `toml:"allow"` // flags that weaken a run and may come from outside all the same
}

func (c ServeConfig) invalid() (key, why string) {
	if _, _, err := net.SplitHostPort(c.Listen); err != nil {
		return "serve.listen", fmt.Sprintf("%q is not an address with a port, such as 127.0.0.1:7447", c.Listen)
	}
	for _, h := range c.Hosts {
		if h == "" || strings.ContainsAny(h, "/@*? ") {
			return "serve.hosts", fmt.Sprintf("%q is not the name of a host, such as ralph.example.com", h)
		}
	}
	return "", ""
}
