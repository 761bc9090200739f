package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"ralph/internal/permission"
)

// answer is what a hook may print.
type answer struct {
	Decision  permission.Answer `json:"decision"` // about a call; empty leaves it to others
	Reason    string            `json:"reason"`
	Inject    string            `json:"inject"`
	Replace   any               `json:"replace"` // a text, or the input of a call
	Result    *string           `json:"result"`
	Model     string            `json:"model"`
	Finding   string            `json:"finding"`
	Knowledge *[]string         `json:"knowledge"`
}

// read reads what a hook printed with exit status 0. Only an object is an answer: anything else
// is for people who read it.
func (s spec) read(stdout string, whole bool) (a answer, err error) {
	text := strings.TrimSpace(stdout)
	if !strings.HasPrefix(text, "{") {
		return a, nil
	}
	if !whole {
		return answer{}, fmt.Errorf("its answer is longer than %d KiB", maxOutput>>10)
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&a); err != nil {
		return answer{}, fmt.Errorf("its answer cannot be read: %s; the fields are decision, reason, inject, replace, result, model, finding, knowledge",
			strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return answer{}, errors.New("there is more after its answer; print one JSON object")
	}
	if err := s.check(a); err != nil {
		return answer{}, err
	}
	return a, nil
}

// check refuses what a hook may not do at its point.
func (s spec) check(a answer) error {
	for _, given := range []struct {
		field string
		set   bool
		needs Ability
	}{
		{"inject", a.Inject != "", Inject},
		{"replace", a.Replace != nil, Replace},
		{"result", a.Result != nil, Result},
		{"model", a.Model != "", Model},
		{"finding", a.Finding != "", Finding},
		{"knowledge", a.Knowledge != nil, Select},
	} {
		if given.set && !s.allows(given.needs) {
			return fmt.Errorf("it answers with %s, but a hook on %s %s", given.field, s.point, s.does())
		}
	}
	_, isInput := a.Replace.(map[string]any)
	_, isText := a.Replace.(string)
	switch before := s.point == ToolBefore; {
	case a.Replace == nil || before && isInput || !before && isText:
	case before:
		return fmt.Errorf("it replaces the input of a call with %v; print an object with the fields that change", a.Replace)
	default:
		return fmt.Errorf("it replaces a text with %v; print a string", a.Replace)
	}
	switch a.Decision {
	case "":
	case permission.Allow, permission.Deny, permission.Ask:
		if !s.allows(Decide) && (a.Decision == permission.Ask || !s.allows(Block)) {
			return fmt.Errorf("it decides %s, but a hook on %s %s", a.Decision, s.point, s.does())
		}
	default:
		return fmt.Errorf("it decides %q, which is neither allow, deny nor ask", a.Decision)
	}
	return nil
}
