package render

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// NothingHolds is why a task that is ready has not started yet.
const NothingHolds = "nothing holds it up: a run starts it in its turn"

// said is a line about an event. A terminal signs and paints it, a log takes the words.
type said struct {
	sign   string // "" for what is only dim
	tone   Tone
	text   string
	aside  string
	detail bool // for verbose output only
}

// describe words the events that stand for themselves.
func (c *Console) describe(e event.Event, a *attempt) []said {
	one := func(s said) []said { return []said{s} }
	switch e.Type {
	case event.Recovered:
		text := "recovered"
		if !c.log { // its lines begin with the task
			text += " " + Line(e.Task) + " " + a.title
		}
		return one(said{sign: "↻", text: text, aside: with("", e.Reason)})
	case event.RecoveryDone:
		if e.Recovery == nil || *e.Recovery == (event.Recovery{}) {
			return one(said{text: Line(e.Reason), detail: true})
		}
		return one(said{sign: "↻", text: with("recovery", e.Reason)})
	case event.AgentResumed:
		return one(said{text: "continues in the session of the interrupted attempt"})
	case event.AgentStarted:
		return one(said{text: started(e), detail: true})
	case event.AgentPlan:
		return seq.Map(e.Plan, func(step string) said { return said{text: "plan: " + Line(step), detail: true} })
	case event.AgentUsage:
		return one(said{text: "used " + or(strings.Join(Used(e.Usage), ", "), "nothing that is known"), detail: true})
	case event.AgentAsked:
		if e.Call != nil && !e.Call.Allowed {
			return one(said{sign: "⊘", text: with("denied: "+Line(e.Call.Text)+inBrackets(Line(e.Call.Kind)), e.Reason)})
		}
		return one(said{text: asked(e), detail: true})
	case event.Asked:
		first, _ := First(e.Text) // a question may be long: the inbox has all of it
		text := with(map[bool]string{false: "asks", true: "asks again"}[e.Question != nil && e.Question.Again], term.Cut(first, 300))
		if e.Question != nil && len(e.Question.Options) > 0 {
			text += inBrackets(seq.Map(e.Question.Options, Line[string])...)
		}
		return one(said{sign: "?", text: text, aside: human.Lead("; answer it: ", Line(e.Command))})
	case event.Answered:
		return one(said{sign: "?", text: with("is answered", or(e.Text, e.Reason))})
	case event.Prompted:
		if a.prompts++; a.prompts == 1 {
			return one(said{text: with("prompted", or(e.Reason, e.Text)), detail: true})
		}
		reason, _ := a.unseen(Line(or(e.Reason, e.Text)), "")
		return one(said{sign: "↪", text: with("asked again", reason)})
	case event.VerifierStarted:
		return one(said{text: "verifying: the verifier agent reviews the work"})
	case event.VerifierEnded:
		text, tone := Verdict(e.Verdict(), e.Reason)
		return one(said{sign: tone.Sign(), tone: tone, text: text})
	case event.Drifted:
		return one(said{sign: "!", text: drifted(e)})
	case event.TaskAdded:
		return one(said{text: with("added by an agent", e.Title), detail: true})
	case event.TaskSkipped:
		return one(said{text: with("left out", e.Reason)})
	case event.Notified:
		first, _ := First(e.Text)
		return one(said{text: with("told people", first)})
	case event.LocksChanged:
		return one(said{text: with("locks "+Line(e.Outcome), strings.Join(e.Locks, ", ")), detail: true})
	case event.Learned:
		return one(said{text: with("learned", e.Text), detail: true})
	case event.Anomaly:
		return one(said{sign: "!", text: with("unusual", e.Reason)})
	case event.SlotSetup:
		return one(said{text: with("setting up", e.Text)})
	case event.TargetMoved:
		return one(moved(e))
	case event.MergeQueued:
		return one(said{text: "waits to land on " + target(e), detail: true})
	case event.MergeRebuilt:
		return one(said{text: target(e) + " has moved: the work is tested again", detail: true})
	case event.MergeConflict:
		a.conflicts++
		return one(said{sign: "!", text: with("conflicts with "+target(e), e.Reason), detail: a.conflicts > 1})
	case event.MergeWaiting:
		return one(said{sign: "◷", text: with("waits to land", e.Reason)})
	case event.MergeHeld:
		return one(said{sign: "◷", text: "waits for review: ralph review " + Line(e.Task)})
	case event.MergeLanded:
		return one(said{sign: Good.Sign(), tone: Good, text: landed(e)})
	case event.MergeDropped:
		return one(said{text: with("does not land", e.Reason), detail: true})
	case event.Waiting:
		if c.waitsAlready(e) {
			return nil
		}
		return one(said{sign: "◷", text: c.opts.waits(e)})
	case event.Warned:
		return one(said{sign: "!", text: with("warning", or(e.Text, e.Reason))})
	case event.RunInterrupted:
		return one(said{sign: "!", text: with("interrupted", or(e.Reason, e.Text))})
	default:
		return one(said{text: with(Line(e.Type), or(e.Text, e.Reason)), detail: true})
	}
}

// ended says how an attempt ended: "released in 3s: no answer". After its first line a
// reason may have the output of a gate; that is evidence, for below the line.
func ended(e event.Event, a *attempt) (line, evidence string, tone Tone) {
	word, tone := Attempt(e.AttemptOutcome(), e.Status)
	reason, evidence := First(e.Reason)
	if reason == e.Outcome { // it was said
		reason = ""
	}
	reason, evidence = a.unseen(reason, evidence)
	return with(word+In(e.Duration), reason), evidence, tone
}

// spent lists what an attempt took, as far as it is known: first the model that really
// did it, which may be another than was asked for.
func spent(e event.Event) []string {
	return human.Parts(slices.Concat([]string{Line(e.Model)}, Used(e.Usage), []string{human.Some(len(e.Files), "file")})...)
}

func asked(e event.Event) string {
	what, kind := e.Text, ""
	if e.Tool != nil {
		what, kind = or(what, e.Tool.Title), e.Tool.Kind
	}
	return with("asked: "+Line(what)+inBrackets(Line(kind)), or(e.Outcome, e.Reason))
}

func started(e event.Event) string {
	s := "started " + Line(or(e.Agent, "agent")) + human.Lead(", model ", Line(e.Model))
	if e.PID > 0 {
		s += ", pid " + strconv.Itoa(e.PID)
	}
	return s
}

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
	return with(s, or(e.Reason, e.Text))
}

func drifted(e event.Event) string {
	s := "it makes no progress"
	switch e.Drift() {
	case event.DriftNudge:
		s += ", and is prompted about it"
	case event.DriftStronger:
		s += ", and ends; the next attempt has a stronger model if there is one"
	case event.DriftGiveUp:
		s += ", and the task fails"
	}
	return with(s, e.Reason)
}

// facts are who works in an iteration, and how far the run is.
func facts(e event.Event, c event.Counts) []string {
	return human.Parts(strings.Trim(Line(e.Agent)+"/"+Line(e.Model), "/"), share(c))
}

// Line makes foreign text one harmless line.
func Line[S ~string](s S) string { return strings.Join(strings.Fields(Block(string(s))), " ") }

// Block makes foreign text harmless and keeps its lines.
func Block(s string) string {
	return strings.ReplaceAll(term.Block(term.Strip(strings.ToValidUTF8(s, "?"))), "\t", "    ")
}

// First parts the first line of foreign text from the rest.
func First(s string) (first, rest string) {
	first, rest, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return Line(first), rest
}

// with joins a sentence and foreign text that may follow a colon.
func with(s, foreign string) string {
	return s + human.Lead(": ", Line(foreign))
}

// inBrackets is what stands behind a text, if there is anything.
func inBrackets(parts ...string) string {
	text := strings.Join(parts, ", ")
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// or returns the first value that is more than space.
func or(values ...string) string {
	for _, v := range values {
		if strings.TrimSpace(v) != "" {
			return v
		}
	}
	return ""
}
