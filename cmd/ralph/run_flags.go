package main

import (
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
)

// runOptions is what was typed for a run. A nil value was not typed: the
// configuration has it.
type runOptions struct {
	runTarget
	openerOptions
	runOutput
	placeOptions
	Continue, Once, DryRun, FailFast, NoVerify, JSON bool
	Follow, RequireProof, AllowFailing               bool

	KeepGoing                               *bool
	Jobs, Limit, MaxRetries, MaxFailures    *int
	MaxTokens                               *int64
	MaxCost                                 *float64
	MaxDuration, Until, Wait, ModelStrategy *string
	Effort                                  *dag.Effort

	workers  *remoteWorkers                              // has the attempts made on other machines; nil: they are made here
	executor bool                                        // one attempt of a run on another machine is made here
	finished bool                                        // only land work that is finished
	badAgent error                                       // what is wrong with the agent's flags: it is reported like every end of a run
	settings map[string]string                           // flags that a run that continues this one has, too
	restore  func(map[string]string) (runOptions, error) // adds settings of an earlier run
}

// runTarget names what to work on.
type runTarget struct {
	Args               []string
	Feature, Task, Tag *string
}

func (t runTarget) given() bool {
	return len(t.Args) > 0 || t.Feature != nil || t.Task != nil || t.Tag != nil
}

func (t runTarget) arg() string { return strings.Join(t.Args[:min(len(t.Args), 1)], "") }

// runOutput names the files that a run writes besides its own.
type runOutput struct {
	Events, LogFile         string
	Metrics, JUnit, Summary *string
}

// outputFile is a flag that names a file, and the name.
type outputFile struct{ flag, name string }

// files lists the files that were named, in the order of the help.
func (o runOutput) files() []outputFile {
	list := []outputFile{
		{"events", o.Events}, {"log-file", o.LogFile}, {"metrics", or(o.Metrics, "")}, {"junit", or(o.JUnit, "")}, {"summary", or(o.Summary, "")},
	}
	return slices.DeleteFunc(list, func(f outputFile) bool { return f.name == "" || f.name == "-" && f.flag == "events" })
}

func (o *runOptions) parse(c commandLine) error {
	if o.DryRun && o.JSON {
		return usagef("--dry-run prints text: it does not go with --json")
	}
	if o.RequireProof && o.NoVerify {
		return usagef("--no-verify looks for no proof: it does not go with --require-proof")
	}
	if o.AllowFailing && o.NoVerify {
		return usagef("--no-verify runs no gates: it does not go with --allow-failing")
	}
	if o.Effort != nil {
		if err := checkChoice("effort", *o.Effort, dag.Efforts()...); err != nil {
			return err
		}
	}
	o.badAgent, o.settings = o.openerOptions.parse(c), map[string]string{}
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; c.IsSet(name) && !slices.Contains(startFlags, name) {
			o.settings[name] = fmt.Sprint(c.Value(name))
		}
	}
	o.restore = func(stored map[string]string) (again runOptions, err error) {
		for name, value := range stored {
			if c.IsSet(name) || c.Value(name) == nil || c.Bool(opposite[name]) {
				continue // an older ralph may have had other flags
			}
			if err := c.Set(name, value); err != nil {
				return again, fmt.Errorf("--%s: %w", name, err)
			}
		}
		return again, parseOptions(c, &again)
	}
	return nil
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
var startFlags = []string{"continue", "once", "dry-run", "events", "json", "junit", "summary", "log-file", "log-format", "metrics", "feature", "task", "direct", "help", "socket", "name", "with-changes", "allow-failing"}
