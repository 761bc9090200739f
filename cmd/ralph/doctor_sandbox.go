package main

import (
	"cmp"

	"ralph/internal/proc"
	"ralph/internal/sandbox"
)

// examineSandbox says how well a run in this project would be confined, why not
// better, and what that leaves open.
func examineSandbox(a *app, s *session) finding {
	c, err := a.confiner(sandbox.Options{Mode: "auto", Project: s.project}, s.config.Sandbox)
	if err != nil {
		return found("sandbox", levelProblem, err.Error(), cmp.Or(hintFor(err), "correct [sandbox] in the configuration: ralph config show"))
	}
	level := c.Work.Level
	if list := c.Planted(); len(list) > 0 {
		var planted []string
		for _, p := range list {
			planted = append(planted, p.String())
		}
		return found("sandbox", levelProblem, level.String()+"; an agent changed what it must not:", sandbox.PlantedFix(s.project), planted...)
	}
	switch mode := s.config.Sandbox.Mode; {
	case mode == "off":
		return found("sandbox", levelOK, "off, as configured, although there is "+level.String()+"; not covered:", "", sandbox.None.Gaps()...)
	case mode == "require" && c.Lacking() != "":
		return found("sandbox", levelProblem, level.String()+`, and sandbox.mode is "require": no run starts here; not covered:`,
			`allow one of them on this machine, or set sandbox.mode to "auto"`, c.Gaps()...)
	}
	return found("sandbox", levelOK, level.String()+"; not covered:", "", c.Gaps()...)
}

// examineProcesses says whether anything can outlive an agent here.
func examineProcesses() finding {
	text, gaps := "an agent is killed with everything that it started", proc.Gaps()
	if len(gaps) > 0 {
		text += "; not covered:"
	}
	return found("processes", levelOK, text, "", gaps...)
}
