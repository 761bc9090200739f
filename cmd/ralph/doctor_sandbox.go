package main

import (
	"ralph/internal/sandbox"
)

// examineSandbox says how well a run in this project would be confined, why not
// better, and what that leaves open.
func (a *app) examineSandbox(s *session) finding {
	c, err := a.confiner("auto", s, 1)
	if err != nil {
		mend := "correct [sandbox] in the configuration: ralph config show"
		return finding{Check: "sandbox", Found: []string{err.Error()}, Mend: &mend}
	}
	level := c.work.Level
	f := finding{Check: "sandbox: " + level.String() + "; not covered:", OK: true, Found: []string{}}
	for _, reason := range c.work.Reasons {
		f.Found = append(f.Found, "no "+reason)
	}
	if c.verification.Level < level {
		f.Found = append(f.Found, "verification is confined less well, by "+c.verification.Level.String())
		for _, reason := range c.verification.Reasons {
			f.Found = append(f.Found, "no "+reason)
		}
	}
	f.Found = append(f.Found, level.Gaps()...)
	switch mode := s.config.Sandbox.Mode; {
	case mode == "off":
		f.Check = "sandbox: off, as configured, although there is " + level.String() + "; not covered:"
		f.Found = sandbox.None.Gaps()
	case mode == "require" && level == sandbox.None:
		mend := `allow one of them on this machine, or set sandbox.mode to "auto"`
		f.OK, f.Mend = false, &mend
		f.Found = append(f.Found, `sandbox.mode is "require": no run starts here`)
	}
	return f
}
