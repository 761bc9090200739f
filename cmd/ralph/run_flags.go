package main

import (
	"fmt"
	"slices"

	"github.com/urfave/cli/v2"
)

// runOptions is what was typed for a run. A nil value was not typed: the
// configuration has it.
type runOptions struct {
	target      runTarget
	continues   bool
	once        bool
	dryRun      bool
	json        bool
	jobs        *int
	limit       *int
	maxRetries  *int
	maxCost     *float64
	maxTokens   *int64
	maxFailures *int
	maxDuration *string
	until       *string
	wait        *string
	keepGoing   *bool
	failFast    bool
	skipVerify  bool
	strategy    *string
	agent       openerOptions
	badAgent    error // what is wrong with them
	output      runOutput

	settings map[string]string                           // flags that a run that continues this one has, too
	restore  func(map[string]string) (runOptions, error) // adds settings of an earlier run
}

// runTarget names what to work on.
type runTarget struct {
	args    []string
	feature *string
	task    *string
}

func (t runTarget) given() bool { return len(t.args) > 0 || t.feature != nil || t.task != nil }

func (t runTarget) arg() string {
	if len(t.args) == 0 {
		return ""
	}
	return t.args[0]
}

// runOutput names the files that a run writes besides its own.
type runOutput struct {
	events  string
	logFile string
	metrics *string
	junit   *string
	summary *string
}

// outputFile is a flag that names a file, and the name.
type outputFile struct{ flag, name string }

// files lists the files that were named, in the order of the help.
func (o runOutput) files() []outputFile {
	list := []outputFile{
		{"events", o.events}, {"log-file", o.logFile}, {"metrics", or(o.metrics, "")}, {"junit", or(o.junit, "")}, {"summary", or(o.summary, "")},
	}
	return slices.DeleteFunc(list, func(f outputFile) bool { return f.name == "" || f.name == "-" && f.flag == "events" })
}

func parseRun(c *cli.Context) (runOptions, error) {
	o := runOptions{
		target:    runTarget{args: c.Args().Slice(), feature: parseGiven(c, "feature", c.String), task: parseGiven(c, "task", c.String)},
		continues: c.Bool("continue"), once: c.Bool("once"), dryRun: c.Bool("dry-run"), json: c.Bool("json"),
		jobs: parseGiven(c, "jobs", c.Int), limit: parseGiven(c, "limit", c.Int), maxRetries: parseGiven(c, "max-retries", c.Int),
		maxCost: parseGiven(c, "max-cost", c.Float64), maxTokens: parseGiven(c, "max-tokens", c.Int64), maxFailures: parseGiven(c, "max-failures", c.Int),
		maxDuration: parseGiven(c, "max-duration", c.String), until: parseGiven(c, "until", c.String), wait: parseGiven(c, "wait", c.String),
		keepGoing: parseGiven(c, "keep-going", c.Bool), failFast: c.Bool("fail-fast"), skipVerify: c.Bool("no-verify"),
		strategy: parseGiven(c, "model-strategy", c.String),
		output: runOutput{
			events: c.String("events"), logFile: c.String("log-file"), metrics: parseGiven(c, "metrics", c.String),
			junit: parseGiven(c, "junit", c.String), summary: parseGiven(c, "summary", c.String),
		},
		settings: map[string]string{},
	}
	o.agent, o.badAgent = parseOpener(c)
	if o.dryRun && o.json {
		return o, usagef("--dry-run prints text: it does not go with --json")
	}
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; c.IsSet(name) && !slices.Contains(startFlags, name) {
			o.settings[name] = fmt.Sprint(c.Value(name))
		}
	}
	o.restore = func(stored map[string]string) (runOptions, error) {
		for name, value := range stored {
			if c.IsSet(name) || named(c.Command.Flags, name) == nil || c.Bool(opposite[name]) {
				continue // an older ralph may have had other flags
			}
			if err := c.Set(name, value); err != nil {
				return o, fmt.Errorf("--%s: %w", name, err)
			}
		}
		return parseRun(c)
	}
	return o, nil
}

// parseGiven is the value of a flag, or nil if it was not typed.
func parseGiven[T any](c *cli.Context, name string, value func(string) T) *T {
	if !c.IsSet(name) {
		return nil
	}
	v := value(name)
	return &v
}

// or is the value of a flag, or what stands in for one that was not typed.
func or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}

// opposite are flags that contradict each other.
var opposite = map[string]string{"keep-going": "fail-fast", "fail-fast": "keep-going"}

// startFlags belong to one start of a run: a run that continues it does not have them.
var startFlags = []string{"continue", "once", "dry-run", "events", "json", "junit", "summary", "log-file", "log-format", "metrics", "feature", "task", "help"}
