package fakeagent

import "syscall"

// alone cannot tell here.
func (a *agent) alone(string) {}

func ownSession() *syscall.SysProcAttr { return nil }
