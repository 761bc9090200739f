package e2e

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

//go:embed pins.txt
var pinsText string

//go:embed others.txt
var othersText string

// pin is one line of pins.txt or others.txt.
type pin struct{ agent, pkg string }

// chosen are the agents to run: the pinned ones, or those that are named, of all.
func chosen(names []string) ([]pin, error) {
	list, err := readPins("pins.txt", pinsText)
	if err != nil || len(names) == 0 {
		return list, err
	}
	others, err := readPins("others.txt", othersText)
	list = append(list, others...)
	for _, name := range names {
		if !slices.ContainsFunc(list, func(p pin) bool { return p.agent == name }) {
			return nil, fmt.Errorf("no agent %s in pins.txt or others.txt", name)
		}
	}
	return slices.DeleteFunc(list, func(p pin) bool { return !slices.Contains(names, p.agent) }), err
}

func readPins(file, text string) ([]pin, error) {
	var list []pin
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		agent, pkg, ok := strings.Cut(line, " ")
		if !ok || strings.Count(pkg, "@") == 0 {
			return nil, fmt.Errorf("%s: %q is not AGENT PACKAGE@VERSION", file, line)
		}
		list = append(list, pin{agent, pkg})
	}
	return list, nil
}

// setting is what a user of an agent would set up to have it talk to a provider
// of their own: variables, files in the home folder, models. {{url}} is the
// provider's address, {{home}} the home folder.
type setting struct {
	env     map[string]string
	files   map[string]string
	config  string // more of .ralph.toml
	small   string // part of the name by which the tier haiku reaches the model; empty if it has but one model
	cost    bool   // the agent tells what it costs
	silent  bool   // the agent tells nothing of what it used
	context bool   // the agent tells the size of its context only
	frail   bool   // the agent loses its way when an answer of its model breaks off
	forgets bool   // the agent does not know a session again whose first turn was cut short
}

// settings are data: nothing else here knows one agent from another.
func settings() map[string]setting {
	claude := map[string]string{
		"ANTHROPIC_BASE_URL": "{{url}}", "ANTHROPIC_API_KEY": "sk-ant-of-the-test", "CLAUDE_CONFIG_DIR": "{{home}}/.claude",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1",
	}
	codex := map[string]string{"CODEX_HOME": "{{home}}/.codex", "OPENAI_API_KEY": "sk-of-the-test"}
	codexFiles := map[string]string{".codex/config.toml": codexConfig}
	return map[string]setting{
		"claude": {env: claude, small: "haiku", cost: true},
		"opencode": {
			env: map[string]string{
				"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
				"OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_CONFIG_CONTENT": openCodeConfig,
			},
			config: "[agents.opencode]\nmodels = { opus = \"local/large\", sonnet = \"local/large\", haiku = \"local/small\" }\n",
			small:  "small", cost: true,
		},
		"codex":       {env: codex, files: codexFiles, small: "mini", context: true},
		"claude-code": {env: claude, small: "haiku", silent: true, frail: true},
		"codex-acp": {
			env: codex, files: codexFiles,
			// To its newer models it offers tools in JavaScript only, which ours does not write.
			config: "[agents.codex-acp]\nmodels = { opus = \"gpt-5.3-codex\", sonnet = \"gpt-5.3-codex\", haiku = \"gpt-5.5\" }\n",
			small:  "gpt-5.5",
		},
		"gemini": {
			env:   map[string]string{"GOOGLE_GEMINI_BASE_URL": "{{url}}", "GEMINI_API_KEY": "sk-of-the-test"},
			small: "flash-lite", frail: true, forgets: true,
		},
		"qwen": {
			env:    map[string]string{"OPENAI_BASE_URL": "{{url}}/v1", "OPENAI_API_KEY": "sk-of-the-test", "OPENAI_MODEL": "only"},
			silent: true,
		},
		"copilot": {
			env: map[string]string{
				"COPILOT_PROVIDER_BASE_URL": "{{url}}/v1", "COPILOT_PROVIDER_API_KEY": "sk-of-the-test", "COPILOT_MODEL": "only", "COPILOT_OFFLINE": "true",
			},
		},
		"kimi": {
			env: map[string]string{
				"KIMI_MODEL_NAME": "only", "KIMI_MODEL_API_KEY": "sk-of-the-test", "KIMI_MODEL_BASE_URL": "{{url}}/v1", "KIMI_MODEL_PROVIDER_TYPE": "openai",
				"KIMI_CODE_NO_AUTO_UPDATE": "1",
			},
			silent: true,
		},
		"nanocoder": {
			env: map[string]string{
				"NANOCODER_PROVIDERS": `[{"name":"Local","baseUrl":"{{url}}/v1","apiKey":"sk-of-the-test","models":["large","small"]}]`,
			},
			config: "[agents.nanocoder]\nmodels = { opus = \"large\", sonnet = \"large\", haiku = \"small\" }\n",
			small:  "small", frail: true,
		},
		"kilo": {
			env: map[string]string{
				"KILO_DISABLE_MODELS_FETCH": "1", "KILO_DISABLE_AUTOUPDATE": "1", "KILO_DISABLE_LSP_DOWNLOAD": "1",
				"KILO_DISABLE_DEFAULT_PLUGINS": "1", "KILO_CONFIG_CONTENT": openCodeConfig,
			},
			config: "[agents.kilo]\nmodels = { opus = \"local/large\", sonnet = \"local/large\", haiku = \"local/small\" }\n",
			small:  "small", cost: true, frail: true,
		},
	}
}

const openCodeConfig = `{
  "autoupdate": false, "share": "disabled", "model": "local/large", "small_model": "local/small", "enabled_providers": ["local"],
  "permission": {"edit": "ask", "bash": "ask"},
  "provider": {"local": {
    "npm": "@ai-sdk/openai-compatible", "name": "Local", "options": {"baseURL": "{{url}}/v1", "apiKey": "sk-of-the-test"},
    "models": {
      "large": {"name": "Large", "limit": {"context": 200000, "output": 8192}, "cost": {"input": 3, "output": 15, "cache_read": 0.3}},
      "small": {"name": "Small", "limit": {"context": 200000, "output": 8192}, "cost": {"input": 1, "output": 5, "cache_read": 0.1}}
    }
  }}
}`

const codexConfig = `model = "gpt-5.3-codex"
model_provider = "local"
check_for_update_on_startup = false
[analytics]
enabled = false
[model_providers.local]
name = "Local"
base_url = "{{url}}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 4
stream_max_retries = 4
`
