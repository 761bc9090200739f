package modelagent

import (
	"cmp"
	"context"
	"slices"

	acp "github.com/coder/acp-go-sdk"
)

// session is a conversation that a client may go on with.
type session struct {
	agent    *agent
	id       acp.SessionId
	conv     *history
	tools    *toolbox
	warnings []string       // that the client has not been told
	fits     map[string]int // tokens that fit into a model's window, once the provider has refused more
}

func (s *session) close() {
	s.tools.close()
	s.conv.close()
}

// The options of a session.
const (
	modelOption   = "model"
	effortOption  = "effort"
	defaultEffort = "default" // what the model does by itself
)

// choices lists the values of an option, and says which is current.
func (s *session) choices(option string) (values []string, current string) {
	now := s.conv.snapshot()
	switch option {
	case modelOption:
		values, current = s.agent.offered(), now.model
		if !slices.Contains(values, current) && current != "" {
			values = append([]string{current}, values...)
		}
	case effortOption:
		values = []string{defaultEffort, string(Low), string(Medium), string(High)}
		current = cmp.Or(string(now.effort), defaultEffort)
	}
	return values, current
}

// choose sets an option for the calls of the model that follow.
func (s *session) choose(option, value string) error {
	if values, _ := s.choices(option); !slices.Contains(values, value) {
		return acp.NewInvalidParams(map[string]any{"error": "the option " + option + " cannot be " + value, "values": values})
	}
	r := record{Kind: chosenRecord, Effort: Effort(value)}
	if option == modelOption {
		r = record{Kind: chosenRecord, Model: value}
	}
	if err := s.conv.add(r); err != nil {
		return s.agent.explain(err)
	}
	return nil
}

func (s *session) configOptions() []acp.SessionConfigOption {
	option := func(id, name string, category acp.SessionConfigOptionCategory) acp.SessionConfigOption {
		values, current := s.choices(id)
		list := acp.SessionConfigSelectOptionsUngrouped{}
		for _, v := range values {
			list = append(list, acp.SessionConfigSelectOption{Name: v, Value: acp.SessionConfigValueId(v)})
		}
		return acp.SessionConfigOption{Select: &acp.SessionConfigOptionSelect{
			Id: acp.SessionConfigId(id), Name: name, Type: "select", Category: &category,
			CurrentValue: acp.SessionConfigValueId(current), Options: acp.SessionConfigSelectOptions{Ungrouped: &list},
		}}
	}
	return []acp.SessionConfigOption{
		option(modelOption, "Model", acp.SessionConfigOptionCategoryModel),
		option(effortOption, "Effort", acp.SessionConfigOptionCategoryThoughtLevel),
	}
}

// replay tells the client what was said before, as session/load promises, also what the model is not sent any more.
func (s *session) replay(records []record) {
	for _, r := range records {
		if r.Result != nil {
			s.finish(*r.Result, false)
		}
		if r.Message == nil {
			continue
		}
		for _, b := range r.Message.Blocks {
			switch {
			case b.Kind == Text && r.Message.Role == User:
				s.update(acp.UpdateUserMessageText(b.Text))
			case b.Kind == Text:
				s.update(acp.UpdateAgentMessageText(b.Text))
			case b.Kind == Thinking && b.Text != "":
				s.update(acp.UpdateAgentThoughtText(b.Text))
			case b.Kind == Call:
				a, _ := s.describe(b)
				a.Old, a.New = nil, nil // not what it was then
				s.announce(b, a)
			}
		}
	}
}

// update tells the client something. If it is gone, the connection ends, and the turn with it.
func (s *session) update(u acp.SessionUpdate) {
	_ = s.agent.conn.SessionUpdate(context.Background(), acp.SessionNotification{SessionId: s.id, Update: u})
}
