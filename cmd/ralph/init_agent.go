package main

import (
	"cmp"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"unicode"

	"ralph/internal/agents"
	"ralph/internal/human"
	"ralph/internal/lazyregexp"
)

// foundAgent is an agent that can be used here, and why. The zero value is none.
type foundAgent struct {
	Name       string
	User       string   // the one that the user's own configuration sets; then there is no Name
	Credential string   // the variable that holds its key
	Server     string   // the address of its models
	Models     []string // that the server has
	Model      string   // the one to use
	Silent     bool     // nobody answers at the address that the user names
}

// findAgent looks for an installed agent, then for a key, then for a model server.
func findAgent(a *app) foundAgent {
	if installed := agents.Installed(exec.LookPath); len(installed) > 0 {
		return foundAgent{Name: installed[0].Name}
	}
	config, err := a.loadConfig("")
	finder := a.finder(config)
	if configured := finder.Configured(); err == nil && configured != "" {
		return foundAgent{User: configured}
	}
	p, ok := finder.Ready()
	if !ok {
		return foundAgent{}
	}
	found := foundAgent{Name: p.Name, Credential: cmp.Or(agents.Credentials(p, a.environ())...)}
	if p.Needs == agents.Server && a.models != nil {
		at, answers := a.models(a.environ())
		found.Silent = !answers
		found.Server, found.Models, found.Model = at.URL, at.Models, sensible(at.Models)
	}
	return found
}

// sensible is the model to begin with: the first that was made for code, or else the first that can talk. A name that
// cannot be written into a file as it is was not made for people.
func sensible(models []string) string {
	talking := slices.DeleteFunc(slices.Clone(models), func(name string) bool {
		return len(name) > 200 || mute().MatchString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
	})
	for _, name := range talking {
		if strings.Contains(strings.ToLower(name), "code") {
			return name
		}
	}
	return cmp.Or(talking...)
}

// mute is what servers list besides models that can talk: those for searching.
var mute = lazyregexp.New(`(?i)embed|rerank|minilm|(^|/)(bge|gte|e5)-`)

// words says what was found. named is the agent that counts, which another configuration may have chosen.
func (f foundAgent) words(named string) string {
	switch others := slices.DeleteFunc(slices.Clone(f.Models), func(name string) bool { return name == f.Model }); {
	case named == "" && f.User != "":
		return f.User + ", as your own configuration says"
	case named == "":
		return "none found: " + agents.Remedy + "; the next run finds it"
	case f.Credential != "":
		return fmt.Sprintf("%s, with the key in %s", named, f.Credential)
	case f.Silent:
		return named + ", but no model server answers at the address in OPENAI_BASE_URL; start it, or correct the address"
	case f.Server != "" && f.Model == "":
		return fmt.Sprintf("%s, but the server at %s has no model yet that can chat; for example: ollama pull qwen3-coder", named, f.Server)
	case f.Server != "":
		return fmt.Sprintf("%s, with the model %s of the server at %s%s", named, f.Model, f.Server, human.Lead("; it also has ", human.List(others, 5)))
	}
	return named
}
