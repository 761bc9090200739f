package project

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ralph/internal/cron"
	"ralph/internal/lazyregexp"
	"ralph/internal/proc"
	"ralph/internal/seq"
)

// ScheduleConfig is a run that is started by the clock.
type ScheduleConfig struct {
	Name     string `toml:"name"`
	Cron     string `toml:"cron"`
	Timezone string `toml:"timezone"` // empty is the machine's
	Run      string `toml:"run"`      // flags of `ralph run`
	CatchUp  bool   `toml:"catch_up"`
}

// InboundConfig is what a signed request from outside does: it starts a run, or adds the tasks of a template.
type InboundConfig struct {
	Name      string            `toml:"name"`
	SecretEnv string            `toml:"secret_env"` // the variable that has the secret
	Format    string            `toml:"format"`     // github or plain; empty is github
	Events    []string          `toml:"events"`     // of GitHub: issues, or issues.opened; none means all
	Run       *string           `toml:"run"`        // flags of `ralph run`
	Template  string            `toml:"template"`
	Feature   string            `toml:"feature"` // of its tasks
	Vars      map[string]string `toml:"vars"`    // inputs of the template, as they are
	Set       map[string]string `toml:"set"`     // inputs of the template, by where they are in the request
}

var (
	entryName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)
	variable  = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*$`)
	eventName = lazyregexp.New(`^[a-z_]+(\.[a-z_]+)?$`)
	dotted    = lazyregexp.New(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
)

func (c ScheduleConfig) name() string { return c.Name }

func (c InboundConfig) name() string { return c.Name }

func badName(name string) string {
	switch {
	case name == "":
		return `it has no name; give it one, like name = "nightly"`
	case !entryName().MatchString(name):
		return fmt.Sprintf("the name %q has more than letters, digits, dots, - and _, or is too long", name)
	}
	return ""
}

// repeatedName is the entry of a file whose name another has, there or in the files before.
func repeatedName[T interface{ name() string }](key string, before, more []T) (at, why string) {
	names := seq.Map(before, T.name)
	for i, e := range more {
		if slices.Contains(names, e.name()) {
			return fmt.Sprintf("%s.%d", key, i+1), fmt.Sprintf("there is another with the name %q", e.name())
		}
		names = append(names, e.name())
	}
	return "", ""
}

// RunWords are the words of flags for `ralph run`, as a shell would tell them apart. Nothing in them is expanded.
func RunWords(flags string) ([]string, error) {
	if strings.TrimSpace(flags) == "" {
		return nil, nil
	}
	words, err := proc.Split(flags)
	if err != nil {
		return nil, fmt.Errorf("run: %s", strings.TrimPrefix(err.Error(), "split command "))
	}
	return words, nil
}

// Line is when it is due.
func (c ScheduleConfig) Line() (cron.Line, error) {
	l, err := cron.Parse(c.Cron, c.Timezone)
	if err != nil {
		return l, fmt.Errorf("cron: %w", err)
	}
	return l, nil
}

func (c ScheduleConfig) invalid() string {
	if why := badName(c.Name); why != "" {
		return why
	}
	if c.Cron == "" {
		return `it has no cron; say when it is due, like cron = "0 1 * * 1-5"`
	}
	if _, err := c.Line(); err != nil {
		return err.Error()
	}
	if _, err := RunWords(c.Run); err != nil {
		return err.Error()
	}
	return ""
}

// String is how it is shown.
func (c ScheduleConfig) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s: ralph run %s", c.Name, c.Cron, c.Timezone, c.Run))
}

// Plain says that its requests are signed in ralph's own way, and not in GitHub's.
func (c InboundConfig) Plain() bool { return c.Format == "plain" }

func (c InboundConfig) invalid() string {
	if why := badName(c.Name); why != "" {
		return why
	}
	switch {
	case c.SecretEnv == "":
		return "it has no secret_env; name the variable that has the secret, like secret_env = \"HOOK_SECRET\""
	case !variable().MatchString(c.SecretEnv):
		return "secret_env is the name of a variable, and not the secret itself"
	case !slices.Contains([]string{"", "github", "plain"}, c.Format):
		return fmt.Sprintf("format: %q is not one of github, plain", c.Format)
	case (c.Run == nil) == (c.Template == ""):
		return "it has either run or template"
	case c.Template == "" && (c.Feature != "" || len(c.Vars)+len(c.Set) > 0):
		return "feature, vars and set go with a template"
	case c.Plain() && len(c.Events) > 0:
		return "events are GitHub's: they do not go with format plain"
	}
	for _, e := range c.Events {
		if !eventName().MatchString(e) {
			return fmt.Sprintf("events: %q is no event; write it like issues or issues.opened", e)
		}
	}
	for _, input := range slices.Sorted(maps.Keys(c.Set)) {
		if !dotted().MatchString(c.Set[input]) {
			return fmt.Sprintf("set: %q is no place in JSON; write it like issue.title or commits.0.message", c.Set[input])
		}
		if _, both := c.Vars[input]; both || input == "feature" {
			return fmt.Sprintf("set: %s is given elsewhere, or must not come from outside", input)
		}
	}
	if c.Run != nil {
		if _, err := RunWords(*c.Run); err != nil {
			return err.Error()
		}
	}
	return ""
}

// String is how it is shown.
func (c InboundConfig) String() string {
	does := "template " + c.Template
	if c.Run != nil {
		does = strings.TrimSpace("ralph run " + *c.Run)
	}
	return c.Name + ": " + does
}
