package main

import (
	"strings"

	"github.com/urfave/cli/v2"
)

// command is one node of the command tree, in the terms of this program. Every
// help ends with an example and the exit statuses, so neither can be left out.
type command struct {
	name    string
	args    string // as the usage line shows them
	short   string
	long    string
	flags   []cli.Flag
	example string
	exits   string // beyond 0, 64 and 70
	hidden  bool
	run     cli.ActionFunc
	sub     []command
}

// interrupted are the exit statuses of commands that signals end in an orderly way.
const interrupted = "129, 130 and 143 interrupted (SIGHUP, Ctrl-C, SIGTERM)"

func tree(commands ...command) []*cli.Command {
	list := make([]*cli.Command, len(commands))
	for i, c := range commands {
		list[i] = c.build("ralph")
	}
	return list
}

func (c command) build(parent string) *cli.Command {
	full := parent + " " + c.name
	out := &cli.Command{
		Name: c.name, Usage: c.short, ArgsUsage: c.args, Description: c.long, Flags: c.flags,
		Hidden: c.hidden, Action: c.run, OnUsageError: onUsageError, HideHelpCommand: true,
	}
	if len(c.sub) > 0 {
		for _, s := range c.sub {
			out.Subcommands = append(out.Subcommands, s.build(full))
		}
		if out.Action == nil {
			out.Action = func(ctx *cli.Context) error {
				return hint(usagef("%s: which command?", strings.TrimPrefix(full, "ralph ")), "see: %s --help", full)
			}
		}
		out.CustomHelpTemplate = groupHelp(full, c)
		return out
	}
	out.CustomHelpTemplate = leafHelp(full, c)
	return out
}

const appHelp = `ralph: {{.Usage}}

Usage: ralph [global flags] COMMAND [flags] [arguments]

Commands:
{{range .VisibleCommands}}  {{printf "%-12s" .Name}}{{.Usage}}
{{end}}
Global flags, allowed anywhere:
{{range .VisibleFlags}}  {{.}}
{{end}}
Example:
  ralph init
  ralph task add "Write the parser"
  ralph status

Exit status: 0 success, 1 refused, 3 not found, 64 bad usage or not a project, 70 a bug.
"ralph COMMAND --help" tells the rest.
`

func groupHelp(full string, c command) string {
	text := full + ": " + c.short + "\n\nUsage: " + full + " COMMAND [flags] [arguments]\n"
	if c.run != nil {
		text = full + ": " + c.short + "\n\nUsage: " + full + " [flags]\n       " + full + " COMMAND [flags] [arguments]\n"
	}
	if c.long != "" {
		text += "\n" + strings.TrimSpace(c.long) + "\n"
	}
	text += `
Commands:
{{range .VisibleCommands}}  {{printf "%-12s" .Name}}{{.Usage}}
{{end}}`
	if len(c.flags) > 0 {
		text += `
Flags:
{{range .VisibleFlags}}  {{.}}
{{end}}`
	}
	return text + "\n" + ending(c) + `"` + full + ` COMMAND --help" tells the rest.
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
		text += `
Flags:
{{range .VisibleFlags}}  {{.}}
{{end}}`
	}
	return text + "\n" + ending(c)
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

// jsonFlag is the same on every command that prints a result.
func jsonFlag() cli.Flag {
	return &cli.BoolFlag{DisableDefaultText: true, Name: "json", Usage: "print the result as JSON"}
}
