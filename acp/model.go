package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"
)

// ModelChoice is which model was wanted and which took effect.
type ModelChoice struct {
	Requested string       // Config.Model
	Effective string       // as the agent names it; empty when it does not say
	Channel   ModelChannel // how it was chosen; empty when it was not
	Offered   []string     // IDs; empty when the agent does not say
}

type modelList struct {
	option  string // the config option's ID
	current string
	ids     []string
	names   []string
}

// sessionModels reads the models out of the answer to session/new. Options of
// kinds we do not know are skipped; the session exists all the same.
func sessionModels(raw json.RawMessage) map[ModelChannel]*modelList {
	var a struct {
		ConfigOptions []json.RawMessage `json:"configOptions"`
		Models        *struct {
			Available []struct {
				ID   string `json:"modelId"`
				Name string `json:"name"`
			} `json:"availableModels"`
			Current string `json:"currentModelId"`
		} `json:"models"`
	}
	lenient(raw, &a)
	out := make(map[ModelChannel]*modelList)
	if list := findOption(a.ConfigOptions, "model"); list != nil {
		out[ChannelConfig] = list
	}
	if a.Models != nil {
		list := &modelList{current: a.Models.Current}
		for _, m := range a.Models.Available {
			list.ids, list.names = append(list.ids, m.ID), append(list.names, m.Name)
		}
		out[ChannelSetModel] = list
	}
	return out
}

// findOption is the option that selects the model, or something else: by its ID,
// else by its category.
func findOption(options []json.RawMessage, what string) *modelList {
	type value struct {
		Value   string  `json:"value"`
		Name    string  `json:"name"`
		Options []value `json:"options"` // of a group
	}
	var byCategory *modelList
	for _, raw := range options {
		var o struct {
			ID       string  `json:"id"`
			Category string  `json:"category"`
			Type     string  `json:"type"`
			Current  string  `json:"currentValue"`
			Options  []value `json:"options"`
		}
		if json.Unmarshal(raw, &o) != nil || o.Type != "select" {
			continue
		}
		list := &modelList{option: o.ID, current: o.Current}
		for _, v := range o.Options {
			for _, v := range append(v.Options, v) {
				if v.Value != "" {
					list.ids, list.names = append(list.ids, v.Value), append(list.names, v.Name)
				}
			}
		}
		if o.ID == what {
			return list
		}
		if o.Category == what && byCategory == nil {
			byCategory = list
		}
	}
	return byCategory
}

// find is the ID that is meant: exactly, else by name or ID in any case, else
// by the part after a provider when that is unambiguous.
func (l *modelList) find(want string) (string, bool) {
	var folded, tails []string
	for i, id := range l.ids {
		if id == want {
			return id, true
		}
		if strings.EqualFold(id, want) || strings.EqualFold(l.names[i], want) {
			folded = append(folded, id)
		}
		if tail := id[strings.LastIndexByte(id, '/')+1:]; strings.EqualFold(tail, want) {
			tails = append(tails, id)
		}
	}
	switch {
	case len(folded) > 0:
		return folded[0], true
	case len(tails) == 1:
		return tails[0], true
	}
	return "", false
}

// chooseModel sets the model through the first channel that the agent has.
func (s *Session) chooseModel(ctx context.Context, offers map[ModelChannel]*modelList) error {
	choice := ModelChoice{Requested: s.cfg.Model}
	for _, channel := range s.cfg.ModelChannels {
		list := offers[channel]
		if list == nil {
			if channel == ChannelEnv && s.cfg.Model != "" && choice.Offered == nil {
				choice.Channel = channel
				break
			}
			continue
		}
		if choice.Offered == nil {
			choice.Offered, choice.Effective = list.ids, list.current
		}
		if s.cfg.Pick != nil {
			choice.Requested = s.cfg.Pick(list.ids)
		}
		if choice.Requested == "" {
			break
		}
		id, ok := list.find(choice.Requested)
		if !ok && s.cfg.Pick != nil {
			choice.Requested = ""
			break
		}
		if !ok {
			return &Error{
				Kind: ModelUnknown, Op: "choose model", Offered: list.ids,
				Text: s.cfg.Model + "; offered: " + cut(strings.Join(list.ids, ", "), 1000),
			}
		}
		effective, err := s.setModel(ctx, channel, list, id)
		if errors.Is(err, errNoMethod) {
			continue
		}
		if err != nil {
			return err
		}
		choice.Channel, choice.Effective, choice.Offered = channel, effective, list.ids
		break
	}
	s.mu.Lock()
	s.model = choice
	s.mu.Unlock()
	return nil
}

// setModel returns what the agent says is in effect afterwards.
func (s *Session) setModel(ctx context.Context, channel ModelChannel, list *modelList, id string) (string, error) {
	if id == list.current {
		return id, nil
	}
	var raw json.RawMessage
	var err error
	if channel == ChannelConfig {
		raw, err = s.setOption(ctx, list.option, id)
	} else {
		raw, err = s.ask(ctx, "session/set_model", sdk.UnstableSetSessionModelRequest{SessionId: sdk.SessionId(s.id), ModelId: sdk.UnstableModelId(id)})
	}
	var e *Error
	if errors.As(err, &e) && e.Kind == Refused && e.Code == -32601 {
		return "", errNoMethod
	}
	if err != nil {
		return "", err
	}
	if now := sessionModels(raw)[channel]; now != nil && now.current != "" {
		return now.current, nil
	}
	return id, nil
}

// chooseMode puts the session into the first mode of Config.Modes that the agent
// offers: by the option of that name, or by the method of the protocol. An agent
// that refuses works on in the mode that it has.
func (s *Session) chooseMode(ctx context.Context, option string) error {
	i := slices.IndexFunc(s.cfg.Modes, func(mode string) bool { return slices.Contains(s.about.Modes, mode) })
	if i < 0 || s.cfg.Modes[i] == s.about.Mode {
		return nil
	}
	mode := s.cfg.Modes[i]
	var err error
	if option != "" {
		_, err = s.setOption(ctx, option, mode)
	} else {
		_, err = s.ask(ctx, "session/set_mode", sdk.SetSessionModeRequest{SessionId: sdk.SessionId(s.id), ModeId: sdk.SessionModeId(mode)})
	}
	if errors.Is(err, Refused) {
		s.cfg.Log.Debug().Str("mode", mode).Err(err).Msg("mode not changed")
		return nil
	}
	if err == nil {
		s.about.Mode = mode
	}
	return err
}

func (s *Session) setOption(ctx context.Context, option, value string) (json.RawMessage, error) {
	raw, err := s.ask(ctx, "session/set_config_option", sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{
		SessionId: sdk.SessionId(s.id), ConfigId: sdk.SessionConfigId(option), Value: sdk.SessionConfigValueId(value),
	}})
	s.noteOptions(raw)
	return raw, err
}
