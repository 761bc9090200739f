package main

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"
)

// root is the program itself.
func (a *app) root() command {
	return command{
		short: a.cli.Usage, flags: a.cli.Flags, sub: a.specs(), exits: "1 refused, 3 not found",
		example: "ralph init\nralph task add \"Write the parser\"\nralph status",
	}
}

// help is what the command at the end of a path says of itself.
func (a *app) help(path []string) string {
	c, full := a.root(), "ralph"
	for _, name := range path { // it was taken through the same tree
		c = c.sub[slices.IndexFunc(c.sub, func(c command) bool { return c.name == name })]
		full += " " + name
	}
	usage, title := full+flagsWord(c.flags), "Flags"
	switch {
	case len(path) == 0:
		usage, title = "ralph [global flags] COMMAND [flags] [arguments]", "Global flags, accepted anywhere"
	case len(c.sub) > 0 && c.run != nil:
		usage = full + " [flags]\n       " + full + " COMMAND [flags] [arguments]"
	case len(c.sub) > 0:
		usage = full + " COMMAND [flags] [arguments]"
	}
	text := full + ": " + c.short + "\n\nUsage: " + strings.TrimSpace(usage+" "+c.args) + "\n"
	if c.long != "" {
		text += "\n" + strings.TrimSpace(c.long) + "\n"
	}
	if len(c.sub) > 0 {
		text += "\n" + listCommands(c.sub)
	}
	if len(c.flags) > 0 {
		text += "\n" + listFlags(title, c.flags)
	}
	text += "\nExample:\n"
	for l := range strings.Lines(c.example + "\n") {
		text += "  " + l
	}
	text += "\nExit status: 0 success, " + c.exits
	if c.exits != "" {
		text += ", "
	}
	text += "64 bad usage or not a project, 70 a bug.\n"
	if len(c.sub) > 0 {
		text += `"` + full + ` COMMAND --help" explains a command.` + "\n"
	}
	return text
}

func flagsWord(flags []cli.Flag) string {
	if len(flags) == 0 {
		return ""
	}
	return " [flags]"
}

func listCommands(commands []command) string {
	text, group := "", ""
	for _, c := range commands {
		if title := cmp.Or(c.group, "Commands"); title != group && !c.hidden {
			text += strings.Repeat("\n", min(len(group), 1)) + title + ":\n"
			group = title
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
		reflect.ValueOf(f).Elem().FieldByName("Category").SetString(title)
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
