package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"ralph/internal/seq"
)

// help is what the command at the end of a path says of itself.
func (a *app) help(path []string) string {
	if len(path) == 0 {
		return shortHelp(a.root)
	}
	path = slices.DeleteFunc(slices.Clone(path), func(word string) bool { return word == allOfIt })
	c, full := a.root, "ralph"
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
	text += "\n" + c.examples() + "\nExit status: 0 success, " + c.exits
	if c.exits != "" {
		text += ", "
	}
	text += "64 bad usage or not a project, 70 a bug.\n"
	if len(c.sub) > 0 {
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
func shortHelp(root command) string {
	var rows []helpRow
	for _, c := range root.sub {
		if short, _, _ := strings.Cut(c.short, ";"); slices.Contains(beginnings, c.name) {
			rows = append(rows, helpRow{c.group, c.name, short})
		}
	}
	return "ralph: " + root.short + "\n\nUsage: ralph COMMAND [flags] [arguments]\n\n" + listRows("Commands", 0, rows) +
		"\n" + root.examples() + "\n\"ralph COMMAND --help\" explains a command.\n" +
		"\"ralph help " + allOfIt + "\" lists all commands, and the flags that all of them have.\n"
}

func (c command) examples() string {
	text := "Example:\n"
	for l := range strings.Lines(c.example + "\n") {
		text += "  " + l
	}
	return text
}

func flagsWord(flags []flagSpec) string {
	if len(flags) == 0 {
		return ""
	}
	return " [flags]"
}

func listCommands(commands []command) string {
	var rows []helpRow
	for _, c := range commands {
		if !c.hidden {
			rows = append(rows, helpRow{c.group, c.name, c.short})
		}
	}
	return listRows("Commands", 10, rows)
}

// listFlags says what each flag does. The last group has the flag that every command has.
func listFlags(title string, flags []flagSpec) string {
	if !slices.ContainsFunc(flags, func(f flagSpec) bool { return f.name == helpFlag.name }) {
		flags = append(slices.Clone(flags), helpFlag)
	}
	return listRows(title, 0, seq.Map(flags, func(f flagSpec) helpRow {
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
