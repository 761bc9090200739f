package render

import (
	"ralph/event"
)

// judgement is what a judge came to, in words.
func judgement(e event.Event) string {
	switch e.Verdict() {
	case event.VerdictPass:
		return "verified by an agent with fresh eyes"
	case event.VerdictFail:
		return with("an agent with fresh eyes found", or(e.Reason, "a fault"))
	default:
		return with("no verdict", e.Reason)
	}
}

func (p *Plain) judge(e event.Event) {
	if e.Type == event.VerifierStarted {
		p.say(e, "verifying: an agent with fresh eyes looks at the work")
		return
	}
	p.say(e, judgement(e))
}

func (t *Terminal) judge(e event.Event) {
	p := t.opts.Palette
	switch {
	case e.Type == event.VerifierStarted:
		t.say(e, p.Dim("  verifying: an agent with fresh eyes looks at the work"))
	case e.Verdict() == event.VerdictPass:
		t.say(e, p.Green("✓ ")+judgement(e))
	default:
		t.say(e, p.Red("✗ "+judgement(e)))
	}
}

// checking says why a gate is run.
func checking(e event.Event) string {
	s := "checking"
	if e.Reason != "" {
		s += " " + oneLine(e.Reason)
	}
	return s + ": " + oneLine(e.Gate.Command)
}

// excuse says why a gate's result is not what its exit status says.
func excuse(g *event.Gate) string {
	switch g.Verdict {
	case event.GateFlaky:
		return "; it failed at first: flaky"
	case event.GateExcused:
		return "; it was red before the work and is not worse"
	}
	if g.Baseline == event.BaselineRed && g.Passed {
		return "; it was red before the work"
	}
	return ""
}
