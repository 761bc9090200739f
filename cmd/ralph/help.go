package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// command is one node of the command tree, in the terms of this program. Every
// help ends with an example and the exit statuses, so neither can be left out.
type command struct {
	name    string
	group   string // under which the help of the program lists it
	args    string // as the usage line shows them
	short   string
	long    string
	flags   []cli.Flag
	example string
	exits   string // beyond 0, 64 and 70
	hidden  bool
	bare    bool   // its group does the same without a command
	stray   string // the hint for an argument, where it takes none
	run     cli.ActionFunc
	sub     []command
}

// action makes a command of two functions: parse is the only one that sees the flag
// library, and turns what was typed into options; run does what they say.
func action[O any](a *app, parse func(*cli.Context) (O, error), run func(context.Context, *app, O) error) cli.ActionFunc {
	return func(c *cli.Context) error {
		o, err := parse(c)
		if err != nil {
			return err
		}
		return run(c.Context, a, o)
	}
}

// interrupted are the exit statuses of commands that signals end in an orderly way.
const interrupted = "129, 130 and 143 interrupted (SIGHUP, Ctrl-C, SIGTERM)"

func tree(enter func(*cli.Context), commands ...command) []*cli.Command {
	list := make([]*cli.Command, len(commands))
	for i, c := range commands {
		list[i] = c.build(enter)
	}
	return list
}

func (c command) build(enter func(*cli.Context)) *cli.Command {
	out := &cli.Command{
		Name: c.name, Usage: c.short, ArgsUsage: c.args, Description: c.long, Flags: c.flags,
		Hidden: c.hidden, HideHelp: true, OnUsageError: badValue,
	}
	if c.run != nil {
		out.Action = func(ctx *cli.Context) error {
			enter(ctx)
			if err := c.checkArgs(ctx); err != nil {
				return err
			}
			return c.run(ctx)
		}
	}
	for _, s := range c.sub {
		out.Subcommands = append(out.Subcommands, s.build(enter))
	}
	return out
}

// grouped lists commands under one title.
func grouped(title string, commands ...command) []command {
	for i := range commands {
		commands[i].group = title
	}
	return commands
}

// checkArgs holds the arguments to what the usage line shows, where that is none, one (ID)
// or at least one (ID...). Commands with optional arguments check them on their own.
func (c command) checkArgs(ctx *cli.Context) error {
	what, _ := strings.CutSuffix(strings.TrimSuffix(c.args, "|-"), "...")
	switch {
	case c.hidden:
		return nil
	case what == "":
		return hint(noArgs(ctx), "%s", strings.ReplaceAll(c.stray, "ARG", ctx.Args().First()))
	case strings.Trim(what, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" || ctx.NArg() > 0 && strings.HasSuffix(c.args, "..."):
		return nil
	}
	_, err := oneArg(ctx, what)
	return err
}

// plainOptions are the flags that several commands share. They serve every command that has no others.
type plainOptions struct {
	args           []string
	run            string
	json, yes, dry bool
}

func parsePlain(c *cli.Context) (plainOptions, error) {
	return plainOptions{c.Args().Slice(), c.String("run"), c.Bool("json"), c.Bool("yes"), c.Bool("dry-run")}, nil
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

// help is what the command at the end of a path says of itself.
func (a *app) help(path []string) string {
	commands, full := a.specs(), "ralph"
	if len(path) == 0 {
		return appHelp(a.cli.Usage, commands, a.cli.Flags)
	}
	for i, name := range path {
		at := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
		c := commands[at] // the path was taken through the same tree
		full += " " + name
		if i < len(path)-1 {
			commands = c.sub
			continue
		}
		if len(c.sub) > 0 {
			return groupHelp(full, c)
		}
		return leafHelp(full, c)
	}
	return ""
}

func appHelp(usage string, commands []command, flags []cli.Flag) string {
	return "ralph: " + usage + `

Usage: ralph [global flags] COMMAND [flags] [arguments]

` + listCommands(commands) + `
` + listFlags("Global flags, accepted anywhere", flags) + `
Example:
  ralph init
  ralph task add "Write the parser"
  ralph status

Exit status: 0 success, 1 refused, 3 not found, 64 bad usage or not a project, 70 a bug.
"ralph COMMAND --help" explains a command.
`
}

func groupHelp(full string, c command) string {
	text := full + ": " + c.short + "\n\nUsage: " + full + " COMMAND [flags] [arguments]\n"
	if c.run != nil {
		text = full + ": " + c.short + "\n\nUsage: " + full + " [flags]\n       " + full + " COMMAND [flags] [arguments]\n"
	}
	if c.long != "" {
		text += "\n" + strings.TrimSpace(c.long) + "\n"
	}
	text += "\nCommands:\n" + listCommands(c.sub)
	if len(c.flags) > 0 {
		text += "\n" + listFlags("Flags", c.flags)
	}
	return text + "\n" + ending(c) + `"` + full + ` COMMAND --help" explains a command.
`
}

func leafHelp(full string, c command) string {
	text := full + ": " + c.short + "\n\nUsage: " + full
	if len(c.flags) > 0 {
		text += " [flags]"
	}
	if c.args != "" {
		text += " " + c.args
	}
	text += "\n"
	if c.long != "" {
		text += "\n" + strings.TrimSpace(c.long) + "\n"
	}
	if len(c.flags) > 0 {
		text += "\n" + listFlags("Flags", c.flags)
	}
	return text + "\n" + ending(c)
}

func listCommands(commands []command) string {
	text, group := "", ""
	for _, c := range commands {
		if c.group != "" && c.group != group {
			text += strings.Repeat("\n", min(len(group), 1)) + c.group + ":\n"
			group = c.group
		}
		if !c.hidden {
			text += fmt.Sprintf("  %-12s%s\n", c.name, c.short)
		}
	}
	return text
}

// flagGroup puts flags under a title of their own in the help.
func flagGroup(title string, flags ...cli.Flag) []cli.Flag {
	for _, f := range flags {
		switch f := f.(type) {
		case *cli.BoolFlag:
			f.Category = title
		case *cli.StringFlag:
			f.Category = title
		case *cli.IntFlag:
			f.Category = title
		case *cli.Int64Flag:
			f.Category = title
		case *cli.Float64Flag:
			f.Category = title
		default:
			panic(fmt.Sprintf("flagGroup: no category for %T", f))
		}
	}
	return flags
}

// groupTitle is the title above a flag, or what stands above those that have none. The
// last group has the flag that every command has.
func groupTitle(f cli.Flag, otherwise string) string {
	if in, ok := f.(cli.CategorizableFlag); ok && f.Names()[0] != "help" && in.GetCategory() != "" {
		return in.GetCategory()
	}
	return otherwise
}

// listFlags says what each flag does, in two columns, below the title of its group.
func listFlags(title string, flags []cli.Flag) string {
	flags = withHelp(flags)
	width := 0
	for _, f := range flags {
		names, _, _ := strings.Cut(f.String(), "\t")
		width = max(width, len(names))
	}
	text, above := "", ""
	for _, f := range flags {
		if title = groupTitle(f, title); title != above {
			text += strings.Repeat("\n", min(len(above), 1)) + title + ":\n"
			above = title
		}
		names, usage, _ := strings.Cut(f.String(), "\t")
		text += fmt.Sprintf("  %-*s  %s\n", width, names, usage)
	}
	return text
}

func ending(c command) string {
	text := "Example:\n"
	for _, l := range strings.Split(strings.TrimSpace(c.example), "\n") {
		text += "  " + strings.TrimSpace(l) + "\n"
	}
	exits := "0 success"
	if c.exits != "" {
		exits += ", " + c.exits
	}
	return text + "\nExit status: " + exits + ", 64 bad usage or not a project, 70 a bug.\n"
}

// boolFlag is a flag without a value, which is off unless it is typed.
func boolFlag(name, usage string, aliases ...string) cli.Flag {
	return &cli.BoolFlag{DisableDefaultText: true, Name: name, Aliases: aliases, Usage: usage}
}

// jsonFlag is the same on every command that prints a result.
func jsonFlag() cli.Flag { return boolFlag("json", "print the result as JSON") }

// withHelp adds the flag that every command has.
func withHelp(flags []cli.Flag) []cli.Flag {
	if named(flags, "help") != nil {
		return flags
	}
	return append(slices.Clone(flags), helpFlag())
}

func helpFlag() cli.Flag { return boolFlag("help", "show help", "h") }
