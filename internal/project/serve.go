package project

// ServeConfig is where ralph serve is reached, and by whom.
type ServeConfig struct {
	Listen   string
	TokenEnv string   // the variable that has the token
	Hosts    []string // names under which it is reached through a proxy
	ReadOnly bool
	Allow    []string // flags that weaken a run and may come from outside all the same
}
