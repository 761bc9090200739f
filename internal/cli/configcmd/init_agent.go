package configcmd

import (
	"cmp"
	"fmt"
	"iter"
	"os/exec"
	"slices"
	"strings"
	"unicode"

	"ralph/internal/agents"
	"ralph/internal/cli"
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
	Trouble    string   // why one that somebody named cannot work yet
	Declined   bool     // somebody wants none
}

// agentsHere are the agents that can be used here, the one to prefer first: those that are installed, the one that the user's own
// configuration sets, and ralph's own with a key or a model server. Later ones are looked for only if somebody wants to know.
func agentsHere(a *cli.App) iter.Seq[foundAgent] {
	return func(yield func(foundAgent) bool) {
		for _, p := range agents.Installed(exec.LookPath) {
			if !yield(foundAgent{Name: p.Name}) {
				return
			}
		}
		config, err := a.LoadConfig("")
		finder := a.Finder(config)
		if configured := finder.Configured(); err == nil && configured != "" && !yield(foundAgent{User: configured}) {
			return
		}
		for p := range finder.AllReady() {
			found := foundAgent{Name: p.Name, Credential: cmp.Or(agents.Credentials(p, a.Environ())...)}
			if p.Needs == agents.Server && a.Models != nil {
				at, answers := a.Models(a.Environ())
				found.Silent = !answers
				found.Server, found.Models, found.Model = at.URL, at.Models, sensible(at.Models)
			}
			if !yield(found) {
				return
			}
		}
	}
}

// sensible is the model to begin with: the first that was made for code, or else the first that can talk. A name that
// cannot be written into a file as it is was not made for people.
func sensible(models []string) string {
	talking := slices.DeleteFunc(slices.Clone(models), func(name string) bool {
		return len(name) > 200 || mute.Get().MatchString(name) || strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) })
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
	case named == "" && f.Declined:
		return "none; a run takes the one that it finds then"
	case named == "":
		return "none found: " + agents.Remedy + "; the next run finds it"
	case f.Trouble != "":
		return named + ", " + f.Trouble
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

// agentNamed is the agent that somebody named: one that is known, even if it cannot work here yet, or the command that starts one.
func agentNamed(a *cli.App, name string) (found foundAgent, known bool, err error) {
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return foundAgent{}, false, cli.Usagef("%q is no agent: it has characters that cannot be seen", name)
	}
	switch words := strings.Fields(name); {
	case len(words) == 0:
		return foundAgent{}, false, cli.Hint(cli.Usagef("--agent is empty"), "the names of agents: ralph agents; for none: --agent none")
	case startsRalph(name) && (len(words) == 1 || words[1] != "agent"):
		return foundAgent{}, false, cli.Usagef("%q starts ralph itself, which is no agent", name)
	}
	config, _ := a.LoadConfig("") // one that cannot be read names no agent; the next command tells why
	finder := a.Finder(config)
	agent, err := finder.Find(name)
	_, builtin := agents.Lookup(name)
	_, configured := config.Agents[name]
	switch known = builtin || configured; {
	case err != nil && !known:
		return foundAgent{}, false, err
	case err != nil:
		return foundAgent{Name: name, Trouble: "which cannot be started here yet: " + strings.TrimPrefix(err.Error(), agents.ErrUnavailable.Error()+": ")}, known, nil
	case finder.Has(agent.Preset):
		for f := range agentsHere(a) { // says more of it
			if f.Name == name {
				return f, known, nil
			}
		}
		return foundAgent{Name: name}, known, nil
	case agent.Needs == agents.Key:
		return foundAgent{Name: name, Trouble: "which has no key here yet: " + agent.Login}, known, nil
	}
	return foundAgent{Name: name, Trouble: "which finds no model server here yet"}, known, nil
}
