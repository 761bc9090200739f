package modelagent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	acp "github.com/coder/acp-go-sdk"
)

const (
	// maxAtOnce is how many calls of one answer are run.
	maxAtOnce = 100
	// maxTogether is how many calls run at the same time.
	maxTogether = 8
	// maxShown is how much of a call's arguments, or of a file before and after it, the client is shown.
	maxShown = 512 << 10
)

// do runs the calls of an answer: those without effects together, every other one alone, and each result is in the
// conversation as soon as it is there. The last call of an answer that was too long is not whole, and is not run.
func (t *turn) do(ctx context.Context, calls []Block, tooLong bool) error {
	over := make(chan struct{})
	defer close(over)
	go t.giveSigns(over)
	// All results together must leave space for an answer.
	most := max(1000, t.window(t.conv.snapshot().model)*4/10*bytesPerToken/len(calls))
	var running sync.WaitGroup
	places := make(chan struct{}, maxTogether)
	errs := make([]error, len(calls))
	for i, call := range calls {
		a, bad := t.describe(call)
		if tooLong && i == len(calls)-1 {
			bad = errors.New("not run: your answer was too long and broke off in this call; do it in smaller parts")
		}
		if i == maxAtOnce {
			bad = fmt.Errorf("not run: at most %d calls in one answer; this call and those after it have to be made again", maxAtOnce)
		}
		if a.Alone {
			running.Wait()
		}
		places <- struct{}{}
		t.announce(call, a)
		running.Go(func() {
			errs[i] = t.call(ctx, call, a, bad, most)
			<-places
		})
		if a.Alone {
			running.Wait()
			if err := errors.Join(errs...); err != nil {
				return err
			}
		}
	}
	running.Wait()
	return errors.Join(errs...)
}

// describe is what a call is about to do, in a word if it makes no sense.
func (s *session) describe(c Block) (action, error) {
	a, err := s.tools.describe(c)
	if err != nil {
		a = action{Title: c.Name, Kind: acp.ToolKindOther}
	}
	return a, err
}

// stopped is what the model is told of a call that was under way. It has to hear that the call may have had effects,
// also where the agent saw the end coming and knows what the call has said so far.
const stopped = "unknown: the agent was stopped while this ran; look at what it did before you run it again"

// call runs one, unless something speaks against it: it is bad, nobody allows it, or the turn is over.
func (t *turn) call(ctx context.Context, c Block, a action, bad error, most int) error {
	asks := a.Asks || t.agent.options.AskAll && a.Kind != acp.ToolKindOther // which ralph's own tools are
	if bad == nil && asks && ctx.Err() == nil {
		bad = t.permission(ctx, c, a)
	}
	if ctx.Err() != nil {
		bad = errors.New("not run: the turn was cancelled")
	}
	var result Block
	if bad != nil {
		result = *failed(c, bad.Error())
	} else {
		if err := t.conv.add(record{Kind: startedRecord, IDs: []string{c.ID}}); err != nil {
			return err
		}
		t.update(acp.UpdateToolCall(acp.ToolCallId(c.ID), acp.WithUpdateStatus(acp.ToolCallStatusInProgress)))
		result = t.tools.run(ctx, c)
		if ctx.Err() != nil && result.Failed {
			result.Text += "\n" + stopped
		}
		result.Text = shorten(result.Text, "", 0, most)
	}
	if err := t.conv.add(record{Kind: resultRecord, Result: &result}); err != nil {
		return err
	}
	t.finish(result, a.New != nil)
	return nil
}

// permission asks for it. The error is why there is none.
func (t *turn) permission(ctx context.Context, c Block, a action) error {
	answer, err := t.agent.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionId: t.id,
		ToolCall: acp.ToolCallUpdate{
			ToolCallId: acp.ToolCallId(c.ID), Title: &a.Title, Kind: &a.Kind, Locations: a.locations(), RawInput: shown(c.Args),
		},
		Options: []acp.PermissionOption{
			{OptionId: "allow", Name: "Allow", Kind: acp.PermissionOptionKindAllowOnce},
			{OptionId: "reject", Name: "Reject", Kind: acp.PermissionOptionKindRejectOnce},
		},
	})
	if err != nil { // also of a client that cannot be asked: nobody has allowed it
		return fmt.Errorf("denied: the client did not answer: %w", err)
	}
	if chosen := answer.Outcome.Selected; chosen != nil && chosen.OptionId == "allow" {
		return nil
	}
	ours, _ := answer.Meta["ralph"].(map[string]any)
	reason, _ := ours["reason"].(string)
	return errors.New("denied: " + cmp.Or(reason, "the client did not allow it"))
}

// announce tells the client of a call.
func (s *session) announce(c Block, a action) {
	options := []acp.ToolCallStartOpt{
		acp.WithStartKind(a.Kind), acp.WithStartStatus(acp.ToolCallStatusPending),
		acp.WithStartLocations(a.locations()), acp.WithStartRawInput(shown(c.Args)),
	}
	if a.New != nil && len(*a.New) <= maxShown && (a.Old == nil || len(*a.Old) <= maxShown) {
		diff := acp.ToolCallContent{Diff: &acp.ToolCallContentDiff{Type: "diff", Path: a.Path, OldText: a.Old, NewText: *a.New}}
		options = append(options, acp.WithStartContent([]acp.ToolCallContent{diff}))
	}
	s.update(acp.StartToolCall(acp.ToolCallId(c.ID), a.Title, options...))
}

// finish tells it what came of the call. Where it was shown how a file changes, it goes on showing that.
func (s *session) finish(r Block, diff bool) {
	status := acp.ToolCallStatusCompleted
	if r.Failed {
		status = acp.ToolCallStatusFailed
	}
	options := []acp.ToolCallUpdateOpt{acp.WithUpdateStatus(status)}
	if r.Failed || !diff {
		options = append(options, acp.WithUpdateContent([]acp.ToolCallContent{acp.ToolContent(acp.TextBlock(r.Text))}))
	}
	s.update(acp.UpdateToolCall(acp.ToolCallId(r.ID), options...))
}

func (a action) locations() []acp.ToolCallLocation {
	if a.Path == "" {
		return nil
	}
	return []acp.ToolCallLocation{{Path: a.Path}}
}

func shown(args json.RawMessage) any {
	if len(args) > maxShown {
		return nil
	}
	return args
}

// giveSigns gives signs of life while tools run: each has a limit of its own, so none of them is idle.
func (t *turn) giveSigns(over <-chan struct{}) {
	for {
		select {
		case <-time.After(signEvery):
			t.thought("")
		case <-over:
			return
		}
	}
}

// failed is the result of a call that did not do what it should.
func failed(call Block, text string) *Block {
	return &Block{Kind: Result, ID: call.ID, Name: call.Name, Text: text, Failed: true}
}

// callsOf lists the calls in a message.
func callsOf(m Message) []Block {
	return slices.DeleteFunc(slices.Clone(m.Blocks), func(b Block) bool { return b.Kind != Call })
}
