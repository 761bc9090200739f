package project

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"ralph/internal/cron"
	"ralph/internal/lazyregexp"
	"ralph/internal/proc"
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

func (c ScheduleConfig) twice() string {
	return fmt.Sprintf("there is another with the name %q", c.Name)
}

func (c InboundConfig) name() string { return c.Name }

func (c InboundConfig) twice() string {
	return fmt.Sprintf("there is another with the name %q", c.Name)
}

func badName(name string) string {
	if entryName.Get().MatchString(name) {
		return ""
	}
	return fmt.Sprintf("name %q is empty or too long, or has more than letters, digits, dots, - and _", name)
}

// repeated is the first entry of a list whose name another has, there or before.
func repeated(before, list reflect.Value) (at int, why string) {
	type named interface {
		name() string
		twice() string
	}
	names := map[string]bool{}
	for _, all := range []reflect.Value{before, list} {
		if !all.IsValid() {
			continue
		}
		for i := range all.Len() {
			e, ok := all.Index(i).Interface().(named)
			if !ok {
				return 0, ""
			}
			if names[e.name()] {
				return i, e.twice()
			}
			names[e.name()] = true
		}
	}
	return 0, ""
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
func (c ScheduleConfig) Line() (cron.Line, error) { return cron.Parse(c.Cron, c.Timezone) }

func (c ScheduleConfig) invalid() string {
	_, when := c.Line()
	_, words := RunWords(c.Run)
	if err := cmp.Or(when, words); err != nil && badName(c.Name) == "" {
		return err.Error()
	}
	return badName(c.Name)
}

// String is how it is shown.
func (c ScheduleConfig) String() string {
	return strings.TrimSpace(fmt.Sprintf("%s: %s %s: ralph run %s", c.Name, c.Cron, c.Timezone, c.Run))
}

// Plain says that its requests are signed in ralph's own way, and not in GitHub's.
func (c InboundConfig) Plain() bool { return c.Format == "plain" }

func (c InboundConfig) invalid() string {
	switch {
	case badName(c.Name) != "":
		return badName(c.Name)
	case !variable.Get().MatchString(c.SecretEnv):
		return "secret_env is the name of the variable that has the secret, and not the secret itself"
	case !slices.Contains([]string{"", "github", "plain"}, c.Format):
		return fmt.Sprintf("format: %q is not one of github, plain", c.Format)
	case (c.Run == nil) == (c.Template == ""):
		return "it has either run or template"
	case c.Template == "" && (c.Feature != "" || len(c.Vars)+len(c.Set) > 0):
		return "feature, vars and set go with a template"
	case c.Plain() && len(c.Events) > 0:
		return "events are GitHub's: they do not go with format plain"
	}
	if i := slices.IndexFunc(c.Events, func(e string) bool { return !eventName.Get().MatchString(e) }); i >= 0 {
		return fmt.Sprintf("events: %q is no event; write it like issues or issues.opened", c.Events[i])
	}
	for _, input := range slices.Sorted(maps.Keys(c.Set)) {
		if _, both := c.Vars[input]; both || input == "feature" || !dotted.Get().MatchString(c.Set[input]) {
			return fmt.Sprintf("set: %s = %q is given by vars too, is the feature, or is no place in JSON like issue.title or commits.0.message", input, c.Set[input])
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
