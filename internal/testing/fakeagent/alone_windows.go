package fakeagent

// alone cannot tell here.
func (a *agent) alone(string) {}
