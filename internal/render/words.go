package render

import (
	"strconv"
	"strings"
	"time"

	"ralph/event"
	"ralph/internal/human"
)

// result is what became of a task in an attempt.
type result int

const (
	again result = iota // it will be tried again
	done
	failed
)

// resultOf goes by the task's status: an outcome may be final for the attempt
// and not for the task.
func resultOf(e event.Event) result {
	state := e.Status
	if state == "" {
		state = event.TaskStatus(e.Outcome)
	}
	switch state {
	case event.TaskDone:
		return done
	case event.TaskFailed:
		return failed
	default:
		return again
	}
}

// ended says how an attempt ended: "released in 3s: no answer". A reason may go
// on with the output of a gate; that is evidence, for a complaint below the line.
func ended(e event.Event, a *attempt) (line, evidence string) {
	word := oneLine(e.Outcome)
	switch r := resultOf(e); {
	case r == done:
		word = "done"
	case r == failed && word != "" && word != "failed":
		word = "failed (" + word + ")"
	case r == failed:
		word = "failed"
	case word == "":
		word = "released"
	}
	if e.Duration > 0 {
		word += " in " + human.Span(time.Duration(e.Duration)*time.Millisecond)
	}
	reason, evidence := cutLine(e.Reason)
	if reason == e.Outcome { // it was said
		reason = ""
	}
	reason, evidence = a.unseen(reason, evidence)
	return with(word, reason), evidence
}

// cutLine parts the first line of foreign text from the rest.
func cutLine(s string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return oneLine(first), rest
}

// resumed says that nothing begins anew.
const resumed = "goes on in the session of the interrupted attempt"

// spent lists what an attempt took, as far as it is known: first the model that
// really did it, which may be another than was asked for.
func spent(e event.Event) []string {
	var parts []string
	if model := oneLine(e.Model); model != "" {
		parts = append(parts, model)
	}
	parts = append(parts, used(e.Usage)...)
	if n := len(e.Files); n > 0 {
		parts = append(parts, human.Count(n, "file"))
	}
	return parts
}

func used(u *event.Usage) []string {
	if u == nil {
		return nil
	}
	var parts []string
	if tokens := human.InOut(u.TokensIn, u.TokensCached, u.TokensOut); tokens != "" {
		parts = append(parts, tokens)
	}
	if u.Context > 0 {
		parts = append(parts, human.Tokens(u.Context)+" of context")
	}
	if u.CostUSD != nil {
		parts = append(parts, human.Roughly(u.Unknown, u.Estimated)+human.Dollars(*u.CostUSD))
	}
	return parts
}

// gateResult says how a gate ended.
func gateResult(e event.Event) string {
	word := "passed"
	if !e.Gate.Passed {
		word = "failed"
		if exit := oneLine(e.Gate.Exit); exit != "" {
			word += " (" + exit + ")"
		}
	}
	if e.Duration > 0 {
		word += " in " + human.Span(time.Duration(e.Duration)*time.Millisecond)
	}
	return word
}

// asked says what an agent wanted to be allowed, and the answer.
func asked(e event.Event) string {
	what, kind := e.Text, ""
	if e.Tool != nil {
		what, kind = or(what, e.Tool.Title), e.Tool.Kind
	}
	s := "asked: " + oneLine(what)
	if kind != "" {
		s += " (" + oneLine(kind) + ")"
	}
	if answer := or(e.Outcome, e.Reason); answer != "" {
		s += ": " + oneLine(answer)
	}
	return s
}

// started says which process works on a task.
func started(e event.Event) string {
	s := "started " + oneLine(or(e.Agent, "agent"))
	if e.Model != "" {
		s += ", model " + oneLine(e.Model)
	}
	if e.PID > 0 {
		s += ", pid " + strconv.Itoa(e.PID)
	}
	return s
}

// waits says until when nothing happens, and why.
func (o Options) waits(e event.Event) string {
	s := "waiting"
	if e.Until != nil {
		until, now := e.Until.In(o.Now().Location()), o.at(e)
		layout := time.TimeOnly
		if until.YearDay() != now.YearDay() || until.Year() != now.Year() {
			layout = "Mon 2 Jan 15:04:05"
		}
		s += " until " + until.Format(layout)
	}
	if reason := oneLine(or(e.Reason, e.Text)); reason != "" {
		s += ": " + reason
	}
	return s
}

// drifted says that an attempt gets nowhere, and what is done about it.
func drifted(e event.Event) string {
	s := "it gets nowhere"
	switch e.Drift() {
	case event.DriftNudge:
		s += ", and is told so"
	case event.DriftStronger:
		s += ", and ends; the next attempt has a stronger model if there is one"
	case event.DriftGiveUp:
		s += ", and the task is given up"
	}
	return with(s, e.Reason)
}

// usage says what an attempt has used so far.
func usage(e event.Event) string {
	return or(strings.Join(used(e.Usage), ", "), "nothing that is known")
}

// with joins a sentence and what may be said behind a colon.
func with(s, foreign string) string {
	if foreign = oneLine(foreign); foreign != "" {
		return s + ": " + foreign
	}
	return s
}

func or(values ...string) string {
	for _, v := range values {
		if strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}
