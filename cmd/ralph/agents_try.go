package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/acp"
	"ralph/event"
	"ralph/internal/agents"
	"ralph/internal/project"
	"ralph/internal/term"
	"ralph/loop"
)

// tinyPrompt is enough to see that an agent reaches its model.
const tinyPrompt = "This is a test of the connection. Answer with the one word OK. Use no tools and change nothing."

// maxAnswer is how much of an answer is shown; it was asked for one word.
const maxAnswer = 200

func (a *app) agentsTest() command {
	return command{
		name: "test", args: "AGENT", short: "start an agent, open a session, say one sentence, and report",
		long: `AGENT is a known agent, one of your own, or the command that starts one. It works in an
empty folder and costs one short answer of the model.`,
		flags: []cli.Flag{
			&cli.StringFlag{Name: "model", Usage: "`M`: a model's name, or a tier: opus, sonnet, haiku", DefaultText: "the agent's own"},
			&cli.StringFlag{Name: "timeout", Usage: "wait at most `DUR` for the answer", Value: "2m"},
			jsonFlag(),
		},
		example: "ralph agents test claude\nralph agents test 'my-agent --acp' --json", exits: "5 it cannot be used: the report says how far it came",
		run: a.runAgentsTest,
	}
}

// trialJSON is what came of a test.
type trialJSON struct {
	Agent        string       `json:"agent"`
	OK           bool         `json:"ok"`
	Error        *string      `json:"error"`
	Start        []string     `json:"start"`
	Says         *string      `json:"says"` // name and version, as it says them
	Credential   *string      `json:"credential"`
	Steps        []stepJSON   `json:"steps"`
	Capabilities []string     `json:"capabilities"`
	Mode         *string      `json:"mode"`
	Modes        []string     `json:"modes"`
	Model        *string      `json:"model"` // in effect
	ModelBy      *string      `json:"model_by"`
	Models       []string     `json:"models"`
	Logins       []string     `json:"logins"`
	Answer       *string      `json:"answer"`
	StopReason   *string      `json:"stop_reason"`
	Usage        *event.Usage `json:"usage"`
}

type stepJSON struct {
	Step    string  `json:"step"`
	Seconds float64 `json:"seconds"`
}

func (a *app) runAgentsTest(c *cli.Context) error {
	if c.NArg() != 1 || c.Args().First() == "" {
		return usagef("agents test: one AGENT is needed")
	}
	var timeout project.Duration
	if err := timeout.UnmarshalText([]byte(c.String("timeout"))); err != nil {
		return usagef("--timeout: %v", err)
	}
	config, err := a.configHere()
	if err != nil {
		return err
	}
	ag, err := a.findAgent(config, c.Args().First())
	if err != nil && !errors.Is(err, errUnavailable) {
		return err
	}
	report := trialJSON{Agent: c.Args().First(), Steps: []stepJSON{}, Capabilities: []string{}, Modes: []string{}, Models: []string{}, Logins: []string{}}
	if err == nil {
		report.Agent = ag.preset.Name
		err = a.tryAgent(c, config, ag, timeout, &report)
	}
	if errors.Is(err, project.ErrConfig) || c.Err() != nil {
		return err
	}
	report.OK = err == nil
	if err != nil {
		report.Error = orNil(term.Line(err.Error()))
	}
	if c.Bool("json") {
		return errors.Join(err, a.printJSON(report))
	}
	if perr := a.printTrial(report); err == nil {
		err = perr
	}
	return err
}

// tryAgent fills the report as far as the agent comes.
func (a *app) tryAgent(c *cli.Context, config project.Loaded, ag agent, timeout project.Duration, report *trialJSON) error {
	t, err := a.openTrial(session{config: config}, ag, timeout)
	if err != nil {
		return err
	}
	defer t.close()
	defer a.launcher.Close()
	o := t.opener
	report.Start, report.Credential = ag.argv, orNil(o.credential(ag))
	o.stepped = func(op string, took time.Duration) {
		report.Steps = append(report.Steps, stepJSON{Step: op, Seconds: took.Round(time.Millisecond).Seconds()})
	}
	opened, err := o.Open(c.Context, loop.Opening{
		Model: c.String("model"), Folder: t.logs, Started: t.started,
	})
	if err == nil {
		err = report.converse(c.Context, opened)
	}
	var e *acp.Error
	if errors.As(err, &e) {
		for _, m := range e.Methods {
			report.Logins = append(report.Logins, m.Name)
		}
		report.Models = append(report.Models, e.Offered...)
		err = hint(fmt.Errorf("%w: %s: %w", errUnavailable, ag.preset.Name, err), "%s", trialHint(e, ag.preset))
	}
	return err
}

// converse says the one sentence.
func (r *trialJSON) converse(ctx context.Context, s loop.Session) error {
	if session, ok := s.(*confinedSession); ok {
		about := session.About()
		r.Says = orNil(strings.TrimSpace(about.Agent.Name + " " + about.Agent.Version))
		r.Capabilities, r.Mode, r.Modes = about.Capabilities.Words(), orNil(about.Mode), orEmpty(about.Modes)
		for _, m := range about.Methods {
			r.Logins = append(r.Logins, m.Name)
		}
	}
	model := s.Model()
	r.Model, r.ModelBy, r.Models = orNil(model.Effective), orNil(string(model.Channel)), orEmpty(model.Offered)
	turn, err := s.Prompt(ctx, tinyPrompt)
	r.Answer, r.StopReason = orNil(strings.TrimSpace(turn.Text())), orNil(string(turn.Stop))
	if cerr := s.Close(); err == nil {
		err = cerr
	}
	used := s.Usage()
	r.Usage = &event.Usage{TokensIn: used.Input, TokensCached: used.CacheRead, TokensOut: used.Output, CostUSD: used.CostUSD}
	if err == nil && turn.Empty() {
		err = &acp.Error{Kind: acp.Protocol, Op: "session/prompt", Text: "the agent answered nothing: it may have reached a limit, or need a login"}
	}
	return err
}

// trialHint is what to do about an agent that cannot be used.
func trialHint(e *acp.Error, p agents.Preset) string {
	switch e.Kind {
	case acp.AuthRequired:
		return "log in, then try again: ralph agents test " + p.Name
	case acp.ModelUnknown:
		if len(e.Offered) == 0 {
			return "leave out --model, and choose one in the agent's own settings"
		}
		return "name one of the models that it offers"
	case acp.WrongVersion:
		return "install a version of the agent that speaks protocol version 1"
	case acp.HandshakeTimeout, acp.Died, acp.Protocol, acp.CannotStart:
		return "see what it says when started by hand: " + strings.Join(p.Command, " ")
	default:
		return "try another agent: ralph agents"
	}
}

func (a *app) printTrial(r trialJSON) error {
	p := a.palette()
	var b bytes.Buffer
	t := &term.Table{Width: a.width}
	row := func(label, value string) {
		if value != "" {
			t.Add(term.Cell{Text: label, Paint: p.Dim}, term.Cell{Text: value})
		}
	}
	row("agent", r.Agent)
	row("started as", strings.Join(r.Start, " "))
	row("says it is", known(r.Says))
	row("credential", known(r.Credential))
	for _, s := range r.Steps {
		row(s.Step, fmt.Sprintf("%.2f s", s.Seconds))
	}
	row("can", strings.Join(r.Capabilities, ", "))
	row("modes", inUse(known(r.Mode), r.Modes))
	row("models", inUse(known(r.Model), r.Models))
	row("logins", strings.Join(r.Logins, ", "))
	row("answer", term.Cut(term.Line(known(r.Answer)), maxAnswer))
	if _, err := t.WriteTo(&b); err != nil {
		return err
	}
	word := p.Green("usable")
	if !r.OK {
		word = p.Red("not usable")
	}
	fmt.Fprintln(&b, word)
	_, err := a.stdout.Write(b.Bytes())
	return err
}

func known(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// inUse lists what there is, with what is in use first and marked.
func inUse(current string, all []string) string {
	if current == "" {
		return strings.Join(all, ", ")
	}
	list := []string{current + " (in use)"}
	for _, one := range all {
		if one != current {
			list = append(list, one)
		}
	}
	return strings.Join(list, ", ")
}
