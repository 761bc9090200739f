package modelagent

import (
	"cmp"
	"slices"

	acp "github.com/coder/acp-go-sdk"
)

// session is a conversation that a client may go on with.
type session struct {
	agent    *agent
	id       acp.SessionId
	conv     *history
	tools    *toolbox
	specs    []Spec
	besides  int      // bytes of the instructions and of the descriptions of the tools
	warnings []string // that the client has not been told
	fits     int      // tokens that fit into the window, once the provider has refused more
}

func (s *session) close() {
	s.tools.close()
	s.conv.close()
}

// windowSize is how many tokens the current model takes.
func (s *session) windowSize() int {
	window := s.agent.options.Window
	models, _ := s.agent.listed()
	model := s.conv.snapshot().model
	if i := slices.IndexFunc(models, func(m Model) bool { return m.ID == model }); window == 0 && i >= 0 {
		window = models[i].Window
	}
	window = cmp.Or(window, defaultWindow)
	if s.fits > 0 {
		return min(window, s.fits)
	}
	return window
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
	values, _ := s.choices(option)
	if !slices.Contains(values, value) {
		return acp.NewInvalidParams(map[string]any{"error": "the option " + option + " cannot be " + value, "values": values})
	}
	now := s.conv.snapshot()
	r := record{Kind: chosenRecord, Model: now.model, Effort: now.effort}
	switch {
	case option == modelOption:
		r.Model = value
	case value == defaultEffort:
		r.Effort = ""
	default:
		r.Effort = Effort(value)
	}
	if err := s.conv.add(r); err != nil {
		return s.agent.explain(err)
	}
	return nil
}

func (s *session) configOptions() []acp.SessionConfigOption {
	var options []acp.SessionConfigOption
	for _, o := range []struct {
		id, name string
		category acp.SessionConfigOptionCategory
	}{
		{modelOption, "Model", acp.SessionConfigOptionCategoryModel},
		{effortOption, "Effort", acp.SessionConfigOptionCategoryThoughtLevel},
	} {
		values, current := s.choices(o.id)
		list := acp.SessionConfigSelectOptionsUngrouped{}
		for _, v := range values {
			list = append(list, acp.SessionConfigSelectOption{Name: v, Value: acp.SessionConfigValueId(v)})
		}
		options = append(options, acp.SessionConfigOption{Select: &acp.SessionConfigOptionSelect{
			Id: acp.SessionConfigId(o.id), Name: o.name, Type: "select", Category: &o.category,
			CurrentValue: acp.SessionConfigValueId(current), Options: acp.SessionConfigSelectOptions{Ungrouped: &list},
		}})
	}
	return options
}

// replay tells the client what was said before, as session/load promises.
func (s *session) replay() {
	now := s.conv.snapshot()
	for _, m := range now.messages {
		for _, b := range m.Blocks {
			switch {
			case b.Kind == Text && m.Role == User:
				s.update(acp.UpdateUserMessageText(b.Text))
			case b.Kind == Text:
				s.update(acp.UpdateAgentMessageText(b.Text))
			case b.Kind == Thinking && b.Text != "":
				s.update(acp.UpdateAgentThoughtText(b.Text))
			case b.Kind == Call:
				a, err := s.tools.describe(b)
				if err != nil { // a file has changed since, for one
					a = action{Title: b.Name, Kind: acp.ToolKindOther}
				}
				a.Old, a.New = nil, nil // not what it was then
				s.announce(b, a)
			case b.Kind == Result:
				s.finish(b, false)
			}
		}
	}
}
