package main

import (
	"context"
	"encoding"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/project"
	"ralph/internal/seq"
)

// command is one node of the command tree, in the terms of this program. Every
// help ends with an example and the exit statuses, so neither can be left out.
type command struct {
	name    string
	group   string // under which the help of the program lists it
	args    string // as the usage line shows them
	short   string
	long    string
	flags   []flagSpec
	example string
	exits   string // beyond 0, 64 and 70
	hidden  bool
	bare    bool   // its group does the same without a command
	stray   string // the hint for an argument, where it takes none
	late    bool   // run checks the number of arguments itself: its reports tell of that too
	run     runner
	sub     []command
}

// runner does what a command is for.
type runner func(*app, *cli.Context) error

// flagSpec is a flag of a command. Its type is that of its value, which is the default; none stands for an empty text.
type flagSpec struct {
	name, usage string
	value       any
	short       string // one letter
	shown       string // by the help as the default
	group       string // under which the help lists it
	alone       string // the value if it is typed without one; "" if it needs one
}

// boolFlag is a flag without a value, which is off unless it is typed.
func boolFlag(name, usage string, short ...string) flagSpec {
	return flagSpec{name: name, usage: usage, value: false, short: strings.Join(short, "")}
}

var (
	// jsonFlag is the same on every command that prints a result.
	jsonFlag = boolFlag("json", "print the result as JSON")
	helpFlag = boolFlag("help", "show help", "h")
)

// flagGroup puts flags under a title of their own in the help.
func flagGroup(title string, flags ...flagSpec) []flagSpec {
	for i := range flags {
		flags[i].group = title
	}
	return flags
}

// build makes the flag that the library parses.
func (f flagSpec) build() cli.Flag {
	var short []string
	if f.short != "" {
		short = []string{f.short}
	}
	switch v := f.value.(type) {
	case bool:
		return &cli.BoolFlag{Name: f.name, Aliases: short, Usage: f.usage, DefaultText: f.shown, DisableDefaultText: f.shown == ""}
	case int:
		return &cli.IntFlag{Name: f.name, Aliases: short, Usage: f.usage, DefaultText: f.shown, Value: v}
	case int64:
		return &cli.Int64Flag{Name: f.name, Aliases: short, Usage: f.usage, DefaultText: f.shown, Value: v}
	case float64:
		return &cli.Float64Flag{Name: f.name, Aliases: short, Usage: f.usage, DefaultText: f.shown, Value: v}
	case []string:
		return &cli.StringSliceFlag{Name: f.name, Aliases: short, Usage: f.usage, DefaultText: f.shown}
	case string:
		return &cli.StringFlag{Name: f.name, Aliases: short, Usage: f.usage, DefaultText: f.shown, Value: v}
	default:
		return &cli.StringFlag{Name: f.name, Aliases: short, Usage: f.usage, DefaultText: f.shown}
	}
}

// check refuses a value that is not of the flag's type.
func (f flagSpec) check(value string) (err error) {
	kind := ""
	switch f.value.(type) {
	case bool:
		kind = "true or false"
		_, err = strconv.ParseBool(value)
	case int, int64:
		kind = "a whole number"
		_, err = strconv.ParseInt(value, 0, 64)
	case float64:
		kind = "a number"
		_, err = strconv.ParseFloat(value, 64)
	}
	switch {
	case err == nil:
		return nil
	case errors.Is(err, strconv.ErrRange):
		return usagef("--%s %s is too large", f.name, value)
	}
	return usagef("--%s is %s, not %q", f.name, kind, value)
}

func buildFlags(flags []flagSpec) []cli.Flag {
	return seq.Map(flags, flagSpec.build)
}

// interrupted are the exit statuses of commands that signals end in an orderly way.
const interrupted = "129, 130 and 143 interrupted (SIGHUP, Ctrl-C, SIGTERM)"

// tree makes the commands that the library runs.
func tree(a *app, commands ...command) []*cli.Command {
	list := make([]*cli.Command, len(commands))
	for i, c := range commands {
		list[i] = &cli.Command{
			Name: c.name, Usage: c.short, ArgsUsage: c.args, Description: c.long, Flags: buildFlags(c.flags),
			Hidden: c.hidden, HideHelp: true, OnUsageError: badUsage, Subcommands: tree(a, c.sub...),
		}
		if c.run != nil {
			list[i].Action = func(ctx *cli.Context) error {
				if err := a.readGlobals(ctx); err != nil {
					return err
				}
				if err := c.checkArgs(ctx); err != nil {
					return err
				}
				return c.run(a, ctx)
			}
		}
	}
	return list
}

// grouped lists commands under one title.
func grouped(title string, commands ...command) []command {
	for i := range commands {
		commands[i].group = title
	}
	return commands
}

// withBare lets groups do without a command what their bare command does. One that has
// none prints its help.
func withBare(commands []command) []command {
	for i := range commands {
		c := &commands[i]
		c.sub = withBare(c.sub)
		for _, s := range c.sub {
			if s.bare {
				c.run, c.flags = s.run, s.flags
			}
		}
	}
	return commands
}

// checkArgs holds the arguments to what the usage line shows: ID is needed, [ID] is not, and ... repeats it.
func (c command) checkArgs(ctx *cli.Context) error {
	given, fields := ctx.NArg(), strings.Fields(c.args)
	if c.hidden || c.late || given >= len(fields) && strings.Contains(c.args, "...") {
		return nil
	}
	name := func(i int) string {
		return human.Series(strings.Split(strings.TrimSuffix(strings.Trim(fields[i], "[]."), "|-"), "|"), "or")
	}
	switch {
	case given < len(fields) && !strings.HasPrefix(fields[given], "["):
		return hint(usagef("%s is missing", name(given)), "usage: %s%s %s", ctx.Command.HelpName, flagsWord(c.flags), c.args)
	case given <= len(fields):
		return nil
	case len(fields) != 1:
		return hint(usagef("unexpected argument %q", ctx.Args().Get(len(fields))), "%s", strings.ReplaceAll(c.stray, "ARG", ctx.Args().First()))
	}
	many := "one"
	if strings.HasPrefix(fields[0], "[") {
		many = "at most one"
	}
	err := usagef("%s %s, not %d: %s", many, name(0), given, strings.Join(ctx.Args().Slice(), " "))
	if name(0) == "TITLE" || name(0) == "TEXT" {
		return hint(err, "quote it if it contains spaces")
	}
	return err
}

// plainOptions are the flags that several commands share. They serve every command that has no others.
type plainOptions struct {
	Args                         []string
	Run                          string
	JSON, Yes, DryRun, Now, Keep bool
}

// action makes a command of a function and its options.
func action[O any](run func(context.Context, *app, O) error) runner {
	return func(a *app, c *cli.Context) error {
		var o O
		if err := parseOptions(commandLine{c}, &o); err != nil {
			return err
		}
		return run(c.Context, a, o)
	}
}

// inProject is action for a function that needs the project opened.
func inProject[O any](run func(context.Context, *app, *session, O) error) runner {
	return action(func(ctx context.Context, a *app, o O) error {
		s, err := a.open(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		return run(ctx, a, s, o)
	})
}

// onGraph is action for a function that only reads the graph, in one transaction.
func onGraph[O any](run func(*app, *session, *dag.Graph, O) error) runner {
	return inProject(func(ctx context.Context, a *app, s *session, o O) error {
		return s.store.View(ctx, func(g *dag.Graph) error { return run(a, s, g, o) })
	})
}

// commandLine is what was typed for a command.
type commandLine struct{ *cli.Context }

// Value is that of a flag of the command itself, not of one that its group has; nil if there is none.
func (c commandLine) Value(flag string) any {
	if slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == flag }) {
		return c.Context.Value(flag)
	}
	return nil
}

// parseOptions fills a struct with what was typed, and then calls its method parse, if it has one, for the rest.
func parseOptions(c commandLine, options any) error {
	if err := parseFields(c, reflect.ValueOf(options).Elem()); err != nil {
		return err
	}
	if o, ok := options.(interface{ parse(commandLine) error }); ok {
		return o.parse(c)
	}
	return nil
}

// parseFields fills each exported field with the value of the flag that has its name, MaxCost with that of
// --max-cost, if the command has such a flag. A pointer stays nil if the flag was not typed. Args are the arguments.
func parseFields(c commandLine, options reflect.Value) error {
	for i := range options.NumField() {
		field, about := options.Field(i), options.Type().Field(i)
		flag := flagName(about.Name)
		switch value := c.Value(flag); {
		case about.Anonymous && field.Kind() == reflect.Struct:
			if err := parseFields(c, field); err != nil {
				return err
			}
		case about.Name == "Args":
			field.Set(reflect.ValueOf(c.Args().Slice()))
		case !about.IsExported(), value == nil, field.Kind() == reflect.Pointer && !c.IsSet(flag):
		default:
			if field.Kind() == reflect.Pointer {
				field.Set(reflect.New(about.Type.Elem()))
				field = field.Elem()
			}
			if field.Kind() == reflect.Slice {
				value = c.StringSlice(flag)
			}
			target := field.Addr().Interface()
			if d, ok := target.(*time.Duration); ok {
				target = (*project.Duration)(d)
			}
			if text, ok := target.(encoding.TextUnmarshaler); !ok {
				field.Set(reflect.ValueOf(value).Convert(field.Type()))
			} else if err := text.UnmarshalText([]byte(c.String(flag))); err != nil {
				return usagef("--%s: %v", flag, err)
			}
		}
	}
	return nil
}

// flagName is the flag of a field: max-cost for MaxCost, json for JSON.
func flagName(field string) string {
	return strings.ToLower(strings.ReplaceAll(plain.Camel(field), " ", "-"))
}

// checkChoice refuses what is not among the values of a flag.
func checkChoice[T ~string](flag string, given T, values ...T) error {
	if slices.Contains(values, given) {
		return nil
	}
	return usagef("--%s is %s, not %q", flag, human.Series(values, "or"), given)
}
