package acp

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	sdk "github.com/coder/acp-go-sdk"
)

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
	return s.ask(ctx, "session/set_config_option", sdk.SetSessionConfigOptionRequest{ValueId: &sdk.SetSessionConfigOptionValueId{
		SessionId: sdk.SessionId(s.id), ConfigId: sdk.SessionConfigId(option), Value: sdk.SessionConfigValueId(value),
	}})
}
