package report

import (
	"encoding/json"
	"fmt"
	"strings"

	"ralph/event"
)

// gatesOf reads the gates that are stored with an attempt. What cannot be read is
// left out: a receipt with a hole is better than none.
func gatesOf(text string) []event.Gate {
	if text == "" || text == "[]" {
		return nil
	}
	var raw []struct {
		Command  string            `json:"command"`
		Passed   bool              `json:"passed"`
		Exit     any               `json:"exit"`
		Baseline any               `json:"baseline"`
		Verdict  event.GateVerdict `json:"verdict"`
	}
	if json.Unmarshal([]byte(text), &raw) != nil {
		return nil
	}
	var gates []event.Gate
	for _, g := range raw {
		if g.Command != "" {
			gates = append(gates, event.Gate{Command: g.Command, Passed: g.Passed, Exit: words(g.Exit), Baseline: event.Baseline(words(g.Baseline)), Verdict: g.Verdict})
		}
	}
	return gates
}

// words turns a JSON value into text: an exit may be stored as a number, and a
// baseline as yes or no.
func words(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		if v {
			return "green"
		}
		return "red"
	case float64:
		return fmt.Sprintf("exit status %g", v)
	default:
		b, _ := json.Marshal(v) // it came from JSON
		return string(b)
	}
}

// refused is the gate that did not let the work pass, or nil.
func refused(gates []event.Gate) *event.Gate {
	for i := range gates {
		if !gates[i].Accepted() {
			return &gates[i]
		}
	}
	return nil
}

// gateInReason finds the gate that a reason names, for attempts whose gates are not
// on record: gate "go test": exit status 1.
func gateInReason(reason string) *event.Gate {
	_, after, found := strings.Cut(reason, `gate "`)
	if !found {
		return nil
	}
	line, _, _ := strings.Cut(after, "\n")
	quoted, exit, found := strings.Cut(line, `": `)
	if !found {
		return nil
	}
	var command string
	if json.Unmarshal([]byte(`"`+quoted+`"`), &command) != nil {
		command = quoted
	}
	return &event.Gate{Command: command, Exit: exit}
}
