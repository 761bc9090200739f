package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
)

// EffortChoice is how long the model was to think, and what came of it.
type EffortChoice struct {
	Requested string   // Config.Effort
	Effective string   // as the agent names it; empty when it was not chosen
	Offered   []string // empty when the agent offers no choice
}

// chooseEffort sets the option that says how long the model thinks. An agent that has none, that has other words for it,
// or that refuses works on as it does by itself: Session.Effort says so.
func (s *Session) chooseEffort(ctx context.Context) error {
	choice := EffortChoice{Requested: s.cfg.Effort}
	if choice.Requested == "" {
		return nil
	}
	s.mu.Lock()
	list := effortOption(s.options)
	s.mu.Unlock()
	var err error
	if list != nil {
		choice.Offered = list.ids
		if id, ok := list.find(choice.Requested); ok {
			if id != list.current {
				_, err = s.setOption(ctx, list.option, id)
			}
			if err == nil {
				choice.Effective = id
			}
		}
	}
	s.mu.Lock()
	s.effort = choice
	s.mu.Unlock()
	if errors.Is(err, Refused) {
		s.cfg.Log.Debug().Str("effort", choice.Requested).Err(err).Msg("effort not changed")
		return nil
	}
	return err
}

// effortOption finds the option by the names that agents have for it. Not all of them give it a category.
func effortOption(options []json.RawMessage) *modelList {
	return cmp.Or(findOption(options, "effort"), findOption(options, "thought_level"), findOption(options, "reasoning_effort"))
}

// noteOptions keeps the session's options as an answer has them: which efforts there are may depend on the model.
func (s *Session) noteOptions(raw json.RawMessage) {
	var a struct {
		ConfigOptions []json.RawMessage `json:"configOptions"`
	}
	if lenient(raw, &a); a.ConfigOptions != nil {
		s.mu.Lock()
		s.options = a.ConfigOptions
		s.mu.Unlock()
	}
}

// Effort is which effort was chosen.
func (s *Session) Effort() EffortChoice {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effort
}
