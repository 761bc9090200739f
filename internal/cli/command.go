package cli

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

// Command is one node of the command tree, in the terms of this program. Every
// help ends with an example and the exit statuses, so neither can be left out.
type Command struct {
	Name    string
	group   string // under which the help of the program lists it
	Args    string // as the usage line shows them
	Short   string
	Long    string
	Flags   []Flag
	Example string
	Exits   string // beyond 0, 64 and 70
	Hidden  bool
	Bare    bool   // its group does the same without a command
	Stray   string // the hint for an argument, where it takes none
	Late    bool   // run checks the number of arguments itself: its reports tell of that too
	Run     Runner
	Sub     []Command
}

// Runner does what a command is for.
type Runner func(*App, *cli.Context) error

// Flag is a flag of a command. Its type is that of its value, which is the default; none stands for an empty text.
type Flag struct {
	Name, Usage string
	Value       any
	Short       string // one letter
	Shown       string // by the help as the default
	group       string // under which the help lists it
	Alone       string // the value if it is typed without one; "" if it needs one
}

// Bool is a flag without a value, which is off unless it is typed.
func Bool(name, usage string, short ...string) Flag {
	return Flag{Name: name, Usage: usage, Value: false, Short: strings.Join(short, "")}
}

var (
	// JSONFlag is the same on every command that prints a result.
	JSONFlag = Bool("json", "print the result as JSON")
	helpFlag = Bool("help", "show help", "h")
)

// FlagGroup puts flags under a title of their own in the help.
func FlagGroup(title string, flags ...Flag) []Flag {
	for i := range flags {
		flags[i].group = title
	}
	return flags
}

// build makes the flag that the library parses.
func (f Flag) build() cli.Flag {
	var short []string
	if f.Short != "" {
		short = []string{f.Short}
	}
	switch v := f.Value.(type) {
	case bool:
		return &cli.BoolFlag{Name: f.Name, Aliases: short, Usage: f.Usage, DefaultText: f.Shown, DisableDefaultText: f.Shown == ""}
	case int:
		return &cli.IntFlag{Name: f.Name, Aliases: short, Usage: f.Usage, DefaultText: f.Shown, Value: v}
	case int64:
		return &cli.Int64Flag{Name: f.Name, Aliases: short, Usage: f.Usage, DefaultText: f.Shown, Value: v}
	case float64:
		return &cli.Float64Flag{Name: f.Name, Aliases: short, Usage: f.Usage, DefaultText: f.Shown, Value: v}
	case []string:
		return &cli.StringSliceFlag{Name: f.Name, Aliases: short, Usage: f.Usage, DefaultText: f.Shown}
	case string:
		return &cli.StringFlag{Name: f.Name, Aliases: short, Usage: f.Usage, DefaultText: f.Shown, Value: v}
	default:
		return &cli.StringFlag{Name: f.Name, Aliases: short, Usage: f.Usage, DefaultText: f.Shown}
	}
}

// check refuses a value that is not of the flag's type.
func (f Flag) check(value string) (err error) {
	kind := ""
	switch f.Value.(type) {
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
		return Usagef("--%s %s is too large", f.Name, value)
	}
	return Usagef("--%s is %s, not %q", f.Name, kind, value)
}

func buildFlags(flags []Flag) []cli.Flag {
	return seq.Map(flags, Flag.build)
}

// Interrupted are the exit statuses of commands that signals end in an orderly way.
const Interrupted = "129, 130 and 143 interrupted (SIGHUP, Ctrl-C, SIGTERM)"

// Tree makes the commands that the library runs.
func Tree(a *App, commands ...Command) []*cli.Command {
	list := make([]*cli.Command, len(commands))
	for i, c := range commands {
		list[i] = &cli.Command{
			Name: c.Name, Usage: c.Short, ArgsUsage: c.Args, Description: c.Long, Flags: buildFlags(c.Flags),
			Hidden: c.Hidden, HideHelp: true, OnUsageError: badUsage, Subcommands: Tree(a, c.Sub...),
		}
		if c.Run != nil {
			list[i].Action = func(ctx *cli.Context) error {
				if err := a.readGlobals(ctx); err != nil {
					return err
				}
				if err := c.checkArgs(ctx); err != nil {
					return err
				}
				return c.Run(a, ctx)
			}
		}
	}
	return list
}

// Grouped lists commands under one title.
func Grouped(title string, commands ...Command) []Command {
	for i := range commands {
		commands[i].group = title
	}
	return commands
}

// WithBare lets groups do without a command what their bare command does. One that has
// none prints its help.
func WithBare(commands []Command) []Command {
	for i := range commands {
		c := &commands[i]
		c.Sub = WithBare(c.Sub)
		for _, s := range c.Sub {
			if s.Bare {
				c.Run, c.Flags = s.Run, s.Flags
			}
		}
	}
	return commands
}

// checkArgs holds the arguments to what the usage line shows: ID is needed, [ID] is not, and ... repeats it.
func (c Command) checkArgs(ctx *cli.Context) error {
	given, fields := ctx.NArg(), strings.Fields(c.Args)
	if c.Hidden || c.Late || given >= len(fields) && strings.Contains(c.Args, "...") {
		return nil
	}
	name := func(i int) string {
		return human.Series(strings.Split(strings.TrimSuffix(strings.Trim(fields[i], "[]."), "|-"), "|"), "or")
	}
	switch {
	case given < len(fields) && !strings.HasPrefix(fields[given], "["):
		return Hint(Usagef("%s is missing", name(given)), "usage: %s%s %s", ctx.Command.HelpName, flagsWord(c.Flags), c.Args)
	case given <= len(fields):
		return nil
	case len(fields) != 1:
		return Hint(Usagef("unexpected argument %q", ctx.Args().Get(len(fields))), "%s", strings.ReplaceAll(c.Stray, "ARG", ctx.Args().First()))
	}
	many := "one"
	if strings.HasPrefix(fields[0], "[") {
		many = "at most one"
	}
	err := Usagef("%s %s, not %d: %s", many, name(0), given, strings.Join(ctx.Args().Slice(), " "))
	if name(0) == "TITLE" || name(0) == "TEXT" {
		return Hint(err, "quote it if it contains spaces")
	}
	return err
}

// PlainOptions are the flags that several commands share. They serve every command that has no others.
type PlainOptions struct {
	Args                         []string
	Run                          string
	JSON, Yes, DryRun, Now, Keep bool
}

// Action makes a command of a function and its options.
func Action[O any](run func(context.Context, *App, O) error) Runner {
	return func(a *App, c *cli.Context) error {
		var o O
		if err := ParseOptions(CommandLine{c}, &o); err != nil {
			return err
		}
		return run(c.Context, a, o)
	}
}

// InProject is action for a function that needs the project opened.
func InProject[O any](run func(context.Context, *App, *Session, O) error) Runner {
	return Action(func(ctx context.Context, a *App, o O) error {
		s, err := a.Open(ctx)
		if err != nil {
			return err
		}
		defer s.Close()
		return run(ctx, a, s, o)
	})
}

// OnGraph is action for a function that only reads the graph, in one transaction.
func OnGraph[O any](run func(*App, *Session, *dag.Graph, O) error) Runner {
	return InProject(func(ctx context.Context, a *App, s *Session, o O) error {
		return s.Store.View(ctx, func(g *dag.Graph) error { return run(a, s, g, o) })
	})
}

// CommandLine is what was typed for a command.
type CommandLine struct{ *cli.Context }

// Value is that of a flag of the command itself, not of one that its group has; nil if there is none.
func (c CommandLine) Value(flag string) any {
	if slices.ContainsFunc(c.Command.Flags, func(f cli.Flag) bool { return f.Names()[0] == flag }) {
		return c.Context.Value(flag)
	}
	return nil
}

// ParseOptions fills a struct with what was typed, and then calls its method parse, if it has one, for the rest.
func ParseOptions(c CommandLine, options any) error {
	if err := parseFields(c, reflect.ValueOf(options).Elem()); err != nil {
		return err
	}
	if o, ok := options.(interface{ Parse(CommandLine) error }); ok {
		return o.Parse(c)
	}
	return nil
}

// parseFields fills each exported field with the value of the flag that has its name, MaxCost with that of
// --max-cost, if the command has such a flag. A pointer stays nil if the flag was not typed. Args are the arguments.
func parseFields(c CommandLine, options reflect.Value) error {
	for i := range options.NumField() {
		field, about := options.Field(i), options.Type().Field(i)
		flag := FlagName(about.Name)
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
				return Usagef("--%s: %v", flag, err)
			}
		}
	}
	return nil
}

// FlagName is the flag of a field: max-cost for MaxCost, json for JSON.
func FlagName(field string) string {
	return strings.ToLower(strings.ReplaceAll(plain.Camel(field), " ", "-"))
}

// CheckChoice refuses what is not among the values of a flag.
func CheckChoice[T ~string](flag string, given T, values ...T) error {
	if slices.Contains(values, given) {
		return nil
	}
	return Usagef("--%s is %s, not %q", flag, human.Series(values, "or"), given)
}

// YesFlag is the flag that answers the question of a command.
func YesFlag(what string) Flag { return Bool("yes", what, "y") }

// Or is the value of a flag, or what stands in for one that was not typed.
func Or[T any](given *T, otherwise T) T {
	if given == nil {
		return otherwise
	}
	return *given
}
