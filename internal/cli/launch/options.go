package launch

import (
	"fmt"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
)

// Options is what was typed for a run. A nil value was not typed: the
// configuration has it.
type Options struct {
	TargetOptions
	wiring.OpenerOptions
	wiring.OutputOptions
	PlaceOptions
	Continue, Once, DryRun, FailFast, NoVerify, JSON bool
	Follow, RequireProof, AllowFailing               bool

	KeepGoing                               *bool
	Jobs, Limit, MaxRetries, MaxFailures    *int
	MaxTokens                               *int64
	MaxCost                                 *float64
	MaxDuration, Until, Wait, ModelStrategy *string
	Effort                                  *dag.Effort

	Start
	badAgent error                                    // what is wrong with the agent's flags: it is reported like every end of a run
	restore  func(map[string]string) (Options, error) // adds settings of an earlier run
}

// Start is what the command that starts a run says about it, and no flag does.
type Start struct {
	Workers  *RemoteWorkers    // has the attempts made on other machines; nil: they are made here
	Executor bool              // one attempt of a run on another machine is made here
	Finished bool              // only land work that is finished
	Settings map[string]string // flags that a run that continues this one has, too
}

// TargetOptions names what to work on.
type TargetOptions struct {
	Args               []string
	Feature, Task, Tag *string
}

func (t TargetOptions) given() bool {
	return len(t.Args) > 0 || t.Feature != nil || t.Task != nil || t.Tag != nil
}

func (t TargetOptions) arg() string { return strings.Join(t.Args[:min(len(t.Args), 1)], "") }

// Parse checks what was typed, and keeps it for a run that continues this one.
func (o *Options) Parse(c cli.CommandLine) error {
	if o.DryRun && o.JSON {
		return cli.Usagef("--dry-run prints text: it does not go with --json")
	}
	if o.RequireProof && o.NoVerify {
		return cli.Usagef("--no-verify looks for no proof: it does not go with --require-proof")
	}
	if o.AllowFailing && o.NoVerify {
		return cli.Usagef("--no-verify runs no gates: it does not go with --allow-failing")
	}
	if o.Effort != nil {
		if err := cli.CheckChoice("effort", *o.Effort, dag.Efforts()...); err != nil {
			return err
		}
	}
	o.badAgent, o.Settings = o.OpenerOptions.Parse(c), map[string]string{}
	for _, f := range c.Command.Flags {
		if name := f.Names()[0]; c.IsSet(name) && !slices.Contains(startFlags, name) {
			o.Settings[name] = fmt.Sprint(c.Value(name))
		}
	}
	o.restore = func(stored map[string]string) (again Options, err error) {
		for name, value := range stored {
			if c.IsSet(name) || c.Value(name) == nil || c.Bool(opposite[name]) {
				continue // an older ralph may have had other flags
			}
			if err := c.Set(name, value); err != nil {
				return again, fmt.Errorf("--%s: %w", name, err)
			}
		}
		return again, cli.ParseOptions(c, &again)
	}
	return nil
}

// opposite are flags that contradict each other.
var opposite = map[string]string{"keep-going": "fail-fast", "fail-fast": "keep-going"}

// startFlags belong to one start of a run: a run that continues it does not have them.
var startFlags = []string{"continue", "once", "dry-run", "events", "json", "junit", "summary", "log-file", "log-format", "metrics", "feature", "task", "direct", "help", "socket", "name", "with-changes", "allow-failing"}
