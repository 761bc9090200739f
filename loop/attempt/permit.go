package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"ralph/acp"
	"ralph/internal/hooks"
	"ralph/internal/inbox"
	"ralph/internal/permission"
	"ralph/internal/redact"
	"ralph/internal/toolcall"
)

// decides reports whether anybody has a say in what agents do. If not, they need not ask.
func (w Worker) decides() bool {
	return w.Permissions != nil && w.Permissions.Rules().Restrict() || w.Hooks.Has(hooks.ToolBefore)
}

// permit decides about a call of an agent: hooks first, then the rules, then a person. A hook cannot allow what a
// rule denies.
func (a *attempt) permit(op Opening) func(context.Context, toolcall.Call) acp.Decision {
	if !a.decides() {
		return nil
	}
	return func(ctx context.Context, c toolcall.Call) acp.Decision {
		d := a.decideCall(ctx, op.Inbox, c)
		if !d.Allow && !op.Verifier { // most agents tell their model only that it was refused, and many end the turn
			a.talk.injected.add(fmt.Sprintf("ralph denied a call (%s): %s. Do the task without it, and do not try to get around it.", cmp.Or(c.Kind, "other"), d.Reason))
		}
		return d
	}
}

func (a *attempt) decideCall(ctx context.Context, people Inbox, c toolcall.Call) acp.Decision {
	hooked := a.hook(ctx, hooks.Payload{Point: hooks.ToolBefore, Tool: &hooks.Tool{Call: c}})
	switch {
	case hooked.Blocked():
		return acp.Decision{Rule: "hook", By: hooked.By, Reason: hooked.Refusal()}
	case hooked.Result != nil:
		return acp.Decision{Allow: true, Rule: "hook", By: hooked.By, Reason: "the hook answers in the place of the call", Result: hooked.Result}
	case hooked.Call != nil:
		out := a.rule(ctx, people, *hooked.Call, hooked)
		out.Instead = hooked.Call
		return out
	}
	return a.rule(ctx, people, c, hooked)
}

// rule decides about a call after the hooks, as they have left it.
func (a *attempt) rule(ctx context.Context, people Inbox, c toolcall.Call, hooked hooks.Outcome) acp.Decision {
	d := permission.Decision{Answer: permission.Allow, Rule: permission.ByDefault}
	if a.Permissions != nil {
		d = a.Permissions.Decide(c)
	}
	by := "rules"
	switch {
	case hooked.Decision == permission.Ask && d.Answer == permission.Allow:
		d = permission.Decision{Answer: permission.Ask, Rule: "hook", Reason: "a hook wants a person to decide: " + hooked.Refusal()}
		by = hooked.By
	case hooked.Decision == permission.Allow && d.Answer == permission.Ask:
		d, by = permission.Decision{Answer: permission.Allow, Rule: "hook"}, hooked.By
	}
	if hooked.Call != nil && d.Answer == permission.Allow {
		d.Reason = fmt.Sprintf("with the input of hook %q", hooked.By)
	}
	if d.Answer != permission.Ask {
		return acp.Decision{Allow: d.Answer == permission.Allow, Rule: d.Rule, Reason: d.Reason, By: by}
	}
	return a.askPerson(ctx, people, c, d)
}

// afterCall has hooks look at what came of a file or a terminal that ralph served, before the agent gets it.
func (a *attempt) afterCall(op Opening) func(context.Context, toolcall.Call, string, bool) *string {
	if !a.Hooks.Has(hooks.ToolAfter) {
		return nil
	}
	return func(ctx context.Context, c toolcall.Call, result string, failed bool) *string {
		c.Status = toolcall.Completed
		if failed {
			c.Status = toolcall.Failed
		}
		out := a.hook(ctx, hooks.Payload{Point: hooks.ToolAfter, Tool: &hooks.Tool{Call: c, Result: &result}})
		if !op.Verifier {
			a.talk.injected.add(out.Inject)
		}
		return out.Replace
	}
}

// askPerson asks in the inbox. Nobody is waited for beyond its patience: what is not answered by then is denied, and
// can still be answered for the next time.
func (a *attempt) askPerson(ctx context.Context, people Inbox, c toolcall.Call, d permission.Decision) acp.Decision {
	denied := acp.Decision{Rule: d.Rule, By: "ralph", Reason: d.Reason + "; nobody could be asked: a person can allow it with a rule in [permissions]"}
	if people == nil {
		return denied
	}
	c.Input, c.With = nil, nil        // as long as a file, and rules do not look at it
	shown := redact.Deep(a.Redact, c) // it is stored, and an agent that was given a credential may name it
	text := askedText(shown)
	detail, err := json.Marshal(shown)
	if err != nil {
		return denied // text and lists can be written
	}
	// A rule is about exactly the call, so a person has to see all of it, and no secret may be part of it.
	rememberable := d.Rememberable() && text == askedText(c) && len(text) <= inbox.MaxText
	options := []string{"yes", "no"}
	if rememberable {
		options = append(options, string(permission.Always), string(permission.Never))
	}
	r, err := people.Ask(ctx, inbox.Request{Kind: inbox.Permission, Text: text, Options: options, Detail: string(detail)})
	switch {
	case err != nil:
		denied.Reason = d.Reason + "; a person could not be asked: " + err.Error()
		if !errors.Is(err, context.Canceled) {
			a.WarnOnce("permissions", "an agent's question could not be asked: "+err.Error())
		}
		return denied
	case r.State != inbox.Answered:
		denied.Reason = fmt.Sprintf("%s; nobody answered in time (%s)", d.Reason, r.ID)
		return denied
	}
	answer := PermissionAnswer(r)
	if answer.Remember != "" && !rememberable {
		a.WarnOnce("permissions", fmt.Sprintf("the answer %q to %s counts only this once: the question does not show all of the call", answer.Remember, r.ID))
	} else if answer.Remember != "" {
		if err := a.Permissions.Add(d, answer.Remember, r.AnsweredBy, a.Now()); err != nil {
			a.WarnOnce("permissions", fmt.Sprintf("the answer %q to %s counts only this once: %v", answer.Remember, r.ID, err))
		}
	}
	out := acp.Decision{Allow: answer.Allow, Rule: d.Rule, By: cmp.Or(r.AnsweredBy, "a person")}
	if !answer.Allow {
		out.Reason = strings.TrimSuffix(out.By+" said no: "+answer.Why, ": ")
	}
	return out
}

// askedText is how a person is asked about a call.
func askedText(c toolcall.Call) string {
	what := cmp.Or(c.Kind, "do this")
	if what == toolcall.Terminal {
		what = "run"
	}
	return fmt.Sprintf("May the agent %s: %s", what, c.Subject())
}

// Asked is the call that a person was asked about, for a rule: an agent that can write the database must not have the text show
// another one.
func Asked(r inbox.Request) (c toolcall.Call, err error) {
	if err = json.Unmarshal([]byte(r.Detail), &c); err == nil && strings.TrimSpace(askedText(c)) != r.Text {
		err = errors.New("the question does not show all of the call that a rule would be about")
	}
	return c, err
}

// Permitted is what a person says to a call.
type Permitted struct {
	Allow    bool
	Remember permission.Remember // empty if it counts once
	Why      string
}

// PermissionAnswer reads an answer. What is no yes is a no, with the words as the reason.
func PermissionAnswer(r inbox.Request) Permitted {
	word := strings.ToLower(strings.TrimSpace(r.Answer))
	switch {
	case r.Denied:
		return Permitted{Why: r.Answer}
	case word == "yes" || word == "y":
		return Permitted{Allow: true}
	case word == string(permission.Always):
		return Permitted{Allow: true, Remember: permission.Always}
	case word == string(permission.Never):
		return Permitted{Remember: permission.Never}
	case word == "no" || word == "n":
		return Permitted{}
	}
	return Permitted{Why: r.Answer}
}
