package transcript

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/render"
	"ralph/internal/term"
)

// Printer writes lines for people.
type Printer struct {
	Out     io.Writer
	Palette term.Palette
	Full    bool           // prompts, thoughts and the output of tools as a whole
	JSON    bool           // for machines instead: an object a line
	Zone    *time.Location // of the times; nil means UTC

	speaker string // whose speech was printed last, so that its name is not repeated
	output  string // of the last gate that was printed, so that the end of its attempt does not repeat it
	within  bool   // a line that goes on was printed last
	clipper render.Clipper
	err     error
}

// Bounds of what is printed unless everything is wanted.
const (
	outputLines  = 6
	verdictLines = 12
)

// Print writes one line. After the first error, which Err returns, it writes nothing.
func (p *Printer) Print(l Line) {
	if p.JSON && p.err == nil {
		p.err = jsonval.Encoder(p.Out).Encode(l)
	}
	if p.JSON {
		return
	}
	who := l.Attempt + string(l.Kind)
	said := (l.Kind == Said || l.Kind == Thought) && who == p.speaker
	p.speaker = who
	if p.within && !said {
		p.endLine()
	}
	switch l.Kind {
	case Began:
		p.f("%s  %s, agent %s\n", p.Palette.Cyan(l.Run), render.Line(l.Text), render.Line(l.Agent))
	case Claimed:
		p.claimed(l)
	case Prompt:
		p.prompt(l)
	case Said:
		p.speech("says", l, said, nil)
	case Thought:
		if p.Full {
			p.speech("thinks", l, said, p.Palette.Dim)
		}
	case ToolCall:
		p.tool(l.Tool)
	case Plan:
		p.block("plan", strings.ReplaceAll(render.Block(l.Text), "in_progress:", "now:"))
	case Asked, Wrote:
		p.label(string(l.Kind), render.Line(l.Text))
	case Failed, Raw:
		p.block(string(l.Kind), p.cut(render.Block(l.Text), outputLines))
	case Stopped:
		p.label("stopped", p.Palette.Yellow(render.Line(l.Text)))
	case Gate:
		p.gate(l)
	case Verdict:
		p.verdict(l)
	case Ended:
		p.ended(l)
	case Waits:
		p.f("%s\n", p.Palette.Dim("waiting "+render.Line(l.Text)))
	case Warning:
		p.f("%s %s\n", p.Palette.Yellow("warning:"), render.Line(l.Text))
	case Over:
		text := strings.Join(words(l, render.OutcomeWord(event.RunOutcome(l.Outcome))), ", ")
		p.f("\n%s  %s\n", p.Palette.Cyan(l.Run), text+human.Lead(": ", render.Line(l.Text)))
	}
}

// Err is the first error that writing gave.
func (p *Printer) Err() error { return p.err }

func (p *Printer) f(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.Out, format, args...)
	}
}

// clip shortens a line unless everything is wanted.
func (p *Printer) clip(line string) string {
	if p.Full {
		return line
	}
	return render.Clip(line, allShown)
}

const allShown = "see them with --full"

func (p *Printer) endLine() {
	p.within = false
	p.f("%s\n", p.clipper.End(allShown))
}

func (p *Printer) label(name, text string) { p.f("%s%s\n", p.margin(name), p.clip(text)) }

func (p *Printer) margin(name string) string {
	return "  " + p.Palette.Dim(fmt.Sprintf("%-7s", name)) + " "
}

func (p *Printer) block(name, text string) {
	for l := range strings.Lines(text) {
		p.label(name, strings.TrimRight(l, "\n"))
		name = ""
	}
}

// speech repeats no name while the same agent speaks.
func (p *Printer) speech(name string, said Line, goesOn bool, paint func(string) string) {
	if goesOn {
		name = ""
	}
	text := render.Block(said.Text)
	if p.within || said.GoesOn {
		if !p.within {
			p.f("%s", p.margin(name))
		}
		var part string
		if part, text, _ = strings.Cut(text, "\n"); !p.Full {
			part = p.clipper.Add(part)
		}
		if paint != nil {
			part = paint(part)
		}
		p.f("%s", part)
		if p.within, name = true, ""; !said.GoesOn {
			p.endLine()
		}
	}
	for l := range strings.Lines(text) {
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
	at := l.At.UTC()
	if p.Zone != nil {
		at = at.In(p.Zone)
	}
	iteration := ""
	if l.Iteration > 0 {
		iteration = fmt.Sprintf("iteration %d", l.Iteration)
	}
	facts := human.Parts(at.Format(time.TimeOnly), iteration, strings.TrimSpace(render.Line(l.Agent)+" "+render.Line(l.Model)))
	p.f("\n%s  %s  %s\n", p.Palette.Cyan(render.Line(l.Task)), p.Palette.Bold(render.Line(l.Title)), p.Palette.Dim(strings.Join(facts, ", ")))
}

func (p *Printer) prompt(l Line) {
	text := strings.TrimSpace(render.Block(l.Text))
	if p.Full {
		p.block("prompt", text)
		return
	}
	p.label("prompt", p.Palette.Dim(fmt.Sprintf("%d lines; see them with --full", strings.Count(text, "\n")+1)))
}

func (p *Printer) tool(t *Tool) {
	if t == nil {
		return
	}
	title := render.Line(t.Title)
	if t.Kind != "" {
		title += p.Palette.Dim(" (" + render.Line(t.Kind) + ")")
	}
	if t.New {
		p.label("tool", title)
		if in := render.Block(t.Input); in != "" && render.Line(in) != render.Line(t.Title) {
			p.quote(p.cut(in, outputLines))
		}
	}
	switch t.Status {
	case "failed":
		p.label("tool", render.Line(t.Title)+" "+p.Palette.Red("failed"))
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
		p.label("changed", render.Line(f))
	}
	p.quote(p.cut(render.Block(t.Output), outputLines))
}

func (p *Printer) quote(text string) {
	for l := range strings.Lines(text) {
		p.f("          %s %s\n", p.Palette.Dim("|"), p.clip(strings.TrimRight(l, "\n")))
	}
}

func (p *Printer) gate(l Line) {
	if l.Gate == nil {
		return
	}
	result, aside, tone := render.Gate(*l.Gate)
	word := tone.Paint(p.Palette, result) + aside
	if l.Text != "" {
		word += " " + p.Palette.Dim(render.Line(l.Text))
	}
	p.label("gate", render.Line(l.Gate.Command)+" "+word)
	p.output = strings.TrimSpace(l.Output)
	p.gateOutput(l.Output)
}

func (p *Printer) gateOutput(text string) {
	if p.Full {
		p.quote(render.Block(text))
		return
	}
	p.quote(strings.Join(term.MarkedTail(text, term.GateLines), "\n"))
}

func (p *Printer) verdict(l Line) {
	v := event.Verdict(l.Outcome)
	_, tone := render.Verdict(v, "")
	if v == event.VerdictNone {
		tone = render.Notable
	}
	word := cmp.Or(map[event.Verdict]string{event.VerdictPass: "passed", event.VerdictFail: "failed"}[v], string(v))
	p.label("verdict", tone.Paint(p.Palette, word))
	p.quote(p.cut(render.Block(l.Text), verdictLines))
}

func (p *Printer) ended(l Line) {
	word, tone := render.Attempt(event.AttemptOutcome(l.Outcome), l.Status)
	first, rest := render.First(l.Text)
	text := strings.TrimSpace(tone.Paint(p.Palette, word) + " " + strings.Join(words(l, ""), ", "))
	p.label("ended", text+human.Lead(": ", first))
	if strings.TrimSpace(rest) != p.output {
		p.gateOutput(rest)
	}
}

func words(l Line, outcome string) []string {
	return human.Parts(append([]string{strings.TrimSpace(outcome + render.In(l.Duration))}, render.Used(l.Usage)...)...)
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
