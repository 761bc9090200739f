package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/acp"
	"ralph/internal/event"
	"ralph/internal/jsonval"
	"ralph/internal/sandbox"
)

// trialPrompt is enough to see that an agent reaches its model.
const trialPrompt = "This is a test of the connection. Answer with the one word OK. Use no tools and change nothing."

// Report is the result of a trial, as far as the agent came.
type Report struct {
	Agent        string       `json:"agent"`
	OK           bool         `json:"ok"`
	Error        *string      `json:"error"`
	Start        []string     `json:"start"`
	Says         *string      `json:"says"` // name and version, as it says them
	Credential   *string      `json:"credential"`
	Steps        []Step       `json:"steps"`
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

// Step is one step of a trial.
type Step struct {
	Step    string  `json:"step"`
	Seconds float64 `json:"seconds"`
}

// NewReport is the report about an agent that has not been tried.
func NewReport(agent string) Report {
	return Report{Agent: agent, Steps: []Step{}, Capabilities: []string{}, Modes: []string{}, Models: []string{}, Logins: []string{}}
}

// Trial tries agents with everything as in a run, so that an agent that needs more than
// it would be given there fails here, too. Close it.
type Trial struct {
	opener    *Opener
	dir, logs string
}

// NewTrial makes one. Without a Dir the agent works in an empty folder; the sandbox is
// made for that folder.
func NewTrial(o *Opener, confine func(root string) (*sandbox.Confiner, error)) (*Trial, error) {
	dir, err := sandbox.MakeTemp(os.TempDir())
	if err != nil {
		return nil, fmt.Errorf("make a folder to test in: %w", err)
	}
	t := &Trial{opener: o, dir: dir, logs: filepath.Join(dir, "logs")}
	work := filepath.Join(dir, "work")
	if err := errors.Join(os.Mkdir(work, 0o700), os.Mkdir(t.logs, 0o700)); err != nil {
		t.Close()
		return nil, fmt.Errorf("make a folder to test in: %w", err)
	}
	if o.Dir == "" {
		o.Dir = work
	}
	o.ModelNamed = true
	if o.Sandbox, err = confine(o.Dir); err != nil {
		t.Close()
		return nil, err
	}
	return t, nil
}

// Close removes the folder. What cannot be removed is in the system's temporary folder.
func (t *Trial) Close() { _ = sandbox.RemoveAll(t.dir) }

// Run opens a session, asks the agent for one word, and returns how far it came.
func (t *Trial) Run(ctx context.Context, model string) (Report, error) {
	chosen := t.opener.Chosen
	r := NewReport(chosen.Name)
	r.Start, r.Credential = chosen.Argv, jsonval.Text(t.opener.Credential(chosen.Preset))
	t.opener.Stepped = func(op string, took time.Duration) {
		r.Steps = append(r.Steps, Step{Step: op, Seconds: took.Round(time.Millisecond).Seconds()})
	}
	s, err := t.opener.Open(ctx, SessionSpec{Conversation: acp.Conversation{Model: model, Folder: t.logs}})
	if err == nil {
		err = r.converse(ctx, s)
	}
	var e *acp.Error
	if errors.As(err, &e) {
		r.Logins = append(r.Logins, names(e.Methods)...)
		r.Models = append(r.Models, e.Offered...)
		err = fmt.Errorf("%w: %s: %w", ErrUnavailable, chosen.Name, err)
	}
	return r, err
}

func (r *Report) converse(ctx context.Context, s *Session) error {
	about := s.About()
	r.Says = jsonval.Text(about.Agent.String())
	r.Capabilities, r.Mode, r.Modes, r.Logins = about.Capabilities.Words(), jsonval.Text(about.Mode), jsonval.List(about.Modes), names(about.Methods)
	model := s.Model()
	r.Model, r.ModelBy, r.Models = jsonval.Text(model.Effective), jsonval.Text(string(model.Channel)), jsonval.List(model.Offered)
	turn, err := s.Prompt(ctx, trialPrompt)
	said, unread := turn.Text()
	r.Answer, r.StopReason = jsonval.Text(strings.TrimSpace(said)), jsonval.Text(string(turn.Stop))
	err = cmp.Or(err, unread, s.Close())
	used := s.Usage()
	r.Usage = &event.Usage{TokensIn: used.Input, TokensCached: used.CacheRead, TokensOut: used.Output, CostUSD: used.CostUSD}
	if err == nil && turn.Empty() {
		err = &acp.Error{Kind: acp.Protocol, Op: "session/prompt", Text: "the agent answered nothing: it may have reached a limit, or need a login"}
	}
	return err
}

// Ask starts the agent as a run would, asks it who it is, and ends it with everything
// that it started. It opens no session and asks no model.
func (t *Trial) Ask(ctx context.Context, timeout time.Duration) (says string, took time.Duration, err error) {
	late := &acp.Error{Kind: acp.HandshakeTimeout, Op: "initialize", Text: "after " + timeout.String()}
	limited, cancel := context.WithTimeoutCause(ctx, timeout, late)
	defer cancel()
	t.opener.Stepped = func(_ string, d time.Duration) { took += d }
	s, err := t.opener.launch(limited, SessionSpec{Conversation: acp.Conversation{Folder: t.logs}, early: true}, t.opener.Chosen)
	if err != nil {
		return "", took, cmp.Or(context.Cause(limited), err)
	}
	if err := s.Close(); err != nil {
		return "", took, fmt.Errorf("it could not be ended: %w", err)
	}
	return cmp.Or(s.About().Agent.String(), "an agent that does not say its version"), took, nil
}

// Fetched reports whether npx would fetch the agent. WithoutFetching is the agent that
// fails instead: nothing is installed by looking.
func (a Agent) Fetched() bool {
	return a.Package != "" && len(a.Self) == 0 && !IsInstalled(a.Preset, exec.LookPath)
}

// WithoutFetching returns the agent so that npx fetches nothing.
func (a Agent) WithoutFetching() Agent {
	if i := slices.Index(a.Argv, "--yes"); a.Fetched() && i >= 0 {
		a.Argv = slices.Clone(a.Argv)
		a.Argv[i] = "--no"
	}
	return a
}

// Advice says what to do about an agent that cannot be used because of an error.
func Advice(e *acp.Error, p Preset) string {
	byHand := p.Command
	if len(p.Self) > 0 {
		byHand = append([]string{"ralph"}, p.Self...)
	}
	switch e.Kind {
	case acp.AuthRequired:
		if p.Needs != Nothing {
			return p.Login + "; then try again: ralph agents test " + p.Name
		}
		return "log in, then try again: ralph agents test " + p.Name
	case acp.ModelUnknown:
		if len(e.Offered) == 0 {
			return "leave out --model, and choose one in the agent's own settings"
		}
		return "name one of the models that it offers"
	case acp.WrongVersion:
		return "install a version of the agent that speaks protocol version 1"
	case acp.HandshakeTimeout, acp.Died, acp.Protocol, acp.CannotStart:
		return "see what it says when started by hand: " + strings.Join(byHand, " ")
	default:
		return "try another agent: ralph agents"
	}
}
