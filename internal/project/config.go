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
	Model  string
	Target string

	// What users name themselves.
	Prices map[string]PriceConfig
	Locks  map[string]int // how many tasks may hold a lock at once
	Agents map[string]CustomAgent
	MCP    map[string]MCPServer

	Agent       AgentConfig
	Run         RunConfig
	Parallel    ParallelConfig
	Merge       MergeConfig
	Git         GitConfig
	PR          PRConfig
	Verify      VerifyConfig
	Journal     JournalConfig
	Knowledge   KnowledgeConfig
	Recovery    RecoveryConfig
	GC          GCConfig
	Telemetry   TelemetryConfig
	Sandbox     SandboxConfig
	Budget      BudgetConfig
	Drift       DriftConfig
	Anomaly     AnomalyConfig
	Permissions PermissionsConfig
	Inbox       InboxConfig
	Serve       ServeConfig
	Temporal    Temporal

	// Of all files together.
	Notify    []Notify
	Hooks     []HookConfig
	Schedules []ScheduleConfig
	Inbound   []InboundConfig
	Chat      []Chat
}

// AgentConfig chooses the agent: by name, or by command.
type AgentConfig struct {
	Use      string   // its name, or the command that starts it
	EnvAllow []string // variables that reach it, after what is usual
	Fallback []string // who continues when it is rate-limited
	Rotate   []string // who take tasks in turn
	Effort   string   // how long its model may think; empty is its own choice
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
	Limit         int
	MaxRetries    int
	MaxAttempts   int
	MaxSubtasks   int // that one attempt may add
	MaxDepth      int // of tasks that were added by tasks that were added
	RetryFailed   int
	Breaker       int
	ModelStrategy string
	IdleTimeout   Duration
	TurnTimeout   Duration
	Backoff       Duration
	KeepGoing     bool     // a failed task does not block the rest of its group
	Grace         Duration // for what runs when SIGTERM comes; 0 releases it at once
	Wait          string   // for providers' limits: auto, never or a duration
	Prestart      bool     // agents are started before they are needed, where that saves time
}

// ParallelConfig is how agents work side by side, each in a slot.
type ParallelConfig struct {
	Jobs    int
	Copy    []string // files that git does not know and slots need
	Setup   string
	SetupOn []string // files whose change has setup run again

	SetupTimeout Duration
	Dir          string  // of the slots; empty is a folder of the user's
	MinFreeGiB   float64 // what slots leave free on their disk
}

// MergeConfig is how their work lands on the target.
type MergeConfig struct {
	Window  int     // candidates that are tested at once; 0 is automatic
	Resolve int     // sessions for a conflict before the task goes back
	Rebase  string  // when a turn is cut because the target has moved
	Review  string  // what a person looks at before it lands
	Risk    float64 // with risky: what is above that; if it is not set, the riskiest fifth of past work
	Push    string  // the remote that gets what landed; empty pushes nothing
}

// GitConfig is how plans travel in git.
type GitConfig struct {
	Sync string // plan files follow the database, and it follows them, where git carries them
}

// PRConfig is how pull requests are made, and whose comments count.
type PRConfig struct {
	Forge     string
	Command   string // in place of gh and glab
	Base      string // the branch that it is to be merged into; empty is the remote's default
	Reviewers []string
	Timeout   Duration // of each call of a program
	Poll      Duration // from one look at the checks to the next
	Wait      Duration // for checks to end; 0 means any time
}

// VerifyConfig is what "done" has to pass.
type VerifyConfig struct {
	Enabled  bool
	Commands []string
	Timeout  Duration
	Agent    string // empty means the one that did the work
	Model    string
	Repairs  int
	Reruns   int
	Ahead    int // how many pieces of held work may lie below a task that begins before they have landed
	Protect  []string
	EnvAllow []string // variables that gates and setup are given although they look like secrets
	Feature  bool     // compare each feature with its specification when its last task is done

	Coverage     string // what is made of changed lines that no gate executed: off, show or ask
	CoverageFile string // that a gate writes; empty means that gates run once more to find out
	Witness      string // who writes a check of each task before the work: "verifier" or an agent; empty means no one

	Reviewers []ReviewerConfig
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
	Recent  int // the last entries of the run
	Matches int // earlier entries about the same things
	Tokens  int
}

// KnowledgeConfig is how much of what the project has learned a prompt may show, and whether agents are asked for more.
type KnowledgeConfig struct {
	Tokens  int
	Extract bool // after work that took a retry or a repair
}

// RecoveryConfig is how a run continues after one that crashed.
type RecoveryConfig struct {
	ResumeSession    bool
	MaxAge           Duration // 0 means that nothing is too old
	MaxInterruptions int
	OnDirty          string
}

// GCConfig is what runs remove by themselves, once a day.
type GCConfig struct {
	Auto      bool
	OlderThan Duration // failures are kept three times as long
}

// SandboxConfig is how agents and gates are confined.
type SandboxConfig struct {
	Mode     string
	Write    []string // what may be written besides
	DenyRead []string // what cannot be read

	Memory    Size // that an attempt may use; 0 means as much as there is
	Processes int  // that it may have at once, with their threads

	Network NetworkConfig
}

// NetworkConfig says whose processes have a network.
type NetworkConfig struct {
	Agent    string
	Verifier string
	Gates    string

	Hosts []string // that agents and verifiers may reach; none means all
}

func (c NetworkConfig) invalid() string {
	_, err := proxy.Parse(c.Hosts)
	switch {
	case err != nil:
		return err.Error()
	case len(c.Hosts) > 0 && c.Agent == "off" && c.Verifier == "off":
		return "no session would use it: agent and verifier are off"
	}
	return ""
}

// InboxConfig says how long answers are waited for.
type InboxConfig struct {
	Wait   Duration // by an agent, in its turn; then its task is put aside
	Expire Duration // then the default answer holds; 0 means never
}

// PermissionsConfig are rules for what agents ask to do. Those of all files count together, so that no project
// takes away what its user denies.
type PermissionsConfig struct {
	Default string
	Deny    []string
	Ask     []string
	Allow   []string
}

// Lists are the rules as package permission reads them.
func (c PermissionsConfig) Lists() permission.Lists {
	return permission.Lists{Default: permission.Answer(c.Default), Deny: c.Deny, Ask: c.Ask, Allow: c.Allow}
}

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
