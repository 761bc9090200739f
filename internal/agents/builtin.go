package agents

import (
	"cmp"
	"slices"

	"ralph/acp"
)

// builtin returns a fresh copy of every agent that ralph knows. It is a
// function, so that no caller can change what another one sees.
func builtin() []Preset {
	return []Preset{
		Preset{
			Name: "claude", Title: "Claude Code", Rank: 1, Says: "@agentclientprotocol/claude-agent-acp",
			Command: []string{"claude-agent-acp"}, Package: "@agentclientprotocol/claude-agent-acp",
			Channel: ConfigOption, Key: "model", Reports: reportsBoth,
		}.of(claudeFamily()),
		Preset{
			Name: "claude-code", Title: "Claude Code (older adapter)", Rank: 8, Says: "@zed-industries/claude-code-acp",
			Command: []string{"claude-code-acp"}, Package: "@zed-industries/claude-code-acp",
			Channel: SetModel, TerminalShell: true, Reports: reportsNothing,
		}.of(claudeFamily()),
		Preset{
			Name: "codex", Title: "Codex", Rank: 2, Says: "codex-acp",
			Command: []string{"codex-acp"}, Package: "@zed-industries/codex-acp",
			Channel: ConfigOption, Key: "model", Reports: reportsContext,
			Auth: []Auth{{"CODEX_API_KEY", "codex-api-key"}, {"OPENAI_API_KEY", "openai-api-key"}},
		}.of(codexFamily()),
		Preset{
			Name: "codex-acp", Title: "Codex (newer adapter)", Rank: 9, Says: "@agentclientprotocol/codex-acp",
			Command: []string{"codex-acp"}, Package: "@agentclientprotocol/codex-acp",
			Channel: ConfigOption, Key: "model", Reports: reportsTokens,
			Tiers: map[string][]string{ // it still offers the older models
				"opus":   append([]string{"gpt-#-astra", "gpt-6-astra"}, codexFamily().Tiers["opus"]...),
				"sonnet": append([]string{"gpt-#-sol", "gpt-6.1-sol"}, codexFamily().Tiers["sonnet"]...),
				"haiku":  append([]string{"gpt-#-luna", "gpt-6-luna"}, codexFamily().Tiers["haiku"]...),
			},
			Login: "run codex-acp login, or set OPENAI_API_KEY",
			Auth:  []Auth{{"CODEX_API_KEY", "api-key"}, {"OPENAI_API_KEY", "api-key"}},
		}.of(codexFamily()),
		{
			Name: "copilot", Title: "GitHub Copilot", Rank: 5, Says: "Copilot",
			Command: []string{"copilot", "--acp"}, Package: "@github/copilot",
			Channel: SetModel,
			Tiers: map[string][]string{
				"opus":   {"claude-opus-#", "claude-opus-4.5"},
				"sonnet": {"claude-sonnet-#", "claude-sonnet-4.5"},
				"haiku":  {"claude-haiku-#", "claude-haiku-4.5", "gpt-#-mini"},
			},
			State: append(npmState(), Folder{Env: "COPILOT_HOME", Default: "~/.copilot"}, Folder{Env: "XDG_CACHE_HOME", Default: "~/.cache", Sub: "copilot"}),
			Pass:  []string{"COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN", "GH_HOST", "DBUS_SESSION_BUS_ADDRESS"},
			Login: "run copilot login, or set COPILOT_GITHUB_TOKEN",

			// A provider of the user's own wins, and needs no login.
			Credentials: []string{
				"COPILOT_PROVIDER_BEARER_TOKEN", "COPILOT_PROVIDER_API_KEY", "COPILOT_PROVIDER_BASE_URL",
				"COPILOT_GITHUB_TOKEN", "GH_TOKEN", "GITHUB_TOKEN",
			}, Reports: reportsTokens, Cumulative: true,
		},
		{
			Name: "gemini", Title: "Gemini", Rank: 4, Says: "gemini-cli",
			Command: []string{"gemini", "--acp"}, Package: "@google/gemini-cli",
			Channel: SetModel,
			Tiers: map[string][]string{
				"opus":   {"gemini-#-pro", "gemini-#-pro-preview", "gemini-2.5-pro"},
				"sonnet": {"gemini-#-flash", "gemini-#-flash-preview", "gemini-3.8-flash"},
				"haiku":  {"gemini-#-flash-lite", "gemini-#-flash-lite-preview", "gemini-3.5-flash-lite"},
			},
			State:   append(npmState(), Folder{Default: "~/.gemini"}),
			Pass:    []string{"GEMINI_*", "GOOGLE_*", "CLOUDSDK_CONFIG", "DBUS_SESSION_BUS_ADDRESS"},
			Login:   "run gemini and choose how to log in, or set GEMINI_API_KEY",
			Auth:    []Auth{{"GEMINI_API_KEY", "gemini-api-key"}, {"GOOGLE_GENAI_USE_VERTEXAI", "vertex-ai"}},
			Missing: acp.MissingEmpty,

			Credentials: []string{"GEMINI_API_KEY", "GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_APPLICATION_CREDENTIALS"}, Reports: reportsTokens,
		},
		{
			Name: "kilo", Title: "Kilo Code", Rank: 7, Says: "Kilo",
			Command: []string{"kilo", "acp"}, Package: "@kilocode/cli",
			Channel: ConfigOption, Key: "model", Tiers: providerTiers(),
			State: append(npmState(), xdgState("kilo")...),
			Pass:  append(providers(), "KILO_*"),
			Login: "run kilo auth login, or set the key of a provider",

			Credentials: append([]string{"KILO_API_KEY"}, providerKeys()...), ByModel: true, Reports: reportsBoth,
		},
		{
			Name: "kimi", Title: "Kimi Code", Rank: 10, Says: "Kimi Code CLI",
			Command: []string{"kimi", "acp"}, Package: "@moonshot-ai/kimi-code",
			// The models are those that the user has set up, under names of their own.
			Channel: ConfigOption, Key: "model",
			State: append(npmState(), Folder{Env: "KIMI_CODE_HOME", Default: "~/.kimi-code"}),
			Pass:  []string{"KIMI_*", "MOONSHOT_*"},
			Login: "run kimi login, or set KIMI_MODEL_NAME and KIMI_MODEL_API_KEY",

			Credentials: []string{"KIMI_MODEL_API_KEY"}, Reports: reportsContext,
		},
		{
			Name: "nanocoder", Title: "nanocoder", Rank: 11, Says: "nanocoder",
			Command: []string{"nanocoder", "--acp"}, Package: "@nanocollective/nanocoder",
			// The models are those of the provider that the user has set up.
			Channel: ConfigOption, Key: "model",
			State: append(npmState(), xdgState("nanocoder")...),
			Pass:  append(providers(), "NANOCODER_*"),
			Login: "name a provider in agents.config.json, or in NANOCODER_PROVIDERS",

			Credentials: append([]string{"NANOCODER_PROVIDERS"}, providerKeys()...), ByModel: true, Reports: reportsTokens,
		},
		{
			Name: "opencode", Title: "OpenCode", Rank: 3, Says: "OpenCode",
			Command: []string{"opencode", "acp"}, Package: "opencode-ai",
			Channel: ConfigOption, Key: "model", Tiers: providerTiers(),
			State: append(npmState(), xdgState("opencode")...),
			Pass:  append(providers(), "OPENCODE_*"),
			Login: "run opencode auth login, or set the key of a provider",

			Credentials: append([]string{"OPENCODE_API_KEY"}, providerKeys()...), ByModel: true, Reports: reportsBoth,
		},
		{
			Name: "qwen", Title: "Qwen Code", Rank: 6, Says: "qwen-code",
			Command: []string{"qwen", "--acp"}, Package: "@qwen-code/qwen-code",
			// It offers the one model it is configured with, so every tier is
			// whatever that is.
			Channel: ConfigOption, Key: "model",
			// Its own mode asks the model before each command whether it is safe,
			// which costs a request; this one asks us.
			Confined: []string{"default"},
			State:    append(npmState(), Folder{Default: "~/.qwen"}),
			Pass:     []string{"QWEN_*", "DASHSCOPE_*", "BAILIAN_*", "OPENAI_*"},
			Auth:     []Auth{{"OPENAI_API_KEY", "openai"}},
			Login:    "run qwen and type /auth, or set OPENAI_API_KEY, OPENAI_BASE_URL and OPENAI_MODEL",

			Credentials: []string{"OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BAILIAN_CODING_PLAN_API_KEY"}, Reports: reportsNothing,
		},
		{
			Name: "shell", Title: "the built-in agent that runs the sh block of a task",
			Self: []string{"shell-agent"}, Channel: NoModel, ExitStatus: true,
			Login: "it needs no login", Reports: reportsNothing,
		},
	}
}

// byRank returns the agents that are programs of their own, the one to prefer
// first.
func byRank() []Preset {
	ranked := slices.DeleteFunc(builtin(), func(p Preset) bool { return p.Rank == 0 })
	slices.SortFunc(ranked, func(a, b Preset) int { return cmp.Compare(a.Rank, b.Rank) })
	return ranked
}
