package project

// ServeConfig is where ralph serve is reached, and by whom.
type ServeConfig struct {
	Listen   string   `toml:"listen" is:"listen"`
	TokenEnv string   `toml:"token_env"`       // the variable that has the token
	Hosts    []string `toml:"hosts" is:"host"` // names under which it is reached through a proxy
	ReadOnly bool     `toml:"read_only"`
	Allow    []string `toml:"allow"` // flags that weaken a run and may come from outside all the same
}
