package fakeagent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Script is everything an agent will do.
type Script struct {
	Name        string   `json:"name"`         // that it gives itself; empty means fakeagent
	Protocol    int      `json:"protocol"`     // the version it answers; 0 means 1
	AuthMethods []string `json:"auth_methods"` // offered at initialize
	AuthNeeded  string   `json:"auth_needed"`  // session/new is refused until authenticated with this; "-" is never

	Models       []string `json:"models"`        // offered
	ModelStyle   string   `json:"model_style"`   // "config" (the default) or "set_model"
	ModelCurrent string   `json:"model_current"` // empty means the first
	Efforts      []string `json:"efforts"`       // offered; the first is the current one
	EffortModel  string   `json:"effort_model"`  // the only model that offers them; empty means all
	EffortOption string   `json:"effort_option"` // the ID of that option; empty means effort
	OddOption    bool     `json:"odd_option"`    // offer a config option of an unknown type as well

	Capabilities json.RawMessage `json:"capabilities,omitempty"` // as initialize answers them
	Modes        []string        `json:"modes"`                  // offered; the first is the current one
	ModeStyle    string          `json:"mode_style"`             // "set_mode" (the default), "config", or "refused"
	Forgets      bool            `json:"forgets"`                // knows no session of another process

	// At are steps done when a point of the handshake is reached, before it is
	// answered: "start", "initialize", "authenticate", "session/new",
	// "session/load", "session/resume".
	At map[string][]Step `json:"at"`

	KeepRunning bool `json:"keep_running"` // do not exit when stdin closes or on SIGTERM

	Conversations []Conversation `json:"conversations"` // the first that fits is played
}

// Conversation is what is done for one prompt.
type Conversation struct {
	When  When   `json:"when"`
	Steps []Step `json:"steps"`
}

// When says which prompts a conversation is for; an empty field fits all.
type When struct {
	Task     string `json:"task"`
	Attempt  int    `json:"attempt"` // the nth session that was given this task
	Verify   *bool  `json:"verify"`  // the prompt asks for a verdict; absent means that it does not
	Prompt   int    `json:"prompt"`  // the nth prompt in the session
	Contains string `json:"contains"`
}

// Step is one thing to do; see perform for what each does with its fields.
type Step struct {
	Do      string            `json:"do"`
	Text    string            `json:"text,omitempty"`
	Path    string            `json:"path,omitempty"`
	Paths   []string          `json:"paths,omitempty"`
	Argv    []string          `json:"argv,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	ID      string            `json:"id,omitempty"`
	Kind    string            `json:"kind,omitempty"`
	Status  string            `json:"status,omitempty"`
	Method  string            `json:"method,omitempty"`
	Params  json.RawMessage   `json:"params,omitempty"`
	Code    int               `json:"code,omitempty"`
	Data    json.RawMessage   `json:"data,omitempty"`
	N       int               `json:"n,omitempty"`
	Chunk   int               `json:"chunk,omitempty"`
	Line    int               `json:"line,omitempty"`
	Limit   int               `json:"limit,omitempty"`
	Cost    *float64          `json:"cost,omitempty"`
	Ignore  bool              `json:"ignore,omitempty"`
	Options []Option          `json:"options,omitempty"`
}

// Option is a permission option.
type Option struct {
	ID   string `json:"optionId"`
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// JSON is the script as FAKEAGENT_SCRIPT wants it.
func (s Script) JSON() string {
	raw, err := json.Marshal(s)
	if err != nil {
		panic(err) // a test wrote raw JSON that is none
	}
	return string(raw)
}

func loadScript(source string) (Script, error) {
	raw := []byte(source)
	if source == "" {
		raw = []byte("{}")
	} else if !strings.HasPrefix(strings.TrimSpace(source), "{") {
		var err error
		if raw, err = os.ReadFile(above(source)); err != nil {
			return Script{}, err
		}
	}
	var s Script
	if err := json.Unmarshal(raw, &s); err != nil {
		return Script{}, fmt.Errorf("parse script: %w", err)
	}
	return s, nil
}

// prompted is what is known about a prompt when its conversation is chosen.
type prompted struct {
	text    string
	task    string
	verify  bool
	attempt int
	nth     int
}

func read(text string) prompted {
	p := prompted{text: text, verify: strings.Contains(text, "verify-pass")}
	for _, pattern := range []string{`(?m)^(?:## )?Assigned Task[\s\S]*?(t-[0-9a-f]{6,})`, `(t-[0-9a-f]{6,})`} {
		if m := regexp.MustCompile(pattern).FindStringSubmatch(text); m != nil {
			p.task = m[1]
			break
		}
	}
	return p
}

func (s Script) conversation(p prompted) []Step {
	for _, c := range s.Conversations {
		w := c.When
		if (w.Task == "" || w.Task == p.task) &&
			(w.Attempt == 0 || w.Attempt == p.attempt) &&
			(w.Verify != nil && *w.Verify) == p.verify &&
			(w.Prompt == 0 || w.Prompt == p.nth) &&
			strings.Contains(p.text, w.Contains) {
			return c.Steps
		}
	}
	if p.verify {
		return []Step{{Do: "say", Text: "<verify-pass/>\n"}}
	}
	return []Step{{Do: "say", Text: "<task-done>{{task}}</task-done>\n"}}
}

// above finds a relative path in the working folder or in one above it: an agent may
// be started in a folder of the project that the test made.
func above(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	dir, err := os.Getwd()
	for err == nil {
		if _, err := os.Stat(filepath.Join(dir, path)); err == nil {
			return filepath.Join(dir, path)
		}
		up := filepath.Dir(dir)
		if up == dir {
			break
		}
		dir = up
	}
	return filepath.Join(os.Getenv("RALPH_PROJECT"), path) // a slot may lie elsewhere
}
