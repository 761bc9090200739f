package attempt

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"ralph/acp"
	"ralph/internal/event"
	"ralph/internal/hooks"
	"ralph/internal/human"
	"ralph/internal/outbox"
	"ralph/internal/plain"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/verify"
)

// hook runs the hooks of a point for this attempt.
func (a *attempt) hook(ctx context.Context, p hooks.Payload) hooks.Outcome {
	p.Run, p.Attempt, p.Task, p.Title = a.job.Run.ID, a.job.Run.Attempt, a.job.Task.ID, a.job.Task.Title
	p.Dir, p.Agent, p.Model = cmp.Or(p.Dir, a.job.Place.Dir), a.job.Agent.Name, a.job.Agent.Choice.Model
	out := a.Hooks.Run(ctx, p)
	for _, text := range out.Problems {
		a.warn(a.job.Task.ID, text)
	}
	return out
}

// promptBefore lets hooks change a prompt, within its budget: an answer of theirs always is.
func (a *attempt) promptBefore(ctx context.Context, text string) string {
	out := a.hook(ctx, hooks.Payload{Point: hooks.PromptBefore, Prompt: text})
	if out.Replace != nil {
		text = *out.Replace
	}
	return a.withInjected(text, out.Inject)
}

// withInjected is a prompt with what hooks add to it, as far as that fits.
func (a *attempt) withInjected(text, more string) string {
	if more == "" {
		return text
	}
	added := "\n\n" + more + "\n"
	if room := prompt.Room(text); len(added) > room {
		a.warn(a.job.Task.ID, "what a hook adds to the prompt does not fit and is cut: "+human.Bytes(int64(len(added))))
		added = plain.Head(added, room)
	}
	return strings.TrimSuffix(text, "\n") + added
}

// maxTurnText is how much of what an agent said a hook gets.
const maxTurnText = 8 << 10

// turnAfter has hooks look at a turn. What they add is for the next one.
func (a *attempt) turnAfter(ctx context.Context, turn acp.Turn) {
	if !a.Hooks.Has(hooks.TurnAfter) {
		return
	}
	said := ""
	_ = turn.Each(func(piece string, _ bool) { said = plain.Tail(said+piece, maxTurnText) }) // what was lost is reported by who keeps it
	out := a.hook(ctx, hooks.Payload{Point: hooks.TurnAfter, Turn: &hooks.Turn{Stop: string(turn.Stop), Text: said}})
	a.talk.injected.add(out.Inject)
}

// maxInjected is how many texts are added to a prompt.
const maxInjected = 64

// injected is what hooks, and calls that were denied, add to the next prompt.
type injected struct {
	mu    sync.Mutex
	texts []string
}

func (i *injected) add(text string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !slices.Contains(i.texts, text) && len(i.texts) < maxInjected {
		i.texts = append(i.texts, human.Parts(text)...)
	}
}

func (i *injected) take() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	text := strings.Join(i.texts, "\n\n")
	i.texts = nil
	return text
}

// maxCalls is how many tool calls may wait for their hooks in a turn.
const maxCalls = 256

// toolAfter has hooks look at the tool calls of a turn, beside the agent, and returns what waits
// for those that are left when the turn is over.
func (a *attempt) toolAfter(ctx context.Context) (wait func()) {
	if !a.Hooks.Has(hooks.ToolAfter) {
		return func() {}
	}
	box := outbox.New(outbox.Options[hooks.Tool]{
		Size: maxCalls, Tries: 1, Timeout: time.Hour, // each hook has its own
		Send: func(calls context.Context, t hooks.Tool) error {
			a.talk.injected.add(a.hook(calls, hooks.Payload{Point: hooks.ToolAfter, Tool: &t}).Inject)
			return calls.Err()
		},
	})
	end := a.watch.eachCall(func(e acp.ToolCall) { box.Put(hooks.Tool{Call: e.Call}) })
	return func() {
		end()
		box.Close()
		// As long as one call may take, and not as many: a hook that never ends would hold up the run for hours.
		over := time.NewTimer(a.Hooks.Longest(hooks.ToolAfter))
		defer over.Stop()
		select {
		case <-box.Done():
		case <-over.C:
			box.Stop()
			<-box.Done()
		case <-ctx.Done():
			box.Stop()
			<-box.Done()
		}
		if _, missing, _ := box.Count(); missing > 0 && ctx.Err() == nil {
			a.WarnOnce("tool.after", "hooks on tool.after were too slow for an agent: not every call was looked at")
		}
	}
}

// verifyBefore has hooks look at work before anything else checks it. What they find counts as a
// red gate.
func (a *attempt) verifyBefore(ctx context.Context) []verify.Check {
	return a.redHooks(ctx, hooks.Payload{Point: hooks.VerifyBefore, Work: &hooks.Work{Gates: a.job.Verify.Gates}})
}

// verifyAfter has hooks look at work that was checked. What was rejected stays so.
func (a *attempt) verifyAfter(ctx context.Context, d policy.Decision) []verify.Check {
	accepted := d.Action == policy.Complete
	red := a.redHooks(ctx, hooks.Payload{Point: hooks.VerifyAfter, Work: &hooks.Work{Gates: a.job.Verify.Gates, Accepted: &accepted, Reason: d.Reason}})
	if !accepted {
		return nil
	}
	return red
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// redHooks are the findings of hooks as gates that failed.
func (a *attempt) redHooks(ctx context.Context, p hooks.Payload) (red []verify.Check) {
	p.Dir = a.runner().Dir
	out := a.hook(ctx, p)
	found := out.Findings
	if out.Blocked() {
		found = append(found, hooks.Found{By: out.By, Text: out.Reason})
	}
	for _, f := range found {
		c := verify.Check{Own: true, Result: verify.Result{Command: "hook " + f.By, Exit: "refused by a hook on " + string(p.Point), Tail: f.Text}}
		a.tell(event.Event{Type: event.GateStarted, Gate: &event.Gate{Command: c.Command}})
		if err := appendTo(a.verifyLog(), "$ "+c.Command+"\n"+c.Tail+"\n"); err != nil {
			a.warn(a.job.Task.ID, "keeping what a hook found: "+err.Error())
		}
		a.gateEnded(c, "")
		red = append(red, c)
	}
	return red
}
