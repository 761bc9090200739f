package project

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/internal/human"
	"ralph/internal/permission"
	"ralph/internal/proxy"
)

// Config is everything that can be configured, after all layers are merged.
type Config struct {
	// What users name themselves.
	Prices map[string]PriceConfig `toml:"prices"`
	Locks  map[string]int         `toml:"locks" least:"1"` // how many tasks may hold a lock at once
	Agents map[string]CustomAgent `toml:"agents"`
	MCP    map[string]MCPServer   `toml:"mcp"`

	Agent       AgentConfig       `toml:"agent"`
	Run         RunConfig         `toml:"run"`
	Parallel    ParallelConfig    `toml:"parallel"`
	Merge       MergeConfig       `toml:"merge"`
	Git         GitConfig         `toml:"git"`
	PR          PRConfig          `toml:"pr"`
	Verify      VerifyConfig      `toml:"verify"`
	Journal     JournalConfig     `toml:"journal"`
	Knowledge   KnowledgeConfig   `toml:"knowledge"`
	Recovery    RecoveryConfig    `toml:"recovery"`
	GC          GCConfig          `toml:"gc"`
	Telemetry   TelemetryConfig   `toml:"telemetry"`
	Sandbox     SandboxConfig     `toml:"sandbox"`
	Budget      BudgetConfig      `toml:"budget"`
	Drift       DriftConfig       `toml:"drift"`
	Anomaly     AnomalyConfig     `toml:"anomaly"`
	Permissions PermissionsConfig `toml:"permissions"`
	Inbox       InboxConfig       `toml:"inbox"`
	Serve       ServeConfig       `toml:"serve"`
	Temporal    Temporal          `toml:"temporal"`

	// Of all files together.
	Notify    []Notify         `toml:"notify"`
	Hooks     []HookConfig     `toml:"hooks"`
	Schedules []ScheduleConfig `toml:"schedule"`
	Inbound   []InboundConfig  `toml:"inbound"`
	Chat      []Chat           `toml:"chat"`
}

// AgentConfig chooses the agent: by name, or by command.
type AgentConfig struct {
	Use      string   `toml:"use"`
	Command  string   `toml:"command"`
	EnvAllow []string `toml:"env_allow" is:"variable"`                  // variables that reach it, after what is usual
	Fallback []string `toml:"fallback"`                                 // who continues when it is rate-limited
	Rotate   []string `toml:"rotate"`                                   // who take tasks in turn
	Effort   string   `toml:"effort" oneof:"low medium high" none:"ok"` // how long its model may think; empty is its own choice
}

// CustomAgent is an agent that the user defines.
type CustomAgent struct {
	Command string            `toml:"command"`
	Env     map[string]string `toml:"env"`
	Models  map[string]string `toml:"models"`

	Like       string    `toml:"like"`        // the agent that it is, with another account
	AtOnce     int       `toml:"at_once"`     // attempts; 0 means any number
	StartEvery *Duration `toml:"start_every"` // from one start to the next; nil is as ralph knows it

	Prestart *bool `toml:"prestart"` // whether it may be started before it has a task; nil is as ralph knows it
	Proxy    *bool `toml:"proxy"`    // whether it sends its requests through HTTPS_PROXY; nil is as ralph knows it
}

// RunConfig is how a run behaves.
type RunConfig struct {
	Limit         int      `toml:"limit"`
	MaxRetries    int      `toml:"max_retries"`
	MaxAttempts   int      `toml:"max_attempts" least:"1"`
	MaxSubtasks   int      `toml:"max_subtasks"` // that one attempt may add
	MaxDepth      int      `toml:"max_depth"`    // of tasks that were added by tasks that were added
	RetryFailed   int      `toml:"retry_failed"`
	Breaker       int      `toml:"breaker" least:"1"`
	ModelStrategy string   `toml:"model_strategy" oneof:"fixed cost-optimized escalate plan-then-execute"`
	IdleTimeout   Duration `toml:"idle_timeout"`
	TurnTimeout   Duration `toml:"turn_timeout"`
	Backoff       Duration `toml:"backoff"`
	KeepGoing     bool     `toml:"keep_going"`     // a failed task does not block the rest of its group
	Grace         Duration `toml:"grace"`          // for what runs when SIGTERM comes; 0 releases it at once
	Wait          string   `toml:"wait" is:"wait"` // for providers' limits: auto, never or a duration
	Prestart      bool     `toml:"prestart"`       // agents are started before they are needed, where that saves time
}

// ParallelConfig is how agents work side by side, each in a slot.
type ParallelConfig struct {
	Jobs    int      `toml:"jobs" least:"1"`
	Copy    []string `toml:"copy" is:"inside"` // files that git does not know and slots need
	Setup   string   `toml:"setup"`
	SetupOn []string `toml:"setup_on"` // files whose change has setup run again

	SetupTimeout Duration `toml:"setup_timeout"`
	Dir          string   `toml:"dir"`          // of the slots; empty is a folder of the user's
	MinFreeGiB   float64  `toml:"min_free_gib"` // what slots leave free on their disk
}

// MergeConfig is how their work lands on the target.
type MergeConfig struct {
	Window  int     `toml:"window"`                        // candidates that are tested at once; 0 is automatic
	Resolve int     `toml:"resolve"`                       // sessions for a conflict before the task goes back
	Rebase  string  `toml:"rebase" oneof:"conflict never"` // when a turn is cut because the target has moved
	Review  string  `toml:"review" oneof:"none risky all"` // what a person looks at before it lands
	Risk    float64 `toml:"risk" most:"1"`                 // with risky: what is above that; if it is not set, the riskiest fifth of past work
	Push    string  `toml:"push"`                          // the remote that gets what landed; empty pushes nothing
}

// GitConfig is how plans travel in git.
type GitConfig struct {
	Sync string `toml:"sync" oneof:"auto manual"` // plan files follow the database, and it follows them, where git carries them
}

// PRConfig is how pull requests are made, and whose comments count.
type PRConfig struct {
	Forge     string   `toml:"forge" oneof:"auto gh glab command"`
	Command   string   `toml:"command"` // in place of gh and glab
	Base      string   `toml:"base"`    // the branch that it is to be merged into; empty is the remote's default
	Reviewers []string `toml:"reviewers"`
	Timeout   Duration `toml:"timeout"` // of each call of a program
	Poll      Duration `toml:"poll"`    // from one look at the checks to the next
	Wait      Duration `toml:"wait"`    // for checks to end; 0 means any time
}

// VerifyConfig is what "done" has to pass.
type VerifyConfig struct {
	Enabled  bool     `toml:"enabled"`
	Commands []string `toml:"commands"`
	Timeout  Duration `toml:"timeout"`
	Agent    string   `toml:"agent"` // empty means the one that did the work
	Model    string   `toml:"model"`
	Repairs  int      `toml:"repair_rounds"`
	Reruns   int      `toml:"reruns"`
	Ahead    int      `toml:"ahead"` // how many pieces of held work may lie below a task that begins before they have landed
	Protect  []string `toml:"protect"`
	EnvAllow []string `toml:"env_allow" is:"variable"` // variables that gates and setup are given although they look like secrets
	Feature  bool     `toml:"feature"`                 // compare each feature with its specification when its last task is done

	Coverage     string `toml:"coverage" oneof:"off show ask"` // what is made of changed lines that no gate executed: off, show or ask
	CoverageFile string `toml:"coverage_file" is:"inside"`     // that a gate writes; empty means that gates run once more to find out
	Witness      string `toml:"witness"`                       // who writes a check of each task before the work: "verifier" or an agent; empty means no one

	Reviewers []ReviewerConfig `toml:"reviewer"`
}

// ReviewerConfig is who looks at the whole change of a feature, and what for.
type ReviewerConfig struct {
	Focus string `toml:"focus"`
	Agent string `toml:"agent"` // empty means the one that verifies
	Model string `toml:"model"`
}

// Reviewer fills in what a reviewer takes from the verifier. The verifier's model means nothing to another agent.
func (c VerifyConfig) Reviewer(r ReviewerConfig) ReviewerConfig {
	if r.Agent == "" || r.Agent == c.Agent {
		r.Model = cmp.Or(r.Model, c.Model)
	}
	r.Agent = cmp.Or(r.Agent, c.Agent)
	return r
}

func (r ReviewerConfig) invalid() string {
	if r.name() == "" {
		return `it has no focus; say what it is to look for, like focus = "security"`
	}
	return ""
}

func (r ReviewerConfig) name() string { return strings.ToLower(strings.TrimSpace(r.Focus)) }

func (r ReviewerConfig) twice() string {
	return fmt.Sprintf("there is another with the focus %q", r.Focus)
}

// String is how it is shown.
func (r ReviewerConfig) String() string {
	return strings.Join(human.Parts(r.Focus, r.Agent, r.Model), ", ")
}

// JournalConfig is how much of what earlier iterations did a prompt may show.
type JournalConfig struct {
	Recent  int `toml:"recent"`  // the last entries of the run
	Matches int `toml:"matches"` // earlier entries about the same things
	Tokens  int `toml:"tokens"`
}

// KnowledgeConfig is how much of what the project has learned a prompt may show, and whether agents are asked for more.
type KnowledgeConfig struct {
	Tokens  int  `toml:"tokens"`
	Extract bool `toml:"extract"` // after work that took a retry or a repair
}

// RecoveryConfig is how a run continues after one that crashed.
type RecoveryConfig struct {
	ResumeSession    bool     `toml:"resume_session"`
	MaxAge           Duration `toml:"max_age"` // 0 means that nothing is too old
	MaxInterruptions int      `toml:"max_interruptions" least:"1"`
	OnDirty          string   `toml:"on_dirty" oneof:"keep stash fail"`
}

// GCConfig is what runs remove by themselves, once a day.
type GCConfig struct {
	Auto      bool     `toml:"auto"`
	OlderThan Duration `toml:"older_than"` // failures are kept three times as long
}

// SandboxConfig is how agents and gates are confined.
type SandboxConfig struct {
	Mode     string   `toml:"mode" oneof:"auto require off"`
	Write    []string `toml:"write" env:"paths"`     // what may be written besides
	DenyRead []string `toml:"deny_read" env:"paths"` // what cannot be read

	Memory    Size `toml:"memory"`    // that an attempt may use; 0 means as much as there is
	Processes int  `toml:"processes"` // that it may have at once, with their threads

	Network NetworkConfig `toml:"network"`
}

// NetworkConfig says whose processes have a network.
type NetworkConfig struct {
	Agent    string `toml:"agent" oneof:"on off"`
	Verifier string `toml:"verifier" oneof:"on off"`
	Gates    string `toml:"gates" oneof:"on off"`

	Hosts []string `toml:"hosts"` // that agents and verifiers may reach; none means all
}

func (c NetworkConfig) invalid() (key, why string) {
	_, err := proxy.Parse(c.Hosts)
	switch {
	case err != nil:
		why = err.Error()
	case len(c.Hosts) > 0 && c.Agent == "off" && c.Verifier == "off":
		why = "no session would use it: agent and verifier are off"
	}
	return "hosts", why
}

// InboxConfig says how long answers are waited for.
type InboxConfig struct {
	Wait   Duration `toml:"wait"`   // by an agent, in its turn; then its task is put aside
	Expire Duration `toml:"expire"` // then the default answer holds; 0 means never
}

// PermissionsConfig are rules for what agents ask to do. Those of all files count together, so that no project
// takes away what its user denies.
type PermissionsConfig struct {
	Default string   `toml:"default" oneof:"allow ask deny"`
	Deny    []string `toml:"deny"`
	Ask     []string `toml:"ask"`
	Allow   []string `toml:"allow"`
}

// Lists are the rules as package permission reads them.
func (c PermissionsConfig) Lists() permission.Lists {
	return permission.Lists{Default: permission.Answer(c.Default), Deny: c.Deny, Ask: c.Ask, Allow: c.Allow}
}

func (c PermissionsConfig) invalid() (key, why string) { return c.Lists().Invalid() }

// MCPServer is a server of tools that agents are given: a command, or an address.
type MCPServer struct {
	Type    string            `toml:"type"` // stdio, http or sse; empty means stdio for a command and http for an address
	Command string            `toml:"command"`
	Args    []string          `toml:"args"`
	Env     map[string]string `toml:"env"`
	URL     string            `toml:"url"`
	Headers map[string]string `toml:"headers"`
}

// Kind is the type, also when it is not said.
func (s MCPServer) Kind() string {
	switch {
	case s.Type != "":
		return s.Type
	case s.URL != "":
		return "http"
	default:
		return "stdio"
	}
}

// String is how it is shown.
func (s MCPServer) String() string { return cmp.Or(s.Command, s.URL) }

func (s MCPServer) invalid() string {
	switch kind := s.Kind(); {
	case !slices.Contains([]string{"stdio", "http", "sse"}, kind):
		return fmt.Sprintf("type %q is not one of stdio, http, sse", kind)
	case (s.Command == "") == (s.URL == ""):
		return "it has either a command or a url"
	case (kind == "stdio") != (s.Command != ""):
		return fmt.Sprintf("type %s does not go with what it has", kind)
	case s.Command == "" && (len(s.Args) > 0 || len(s.Env) > 0):
		return "args and env go with a command"
	case s.URL == "" && len(s.Headers) > 0:
		return "headers go with a url"
	}
	return ""
}

// String is how it is shown.
func (a CustomAgent) String() string { return cmp.Or(a.Command, a.Like) }

// SandboxModes are the values of SandboxConfig.Mode.
func SandboxModes() []string { return []string{"auto", "require", "off"} }

// Default is the configuration without any file.
func Default() Config {
	return Config{
		Run: RunConfig{
			MaxRetries: 3, MaxAttempts: 5, MaxSubtasks: 20, MaxDepth: 3, Breaker: 3,
			ModelStrategy: "cost-optimized", IdleTimeout: Duration(10 * time.Minute),
			Backoff: Duration(5 * time.Second), Wait: "auto", KeepGoing: true, Prestart: true,
		},
		Parallel: ParallelConfig{Jobs: 1, Copy: []string{"node_modules", ".venv", "**/vendor/bundle", ".env"}, SetupOn: []string{}, SetupTimeout: Duration(10 * time.Minute), MinFreeGiB: 2},
		Merge:    MergeConfig{Review: "none", Resolve: 1, Rebase: "conflict"},
		Git:      GitConfig{Sync: "auto"},
		PR:       PRConfig{Forge: "auto", Reviewers: []string{}, Timeout: Duration(time.Minute), Poll: Duration(30 * time.Second), Wait: Duration(2 * time.Hour)},
		Verify: VerifyConfig{
			Enabled: true, Timeout: Duration(10 * time.Minute), Repairs: 2, Reruns: 1, Ahead: 3, Protect: protected(), EnvAllow: []string{}, Coverage: "show",
		},
		Journal:   JournalConfig{Recent: 5, Matches: 5, Tokens: 3000},
		Knowledge: KnowledgeConfig{Tokens: 2000},
		Sandbox:   SandboxConfig{Mode: "auto", Write: []string{}, DenyRead: []string{"~/.ssh"}, Network: NetworkConfig{Agent: "on", Verifier: "on", Gates: "on", Hosts: []string{}}},
		Recovery:  RecoveryConfig{ResumeSession: true, MaxAge: Duration(24 * time.Hour), MaxInterruptions: 20, OnDirty: "keep"},
		GC:        GCConfig{Auto: true, OlderThan: Duration(90 * 24 * time.Hour)},
		Drift:     defaultDrift(),
		Anomaly:   defaultAnomaly(),

		Permissions: PermissionsConfig{Default: string(permission.Allow)},
		Inbox:       InboxConfig{Wait: Duration(5 * time.Minute), Expire: Duration(72 * time.Hour)},
		Serve:       ServeConfig{Listen: "127.0.0.1:7447", Hosts: []string{}, Allow: []string{}},
		Temporal:    defaultTemporal(),
	}
}

// Deciding are the files that decide whether work is accepted: what is protected, and the configuration of CI also where that is not.
func (c VerifyConfig) Deciding() []string { return slices.Concat(c.Protect, protected()) }

// protected are the files that decide whether work is accepted, here and in CI.
func protected() []string {
	return []string{
		".ralph.toml", ".github/workflows/**", ".github/actions/**", ".gitlab-ci.yml", ".circleci/**", "Jenkinsfile",
		"azure-pipelines.yml", "bitbucket-pipelines.yml", ".travis.yml", ".buildkite/**", ".drone.yml", ".woodpecker/**", ".ci/**",
	}
}
