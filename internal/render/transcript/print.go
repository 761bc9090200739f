package transcript

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"ralph/event"
	"ralph/internal/human"
	"ralph/internal/term"
)

// Printer writes lines for people.
type Printer struct {
	Out     io.Writer
	Palette term.Palette
	Full    bool // prompts, thoughts and the output of tools as a whole
	Zone    *time.Location

	speaker string // whose speech was printed last, so that its name is not repeated
	output  string // of the last gate that was printed, so that the end of its attempt does not repeat it
	err     error
}

// Bounds of what is told unless everything is wanted.
const (
	outputLines  = 6
	verdictLines = 12
)

// Print writes one line. The first error ends the writing; Err tells it.
func (p *Printer) Print(l Line) {
	who := l.Attempt + string(l.Kind)
	said := (l.Kind == Said || l.Kind == Thought) && who == p.speaker
	p.speaker = who
	switch l.Kind {
	case Began:
		p.f("%s  %s, agent %s\n", p.Palette.Cyan(l.Run), one(l.Text), one(l.Agent))
	case Claimed:
		p.claimed(l)
	case Prompt:
		p.prompt(l)
	case Said:
		p.speech("says", l.Text, said, nil)
	case Thought:
		if p.Full {
			p.speech("thinks", l.Text, said, p.Palette.Dim)
		}
	case ToolCall:
		p.tool(l.Tool)
	case Plan:
		p.block("plan", strings.ReplaceAll(clean(l.Text), "in_progress:", "now:"), 0)
	case Asked:
		p.label("asked", one(l.Text))
	case Wrote:
		p.label("wrote", one(l.Text))
	case Failed, Raw:
		p.block(string(l.Kind), p.cut(clean(l.Text), outputLines), 0)
	case Stopped:
		p.label("stopped", p.Palette.Yellow(one(l.Text)))
	case Gate:
		p.gate(l)
	case Verdict:
		p.verdict(l)
	case Ended:
		p.ended(l)
	case Waits:
		p.f("%s\n", p.Palette.Dim("waiting "+one(l.Text)))
	case Warning:
		p.f("%s %s\n", p.Palette.Yellow("warning:"), one(l.Text))
	case Over:
		text := strings.Join(words(l, strings.ReplaceAll(one(l.Outcome), "_", " ")), ", ")
		if reason := one(l.Text); reason != "" {
			text += ": " + reason
		}
		p.f("\n%s  %s\n", p.Palette.Cyan(l.Run), text)
	}
}

// Err is the first error that writing gave.
func (p *Printer) Err() error { return p.err }

func (p *Printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.Out, format, args...)
	}
}

func (p *Printer) label(name, text string) {
	p.f("  %s %s\n", p.Palette.Dim(fmt.Sprintf("%-7s", name)), text)
}

// block writes text under a name, its lines below each other.
func (p *Printer) block(name, text string, most int) {
	if most > 0 {
		text = p.cut(text, most)
	}
	for l := range strings.Lines(text) {
		p.label(name, strings.TrimRight(l, "\n"))
		name = ""
	}
}

// speech goes on where it was if the same agent still speaks.
func (p *Printer) speech(name, text string, goesOn bool, paint func(string) string) {
	if goesOn {
		name = ""
	}
	for l := range strings.Lines(clean(text)) {
		if l = strings.TrimRight(l, "\n "); l == "" {
			continue
		}
		if paint != nil {
			l = paint(l)
		}
		p.label(name, l)
		name = ""
	}
}

func (p *Printer) claimed(l Line) {
	facts := []string{l.At.In(p.zone()).Format(time.TimeOnly)}
	if l.Iteration > 0 {
		facts = append(facts, fmt.Sprintf("iteration %d", l.Iteration))
	}
	if who := strings.TrimSpace(one(l.Agent) + " " + one(l.Model)); who != "" {
		facts = append(facts, who)
	}
	p.f("\n%s  %s  %s\n", p.Palette.Cyan(one(l.Task)), p.Palette.Bold(one(l.Title)), p.Palette.Dim(strings.Join(facts, ", ")))
}

func (p *Printer) prompt(l Line) {
	text := strings.TrimSpace(clean(l.Text))
	if p.Full {
		p.block("prompt", text, 0)
		return
	}
	p.label("prompt", p.Palette.Dim(fmt.Sprintf("%d lines; see them with --full", strings.Count(text, "\n")+1)))
}

func (p *Printer) tool(t *Tool) {
	if t == nil {
		return
	}
	title := one(t.Title)
	if t.Kind != "" {
		title += p.Palette.Dim(" (" + one(t.Kind) + ")")
	}
	if t.New {
		p.label("tool", title)
		if in := clean(t.Input); in != "" && one(in) != one(t.Title) {
			p.quote(p.cut(in, outputLines))
		}
	}
	switch t.Status {
	case "failed":
		p.label("tool", one(t.Title)+" "+p.Palette.Red("failed"))
	case "completed":
		if !t.New && t.Output == "" && len(t.Files) == 0 {
			return
		}
	case "in_progress", "pending", "":
		if !t.New {
			return // more of the same call comes
		}
	}
	for _, f := range t.Files {
		p.label("changed", one(f))
	}
	p.quote(p.cut(clean(t.Output), outputLines))
}

// quote sets off what a program printed.
func (p *Printer) quote(text string) {
	for l := range strings.Lines(text) {
		p.f("          %s %s\n", p.Palette.Dim("|"), strings.TrimRight(l, "\n"))
	}
}

func (p *Printer) gate(l Line) {
	if l.Gate == nil {
		return
	}
	word := p.Palette.Green("passed")
	switch {
	case l.Gate.Verdict == event.GateFlaky:
		word += " (at first it failed: flaky)"
	case !l.Gate.Passed && l.Gate.Verdict == event.GateExcused:
		word = p.Palette.Yellow("failed") + " (it was red before the work and is not worse)"
	case !l.Gate.Passed:
		word = p.Palette.Red("failed") + " (" + one(l.Gate.Exit) + ")"
	}
	if l.Text != "" {
		word += " " + p.Palette.Dim(one(l.Text))
	}
	p.label("gate", one(l.Gate.Command)+" "+word)
	p.output = strings.TrimSpace(l.Output)
	p.gateOutput(l.Output)
}

// gateOutput quotes the end of what a gate printed.
func (p *Printer) gateOutput(text string) {
	if p.Full {
		p.quote(clean(text))
		return
	}
	p.quote(strings.Join(term.MarkedTail(text, term.GateLines), "\n"))
}

func (p *Printer) verdict(l Line) {
	word := map[event.Verdict]string{event.VerdictPass: p.Palette.Green("passed"), event.VerdictFail: p.Palette.Red("failed")}[event.Verdict(l.Outcome)]
	if word == "" {
		word = p.Palette.Yellow("none")
	}
	p.label("verdict", word)
	p.quote(p.cut(clean(l.Text), verdictLines))
}

func (p *Printer) ended(l Line) {
	word := one(l.Outcome)
	paint := p.Palette.Yellow
	switch l.Status {
	case event.TaskDone:
		paint = p.Palette.Green
	case event.TaskFailed:
		paint = p.Palette.Red
		if word != "failed" {
			word = "failed (" + word + ")"
		}
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(l.Text), "\n")
	facts := words(l, "")
	text := paint(word)
	if len(facts) > 0 {
		text += " " + strings.Join(facts, ", ")
	}
	if first = one(first); first != "" {
		text += ": " + first
	}
	p.label("ended", text)
	if strings.TrimSpace(rest) != p.output {
		p.gateOutput(rest)
	}
}

// words are the facts about an end.
func words(l Line, outcome string) []string {
	var list []string
	if l.Duration > 0 {
		outcome += " in " + human.Span(time.Duration(l.Duration)*time.Millisecond)
	}
	if outcome = strings.TrimSpace(outcome); outcome != "" {
		list = append(list, outcome)
	}
	if u := l.Usage; u != nil {
		if tokens := human.InOut(u.TokensIn+u.TokensCached, 0, u.TokensOut); tokens != "" {
			list = append(list, tokens)
		}
		if u.CostUSD != nil {
			list = append(list, human.Roughly(u.Unknown, u.Estimated)+human.Dollars(*u.CostUSD))
		}
	}
	return list
}

// cut keeps the first lines and says how many it left out.
func (p *Printer) cut(text string, most int) string {
	text = strings.TrimRight(text, "\n")
	lines := strings.Split(text, "\n")
	if p.Full || len(lines) <= most {
		return text
	}
	return strings.Join(lines[:most], "\n") + fmt.Sprintf("\n(%d more lines)", len(lines)-most)
}

func (p *Printer) zone() *time.Location {
	if p.Zone == nil {
		return time.UTC
	}
	return p.Zone
}

// clean makes foreign text harmless and keeps its lines; one makes it one line.
func clean(s string) string {
	return strings.ReplaceAll(term.Block(term.Strip(strings.ToValidUTF8(s, "?"))), "\t", "    ")
}

func one(s string) string { return strings.Join(strings.Fields(clean(s)), " ") }

// JSON writes lines for machines.
type JSON struct {
	enc *json.Encoder
	err error
}

// NewJSON writes to w.
func NewJSON(w io.Writer) *JSON {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return &JSON{enc: enc}
}

// Print writes one line as a JSON object.
func (j *JSON) Print(l Line) {
	if j.err == nil {
		j.err = j.enc.Encode(l)
	}
}

// Err is the first error that writing gave.
func (j *JSON) Err() error { return j.err }
