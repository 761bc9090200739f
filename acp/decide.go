package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/toolcall"
)

// Decision is what becomes of a call.
type Decision struct {
	Allow  bool
	Rule   string // that decided
	Reason string // why not; the agent is told
	By     string // who decided

	Instead *toolcall.Call // one that its With made, to be done in its place
	Result  *string        // that the agent gets, without anything being done; only for a call with an Input
}

// maxDeciding is how many calls may wait for a decision at once. A person answers one at a time.
const maxDeciding = 32

var errDenied = errors.New("denied by ralph's rules")

func (s *Session) announce(title, answer string, c toolcall.Call, d Decision) {
	d.Instead, d.Result = nil, nil // they are as long as files
	s.observer.push(Permission{Title: cut(s.hide.Text(title), 300), Answer: answer, Kind: c.Kind, Text: cut(c.Subject(), 2000), Decision: d})
}

// decide asks Config.Decide, if there is one. The request gives its place back meanwhile: others are answered.
func (s *Session) decide(ctx context.Context, c toolcall.Call) (d Decision, decided bool) {
	s.mu.Lock()
	ask := s.cfg.Decide
	s.mu.Unlock()
	if ask == nil {
		return Decision{}, false
	}
	select {
	case s.deciding <- struct{}{}:
		defer func() { <-s.deciding }()
	default:
		return Decision{Rule: "limit", By: "ralph", Reason: fmt.Sprintf("more than %d calls wait for a decision; try again after they are decided", maxDeciding)}, true
	}
	ctx, end := s.untilTurnEnds(ctx)
	defer end()
	s.intake.yield(func() { d = ask(ctx, c) })
	if d.Allow && ctx.Err() != nil { // whoever would have refused may have been cut off
		d = Decision{Rule: "cancelled", By: "ralph", Reason: "the turn was cancelled"}
	}
	return d, true
}

// untilTurnEnds ends a context when the turn is cancelled or the session closed.
func (s *Session) untilTurnEnds(ctx context.Context) (context.Context, context.CancelFunc) {
	var cancelled <-chan struct{}
	s.mu.Lock()
	if s.turn != nil {
		cancelled = s.turn.cancelled
	}
	s.mu.Unlock()
	ctx, end := context.WithCancel(ctx)
	go func() {
		select {
		case <-cancelled:
		case <-s.closed:
		case <-ctx.Done():
		}
		end()
	}()
	return ctx, end
}

// activity is how much the agent did. While it waits for a decision it is not idle.
func (s *Session) activity() int64 {
	if len(s.deciding) > 0 {
		return s.intake.activity.Add(1)
	}
	return s.intake.activity.Load()
}

type permissionRequest struct {
	ToolCall json.RawMessage    `json:"toolCall"`
	Options  []permissionOption `json:"options"`
}

type permissionOption struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
}

// permit picks an option by its kind, for this once rather than for always: its position and ID mean nothing.
// Without a usable option the answer is that the request was cancelled.
func (s *Session) permit(ctx context.Context, req permissionRequest) any {
	const cancelled = "cancelled"
	var u update
	lenient(req.ToolCall, &u)
	c := s.asked(u)
	d, decided := s.decide(ctx, c)
	kinds := []string{"allow_always", "allow_once"} // the last one wins
	if decided && !d.Allow {
		kinds = []string{"reject_always", "reject_once"}
	}
	if s.cancelling.Load() {
		req.Options = nil
	}
	answer, outcome := cancelled, map[string]string{"outcome": cancelled}
	for _, kind := range kinds {
		i := slices.IndexFunc(req.Options, func(o permissionOption) bool { return o.Kind == kind && o.ID != "" })
		if i >= 0 {
			answer, outcome = kind, map[string]string{"outcome": "selected", "optionId": req.Options[i].ID}
		}
	}
	result := map[string]any{"outcome": outcome}
	if !decided {
		c = toolcall.Call{}
	} else { // nothing else in an answer says why
		result["_meta"] = map[string]any{"ralph": map[string]string{"rule": d.Rule, "by": d.By, "reason": s.hide.Text(d.Reason)}}
	}
	s.announce(u.Title, answer, c, d)
	return result
}

// asked is the call that a request is about, with what was said when it was announced.
func (s *Session) asked(u update) toolcall.Call {
	var announced toolcall.Call
	s.mu.Lock()
	if s.turn != nil {
		announced = s.turn.announced[u.ToolCallID]
	}
	s.mu.Unlock()
	c := u.Call(s.name).Or(announced).Complete()
	c.Paths = s.withLinks(c.Paths)
	return c
}

// name is a path as calls have it.
func (s *Session) name(path string) string {
	if rel, ok := s.files.relative(path); ok {
		path = rel
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(s.cwd(), path)
	}
	return filepath.ToSlash(filepath.Clean(path))
}

// withLinks adds where paths lead if there are links in them.
func (s *Session) withLinks(paths []string) []string {
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.cwd(), path)
		}
		if to, ok := s.follow(path); ok { // else nobody can write there
			paths = append(paths, s.name(to))
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// follow is where a path leads, as the agent has it, also if there is nothing yet: it would be made there. It fails for a circle of links.
func (s *Session) follow(path string) (string, bool) {
	separator := string(filepath.Separator)
	root := filepath.VolumeName(path) + separator
	at, todo := root, strings.Split(path[len(root):], separator)
	for links := 0; len(todo) > 0; {
		next := filepath.Join(at, todo[0]) // which goes up for ".."
		todo = todo[1:]
		target, err := os.Readlink(s.cfg.Place.Outside(next))
		if err != nil {
			at = next
			continue
		}
		if links++; links > maxLinks {
			return "", false
		}
		if filepath.IsAbs(target) {
			at = root
		}
		todo = append(strings.Split(target, separator), todo...)
	}
	return at, true
}
