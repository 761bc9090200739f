package main

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime/debug"

	"ralph/internal/agents"
	"ralph/internal/modelagent"
	"ralph/internal/proc"
	"ralph/internal/seq"
)

// agentCommand is the agent that asks a model itself: ralph starts itself with this name, and so may an editor.
var agentCommand = command{
	name: "agent", short: "serve ralph's own coding agent over the Agent Client Protocol, on stdin and stdout",
	long: `ralph starts it by itself: ralph run --agent anthropic, openai or local. An editor that speaks ACP can start
it, too: give it the command "ralph agent", and the key in the environment. It speaks ACP on stdin and stdout until
stdin ends, and works in the folder that the client names.

anthropic needs ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, openai needs OPENAI_API_KEY; ANTHROPIC_BASE_URL and
OPENAI_BASE_URL point to a compatible service. local takes the server that OPENAI_BASE_URL or
OLLAMA_HOST names, or the first that answers of Ollama, LM Studio, vLLM and llama.cpp on this machine.`,
	flags: []flagSpec{
		{name: "provider", usage: "ask models of `PROVIDER`: anthropic, openai or local", shown: "the first that has a key or a server"},
		{name: "model", usage: "begin sessions with the model `NAME`", shown: "that of the tier sonnet, else the provider's first"},
		{name: "effort", usage: "have the model think: `LEVEL` is low, medium or high", shown: "the model's own"},
		boolFlag("ask-all", "ask the client also before calls that only read"),
		{name: "window", usage: "send the model at most this many `TOKENS`", value: 0, shown: "what the provider reports, else 32,000"},
	},
	example: "ralph agent --provider anthropic\nralph agent --provider local --window 32768", run: action(runAgent),
}

type agentOptions struct {
	Provider, Model string
	Effort          modelagent.Effort
	Window          int
	AskAll          bool
}

func runAgent(ctx context.Context, a *app, o agentOptions) error {
	if o.Effort != "" {
		if err := checkChoice("effort", o.Effort, modelagent.Low, modelagent.Medium, modelagent.High); err != nil {
			return err
		}
	}
	if o.Window < 0 {
		return usagef("--window is a number of tokens, not %d", o.Window)
	}
	debug.SetGCPercent(50) // it waits for its model most of the time, and many may run beside each other
	preset, err := provider(a, o.Provider)
	if err != nil {
		return err
	}
	if a.asks {
		return hint(usagef("ralph agent is for programs: it speaks the Agent Client Protocol on stdin and stdout, and stdin is a terminal"),
			"let ralph start it: ralph run --agent %s; or name the command in an editor that speaks the protocol", cmp.Or(preset.Name, "anthropic"))
	}
	if a.conceal != nil {
		if err := a.conceal(); err != nil { // better with a key that commands can look for than not at all
			a.note("warning: commands of the model may find the key in the environment of this process: %v", err)
		}
	}
	return modelagent.Serve(ctx, a.stdin, a.raw, modelagent.Options{
		Version: a.version().Version, Provider: connect(ctx, a, preset), Model: o.Model, Effort: o.Effort, Window: o.Window, AskAll: o.AskAll,
		Pick:  func(tier string, offered []string) string { return agents.Offered(preset, tier, offered) },
		State: filepath.Join(a.stateHome(), "ralph", "agent"), Environ: agents.WithoutCredentials(a.environ()),
	})
}

// provider is the one that is named, else the first that has what it needs. There may be none.
func provider(a *app, name string) (agents.Preset, error) {
	if name == "" {
		p, _ := agents.Finder{Environ: a.environ(), Serves: serves(a)}.Ready()
		return p, nil
	}
	p, _ := agents.Lookup(name)
	return p, checkChoice("provider", name, seq.Map(agents.Own(), func(p agents.Preset) string { return p.Name })...)
}

// connect connects to a provider. If that is not possible, whoever asks for a session is told why.
func connect(ctx context.Context, a *app, p agents.Preset) modelagent.Provider {
	if p.Name == "" {
		return modelagent.Unconnected(errors.New("there is no key and no local model server; set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a server such as Ollama"))
	}
	provider, err := modelagent.Connect(ctx, p.Name, a.environ())
	switch {
	case err != nil:
		return modelagent.Unconnected(err)
	case p.Needs == agents.Server:
		return modelagent.Nearby(provider)
	}
	return provider
}

// served is what a model server on this machine offers.
type served struct {
	URL    string
	Models []string
}

// lookForModels asks the servers that are usual on this machine for their models, at most for a moment.
func lookForModels(environ []string) (served, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), modelagent.Glance)
	defer cancel()
	url, models, found := modelagent.LocalServer(ctx, environ)
	return served{url, seq.Map(models, func(m modelagent.Model) string { return m.ID })}, found
}

// serves reports whether there is a model server, and looks for it once for each address. Whoever names an address is
// believed: why it does not answer is told by what needs it.
func serves(a *app) func(environ []string) bool {
	known := map[string]bool{}
	return func(environ []string) bool {
		if proc.Getenv(environ, "OPENAI_BASE_URL") != "" {
			return true
		}
		host := proc.Getenv(environ, "OLLAMA_HOST")
		if _, looked := known[host]; !looked && a.models != nil {
			_, known[host] = a.models(environ)
		}
		return known[host]
	}
}
