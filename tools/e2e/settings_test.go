package e2e

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

//go:embed pins.txt
var pinsText string

//go:embed others.txt
var othersText string

//go:embed own.txt
var ownText string

// pin is one line of a list. An agent without a package is a part of ralph.
type pin struct{ agent, pkg string }

// chosen are the agents to run: the pinned ones, or those that are named, of both lists from npm.
func chosen(names []string) ([]pin, error) {
	pinned, err1 := readPins("pins.txt", pinsText)
	others, err2 := readPins("others.txt", othersText)
	own, err3 := readPins("own.txt", ownText)
	if err := errors.Join(err1, err2, err3); err != nil || len(names) == 0 {
		return pinned, err
	}
	list := slices.Concat(pinned, others)
	for _, name := range names {
		if !slices.ContainsFunc(slices.Concat(list, own), func(p pin) bool { return p.agent == name }) {
			return nil, fmt.Errorf("no agent %s in pins.txt, others.txt or own.txt", name)
		}
	}
	return slices.DeleteFunc(list, func(p pin) bool { return !slices.Contains(names, p.agent) }), nil
}

// chosenOwn are those that are a part of ralph, or those of them that are named.
func chosenOwn(names []string) ([]pin, error) {
	list, err := readPins("own.txt", ownText)
	return slices.DeleteFunc(list, func(p pin) bool { return len(names) > 0 && !slices.Contains(names, p.agent) }), err
}

func readPins(file, text string) ([]pin, error) {
	var list []pin
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		agent, pkg, ok := strings.Cut(line, " ")
		if ok && !strings.Contains(pkg, "@") {
			return nil, fmt.Errorf("%s: %q is neither AGENT PACKAGE@VERSION nor AGENT alone, for one that ralph has in itself", file, line)
		}
		list = append(list, pin{agent, pkg})
	}
	return list, nil
}

// setting is what a user of an agent would set up to have it talk to a provider of their
// own. In the values of Env and Files {{url}} is the provider's address, {{home}} the home
// folder, and @NAME what is in the file settings/NAME.
type setting struct {
	Node    string // the npm package of the Node.js that the agent needs, if that on PATH may be too old
	Env     map[string]string
	Files   map[string]string // in the home folder
	Like    string            // the agent from which it differs by its settings only, so that a graph is enough
	Offers  []string          // the models that its provider lists; empty if it need not list any
	Models  map[string]string // tiers that the agent does not know by itself
	Small   string            // part of the name by which the tier haiku reaches the model; empty if it has but one model
	Cost    bool              // the agent tells what it costs
	Silent  bool              // the agent tells nothing of what it used
	Context bool              // the agent tells the size of its context only
	Frail   bool              // the agent loses its way when an answer of its model breaks off
	Unasked bool              // the agent does not ask before it acts
	Forgets bool              // the agent does not know a session again whose first turn was cut short
}

//go:embed settings
var settingFiles embed.FS

// settings are data, in settings/agents.json: nothing else here knows one agent from another.
func settings(t *testing.T) map[string]setting {
	t.Helper()
	data, err := settingFiles.ReadFile("settings/agents.json")
	check(t, err)
	var all map[string]setting
	check(t, json.Unmarshal(data, &all))
	return all
}

// fill is a value of a setting for a place.
func (p *place) fill(t *testing.T, value string) string {
	t.Helper()
	if name, ok := strings.CutPrefix(value, "@"); ok {
		data, err := settingFiles.ReadFile("settings/" + name)
		check(t, err)
		value = string(data)
	}
	return strings.NewReplacer("{{url}}", p.url, "{{home}}", p.home).Replace(value)
}
