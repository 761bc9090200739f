package agentcmd

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"runtime/debug"

	"ralph/internal/agents"
	"ralph/internal/cli"
	"ralph/internal/modelagent"
	"ralph/internal/seq"
)

// Agent is the agent that asks a model itself: ralph starts itself with this name, and so may an editor.
var Agent = cli.Command{
	Name: "agent", Short: "serve ralph's own coding agent over the Agent Client Protocol, on stdin and stdout",
	Long: `ralph starts it by itself: ralph run --agent anthropic, openai or local. An editor that speaks ACP can start
it, too: give it the command "ralph agent", and the key in the environment. It speaks ACP on stdin and stdout until
stdin ends, and works in the folder that the client names.

anthropic needs ANTHROPIC_API_KEY or ANTHROPIC_AUTH_TOKEN, openai needs OPENAI_API_KEY; ANTHROPIC_BASE_URL and
OPENAI_BASE_URL point to a compatible service. local takes the server that OPENAI_BASE_URL or
OLLAMA_HOST names, or the first that answers of Ollama, LM Studio, vLLM and llama.cpp on this machine.`,
	Flags: []cli.Flag{
		{Name: "provider", Usage: "ask models of `PROVIDER`: anthropic, openai or local", Shown: "the first that has a key or a server"},
		{Name: "model", Usage: "begin sessions with the model `NAME`", Shown: "that of the tier sonnet, else the provider's first"},
		{Name: "effort", Usage: "have the model think: `LEVEL` is low, medium or high", Shown: "the model's own"},
		cli.Bool("ask-all", "ask the client also before calls that only read"),
		{Name: "window", Usage: "send the model at most this many `TOKENS`", Value: 0, Shown: "what the provider reports, else 32,000"},
	},
	Example: "ralph agent --provider anthropic\nralph agent --provider local --window 32768", Run: cli.Action(runAgent),
}

type agentOptions struct {
	Provider, Model string
	Effort          modelagent.Effort
	Window          int
	AskAll          bool
}

func runAgent(ctx context.Context, a *cli.App, o agentOptions) error {
	if o.Effort != "" {
		if err := cli.CheckChoice("effort", o.Effort, modelagent.Low, modelagent.Medium, modelagent.High); err != nil {
			return err
		}
	}
	if o.Window < 0 {
		return cli.Usagef("--window is a number of tokens, not %d", o.Window)
	}
	debug.SetGCPercent(50) // it waits for its model most of the time, and many may run beside each other
	preset, err := provider(a, o.Provider)
	if err != nil {
		return err
	}
	if a.Asks {
		return cli.Hint(cli.Usagef("ralph agent is for programs: it speaks the Agent Client Protocol on stdin and stdout, and stdin is a terminal"),
			"let ralph start it: ralph run --agent %s; or name the command in an editor that speaks the protocol", cmp.Or(preset.Name, "anthropic"))
	}
	if a.Conceal != nil {
		if err := a.Conceal(); err != nil { // better with a key that commands can look for than not at all
			a.Note("warning: commands of the model may find the key in the environment of this process: %v", err)
		}
	}
	return modelagent.Serve(ctx, a.Stdin, a.Raw, modelagent.Options{
		Version: a.Version().Version, Provider: connect(ctx, a, preset), Model: o.Model, Effort: o.Effort, Window: o.Window, AskAll: o.AskAll,
		Pick:  func(tier string, offered []string) string { return agents.Offered(preset, tier, offered) },
		State: filepath.Join(a.StateHome(), "ralph", "agent"), Environ: agents.WithoutCredentials(a.Environ()),
	})
}

// provider is the one that is named, else the first that has what it needs. There may be none.
func provider(a *cli.App, name string) (agents.Preset, error) {
	if name == "" {
		p, _ := agents.Finder{Environ: a.Environ(), Serves: cli.Serves(a)}.Ready()
		return p, nil
	}
	p, _ := agents.Lookup(name)
	return p, cli.CheckChoice("provider", name, seq.Map(agents.Own(), func(p agents.Preset) string { return p.Name })...)
}

// connect connects to a provider. If that is not possible, whoever asks for a session is told why.
func connect(ctx context.Context, a *cli.App, p agents.Preset) modelagent.Provider {
	if p.Name == "" {
		return modelagent.Unconnected(errors.New("there is no key and no local model server; set ANTHROPIC_API_KEY or OPENAI_API_KEY, or start a server such as Ollama"))
	}
	provider, err := modelagent.Connect(ctx, p.Name, a.Environ())
	switch {
	case err != nil:
		return modelagent.Unconnected(err)
	case p.Needs == agents.Server:
		return modelagent.Nearby(provider)
	}
	return provider
}
