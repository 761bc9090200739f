package main

import (
	"cmp"

	"ralph/internal/proc"
	"ralph/internal/sandbox"
)

// examineSandbox says how well a run in this project would be confined, why not
// better, and what that leaves open.
func (a *app) examineSandbox(s *session) finding {
	c, err := a.confiner("auto", s)
	if err != nil {
		return found("sandbox", levelProblem, err.Error(), cmp.Or(hintFor(err), "correct [sandbox] in the configuration: ralph config show"))
	}
	level := c.work.Level
	var open []string
	for _, reason := range c.work.Reasons {
		open = append(open, "no "+reason)
	}
	if c.verification.Level < level {
		open = append(open, "verification is confined less well, by "+c.verification.Level.String())
		for _, reason := range c.verification.Reasons {
			open = append(open, "no "+reason)
		}
	}
	open = append(open, level.Gaps()...)
	if len(c.planted) > 0 {
		told := []string{}
		for _, p := range c.planted {
			told = append(told, p.String())
		}
		return found("sandbox", levelProblem, level.String()+"; an agent changed what it must not:", c.plantedMend(), told...)
	}
	switch mode := s.config.Sandbox.Mode; {
	case mode == "off":
		return found("sandbox", levelOK, "off, as configured, although there is "+level.String()+"; not covered:", "", sandbox.None.Gaps()...)
	case mode == "require" && c.lacking() != "":
		return found("sandbox", levelProblem, level.String()+`, and sandbox.mode is "require": no run starts here; not covered:`,
			`allow one of them on this machine, or set sandbox.mode to "auto"`, open...)
	}
	return found("sandbox", levelOK, level.String()+"; not covered:", "", open...)
}

// examineProcesses says whether anything can outlive an agent here.
func examineProcesses() finding {
	gaps := proc.Gaps()
	if len(gaps) == 0 {
		return found("processes", levelOK, "an agent is ended with all that it started", "")
	}
	return found("processes", levelOK, "an agent is ended with all that it started; not covered:", "", gaps...)
}
