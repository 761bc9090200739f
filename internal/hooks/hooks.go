package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/human"
	"ralph/internal/permission"
	"ralph/internal/plain"
	"ralph/internal/proc"
	"ralph/internal/redact"
	"ralph/internal/toolcall"
)

// Options are what a Set works with.
type Options struct {
	Hooks  []Hook
	Dir    string   // the project's folder
	Env    []string // the complete environment, without secrets
	Redact *redact.Redactor
	Now    func() time.Time // nil means time.Now
}

// Set is the hooks of a run, as they were configured when it began. A nil Set has none.
type Set struct {
	opts  Options
	hooks []hook
}

type hook struct {
	Hook
	spec
	rule permission.Rule // if there is a match
	files
}

// maxOutput is how much of each output of a hook is kept.
const maxOutput = 64 << 10

// New reads hooks.
func New(opts Options) (*Set, error) {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	s := &Set{opts: opts}
	for i, h := range opts.Hooks {
		if why := h.Invalid(); why != "" {
			return nil, fmt.Errorf("hooks.%d: %s", i+1, why)
		}
		at := hook{Hook: h, files: filesOf(opts.Dir, h.Run)}
		at.spec, _ = find(h.On)
		at.rule, _ = permission.ParseRule(h.Match) // it was checked
		s.hooks = append(s.hooks, at)
	}
	return s, nil
}

// Has says whether there is a hook for a point.
func (s *Set) Has(p Point) bool {
	return s != nil && slices.ContainsFunc(s.hooks, func(h hook) bool { return h.On == p })
}

// Longest is how long the hooks of a point may take for one payload.
func (s *Set) Longest(p Point) (all time.Duration) {
	if s == nil {
		return 0
	}
	for _, h := range s.hooks {
		if h.On == p {
			all += h.timeout()
		}
	}
	return all
}

// Outcome is what the hooks of a point came to.
type Outcome struct {
	Decision permission.Answer // the strictest; Deny if one blocks, empty if none decides
	Reason   string            // of the decision
	By       string            // the hook that decided
	Inject   string
	Replace  *string
	Call     *toolcall.Call // instead of the one that was about to be made
	Result   *string        // of the call, which is then not made
	Model    string
	Findings []Found

	Knowledge *[]string

	Problems []string // hooks that did not do what they should, and had no effect
}

// Found is what a hook has against work.
type Found struct{ By, Text string }

// Blocked says that a hook is against what was about to happen.
func (o Outcome) Blocked() bool { return o.Decision == permission.Deny }

// Refusal says who blocked, and why.
func (o Outcome) Refusal() string { return fmt.Sprintf("hook %q: %s", o.By, o.Reason) }

// Run runs the hooks of a payload's point, one after the other, until one blocks. A hook that
// replaces something shows its text to the next.
func (s *Set) Run(ctx context.Context, p Payload) (out Outcome) {
	if !s.Has(p.Point) {
		return out
	}
	p = redact.Deep(s.opts.Redact, p)
	p.V, p.Project = Version, s.opts.Dir
	if p.At.IsZero() {
		p.At = s.opts.Now().UTC()
	}
	for _, h := range s.hooks {
		if h.On != p.Point || h.Match != "" && (p.Tool == nil || !h.rule.Matches(p.Tool.Call)) {
			continue
		}
		a, err := s.run(ctx, h, p)
		next := p
		if err == nil {
			next, err = p.changed(a)
		}
		if ctx.Err() != nil {
			return out // whoever waited for it is over
		}
		if err != nil {
			text := s.opts.Redact.Text(err.Error())
			if !h.Must {
				out.Problems = append(out.Problems, fmt.Sprintf("hook %q on %s: %s", h.name(), h.On, text))
				continue
			}
			a = answer{Decision: permission.Deny, Reason: text + ", and it must succeed"}
		}
		if out.take(h, a, next); out.Blocked() || out.Result != nil {
			return out
		}
		p = redact.Deep(s.opts.Redact, next) // a call that was made anew has all of its input
	}
	return out
}

// changed is a payload as the next hook gets it: with what this one has made of it.
func (p Payload) changed(a answer) (Payload, error) {
	if p.Tool != nil && p.Tool.Input == nil && (a.Replace != nil || a.Result != nil) {
		return p, errors.New("the agent makes this call itself: only the files and terminals that it wants from ralph have an input and a result to replace")
	}
	switch to := a.Replace.(type) {
	case map[string]any:
		call, err := p.Tool.With(to)
		if err != nil {
			return p, fmt.Errorf("the call cannot be made with what it replaces: %w", err)
		}
		p.Tool = &Tool{Call: call}
	case string:
		switch {
		case p.Answer != nil:
			answer := *p.Answer
			answer.Text = to
			p.Answer = &answer
		case p.Tool != nil:
			call := *p.Tool
			call.Result = &to
			p.Tool = &call
		default:
			p.Prompt = to
		}
	}
	return p, nil
}

// take adds what one hook answered, and what it made of the payload.
func (o *Outcome) take(h hook, a answer, next Payload) {
	if a.Decision.Stricter(o.Decision) {
		o.Decision, o.Reason, o.By = a.Decision, a.Reason, h.name()
	}
	o.Inject = strings.Join(human.Parts(o.Inject, a.Inject), "\n\n")
	if a.Finding != "" {
		o.Findings = append(o.Findings, Found{By: h.name(), Text: a.Finding})
	}
	switch to := a.Replace.(type) {
	case string:
		o.Replace = &to
	case map[string]any:
		o.Call, o.By = &next.Tool.Call, cmp.Or(o.By, h.name())
	}
	if a.Result != nil {
		o.Result, o.By = a.Result, h.name()
	}
	if a.Model != "" {
		o.Model = a.Model
	}
	if a.Knowledge != nil {
		o.Knowledge = a.Knowledge
	}
}

// run runs one hook. The error says what is wrong with it.
func (s *Set) run(ctx context.Context, h hook, p Payload) (answer, error) {
	if err := h.unchanged(s.opts.Dir); err != nil {
		return answer{}, err
	}
	input, err := json.Marshal(p)
	if err != nil {
		return answer{}, err
	}
	limited, cancel := context.WithTimeout(ctx, h.timeout())
	defer cancel()
	ran, err := proc.Run(limited, proc.Spec{
		Argv: []string{"sh", "-c", h.Run}, Dir: s.opts.Dir, Env: append(slices.Clone(s.opts.Env),
			"RALPH_HOOK="+string(p.Point), "RALPH_HOOK_TASK="+p.Task, "RALPH_HOOK_DIR="+p.Dir, "RALPH_HOOK_TEXT="+variable(p.text())),
	}, append(input, '\n'), maxOutput+1)
	whole := len(ran.Stdout) <= maxOutput
	said := strings.TrimSpace(s.clean(ran.Stderr))
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return answer{}, fmt.Errorf("still running after %s", human.Duration(h.timeout()))
	case err != nil:
		return answer{}, err
	case ran.Exit.Ok():
		return h.read(s.clean(ran.Stdout), whole)
	case ran.Exit.Code != blocks:
		return answer{}, errors.New(strings.Join(human.Parts(ran.Exit.String(), firstLine(said)), ": "))
	case !h.allows(Block):
		return answer{}, fmt.Errorf("%s blocks, but a hook on %s %s", ran.Exit, h.On, h.does())
	}
	if said == "" {
		said = ran.Exit.String()
	}
	return answer{Decision: permission.Deny, Reason: said}, nil
}

// blocks is the exit status of a hook that blocks; its stderr is the reason.
const blocks = 2

// clean is text for prompts and records.
func (s *Set) clean(said []byte) string {
	return s.opts.Redact.Text(strings.ToValidUTF8(string(plain.Head(said, maxOutput)), "?"))
}

// variable is a text as a variable can hold it.
func variable(text string) string {
	return strings.ReplaceAll(plain.Head(text, maxOutput), "\x00", "")
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return plain.Head(line, 300)
}
