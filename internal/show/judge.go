package show

import "ralph/loop"

// judgement is what a judge came to, in words.
func judgement(e loop.Event) string {
	switch e.Outcome {
	case "pass":
		return "verified by an agent with fresh eyes"
	case "fail":
		return with("an agent with fresh eyes found", or(e.Reason, "a fault"))
	default:
		return with("no verdict", e.Reason)
	}
}

func (p *Plain) judge(e loop.Event) {
	if e.Type == loop.JudgeStarted {
		p.say(e, "verifying: an agent with fresh eyes looks at the work")
		return
	}
	p.say(e, judgement(e))
}

func (t *Terminal) judge(e loop.Event) {
	p := t.opts.Palette
	switch {
	case e.Type == loop.JudgeStarted:
		t.say(e, p.Dim("  verifying: an agent with fresh eyes looks at the work"))
	case e.Outcome == "pass":
		t.say(e, p.Green("✓ ")+judgement(e))
	default:
		t.say(e, p.Red("✗ "+judgement(e)))
	}
}

// checking says why a gate is run.
func checking(e loop.Event) string {
	s := "checking"
	if e.Reason != "" {
		s += " " + oneLine(e.Reason)
	}
	return s + ": " + oneLine(e.Gate.Command)
}

// excuse says why a gate's result is not what its exit status says.
func excuse(g *loop.GateEvent) string {
	switch g.Verdict {
	case "flaky":
		return "; it failed at first: flaky"
	case "excused":
		return "; it was red before the work and is not worse"
	}
	if g.Baseline == "red" && g.Passed {
		return "; it was red before the work"
	}
	return ""
}
