package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ralph/internal/seq"
)

// help is what the command at the end of a path says of itself.
func (a *App) help(path []string) string {
	if len(path) == 0 {
		return shortHelp(a.Root)
	}
	path = slices.DeleteFunc(slices.Clone(path), func(word string) bool { return word == allOfIt })
	c, full := a.Root, "ralph"
	for _, name := range path { // it was taken through the same tree
		c = c.Sub[slices.IndexFunc(c.Sub, func(c Command) bool { return c.Name == name })]
		full += " " + name
	}
	usage, title := full+flagsWord(c.Flags), "Flags"
	switch {
	case len(path) == 0:
		usage, title = "ralph [global flags] COMMAND [flags] [arguments]", "Global flags, accepted anywhere"
	case len(c.Sub) > 0 && c.Run != nil:
		usage = full + " [flags]\n       " + full + " COMMAND [flags] [arguments]"
	case len(c.Sub) > 0:
		usage = full + " COMMAND [flags] [arguments]"
	}
	text := full + ": " + c.Short + "\n\nUsage: " + strings.TrimSpace(usage+" "+c.Args) + "\n"
	if c.Long != "" {
		text += "\n" + strings.TrimSpace(c.Long) + "\n"
	}
	if len(c.Sub) > 0 {
		text += "\n" + listCommands(c.Sub)
	}
	if len(c.Flags) > 0 {
		text += "\n" + listFlags(title, c.Flags)
	}
	text += "\n" + c.examples() + "\nExit status: 0 success, " + c.Exits
	if c.Exits != "" {
		text += ", "
	}
	text += "64 bad usage or not a project, 70 a bug.\n"
	if len(c.Sub) > 0 {
		text += `"` + full + ` COMMAND --help" explains a command.` + "\n"
	}
	return text
}

// allOfIt asks the program for all of its commands and flags: ralph help --all.
const allOfIt = "--all"

// beginnings are the commands that the help of the program shows: those of the first days. The others are in ralph help --all.
var beginnings = []string{
	"init", "task", "feature", "run", "inbox", "attach", "review", "undo", "pr", "demo", "stop",
	"status", "watch", "serve", "report", "logs", "cost", "agents", "config", "doctor",
}

// shortHelp fits on a screen: of what each command does, it has the first part.
func shortHelp(root Command) string {
	var rows []helpRow
	for _, c := range root.Sub {
		if short, _, _ := strings.Cut(c.Short, ";"); slices.Contains(beginnings, c.Name) {
			rows = append(rows, helpRow{c.group, c.Name, short})
		}
	}
	return "ralph: " + root.Short + "\n\nUsage: ralph COMMAND [flags] [arguments]\n\n" + listRows("Commands", 0, rows) +
		"\n" + root.examples() + "\n\"ralph COMMAND --help\" explains a command.\n" +
		"\"ralph help " + allOfIt + "\" lists all commands, and the flags that all of them have.\n"
}

func (c Command) examples() string {
	text := "Example:\n"
	for l := range strings.Lines(c.Example + "\n") {
		text += "  " + l
	}
	return text
}

func flagsWord(flags []Flag) string {
	if len(flags) == 0 {
		return ""
	}
	return " [flags]"
}

func listCommands(commands []Command) string {
	var rows []helpRow
	for _, c := range commands {
		if !c.Hidden {
			rows = append(rows, helpRow{c.group, c.Name, c.Short})
		}
	}
	return listRows("Commands", 10, rows)
}

// listFlags says what each flag does. The last group has the flag that every command has.
func listFlags(title string, flags []Flag) string {
	if !slices.ContainsFunc(flags, func(f Flag) bool { return f.Name == helpFlag.Name }) {
		flags = append(slices.Clone(flags), helpFlag)
	}
	return listRows(title, 0, seq.Map(flags, func(f Flag) helpRow {
		names, usage, _ := strings.Cut(f.build().String(), "\t")
		return helpRow{f.group, names, usage}
	}))
}

// helpRow is a command or a flag, and the group under which it is listed; "" is that of the one before.
type helpRow struct{ group, name, text string }

// listRows lists in two columns, below the title of each group.
func listRows(title string, width int, rows []helpRow) string {
	for _, r := range rows {
		width = max(width, len(r.name))
	}
	text, above := "", ""
	for _, r := range rows {
		if title = cmp.Or(r.group, title); title != above {
			text += strings.Repeat("\n", min(len(above), 1)) + title + ":\n"
			above = title
		}
		text += fmt.Sprintf("  %-*s  %s\n", width, r.name, r.text)
	}
	return text
}
