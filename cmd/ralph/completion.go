package main

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"ralph/dag"
	"ralph/internal/project"
	"ralph/internal/term"
)

func (a *app) completionCommand() command {
	return command{
		name: "completion", args: "bash|zsh|fish", short: "print a completion script for your shell",
		long: `bash: ralph completion bash > /etc/bash_completion.d/ralph
zsh:  ralph completion zsh > "${fpath[1]}/_ralph"
fish: ralph completion fish > ~/.config/fish/completions/ralph.fish`,
		example: "source <(ralph completion bash)",
		run: func(c *cli.Context) error {
			shell, err := one(c, "shell")
			if err != nil {
				return err
			}
			script, ok := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[shell]
			if !ok {
				return usagef("no completion for %q: it is bash, zsh or fish", shell)
			}
			_, err = fmt.Fprint(a.stdout, script)
			return err
		},
	}
}

// The scripts only pass the words on: what fits is decided in one place, here.
const (
	bashScript = `_ralph() {
  local IFS=$'\n'
  COMPREPLY=($(ralph __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _ralph ralph
`
	zshScript = `#compdef ralph
_ralph() {
  local -a found
  local line
  while IFS=$'\t' read -r line text; do
    found+=("${line//:/\\:}:${text}")
  done < <(ralph __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#found} )); then _describe ralph found; else _files; fi
}
compdef _ralph ralph
`
	fishScript = `complete -c ralph -f -a '(ralph __complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`
)

func (a *app) completeCommand() command {
	return command{
		name: "__complete", hidden: true, short: "print what may follow, for the completion scripts",
		example: "ralph __complete -- task sh", run: a.runComplete,
	}
}

// runComplete prints a candidate a line, with a tab and a description behind it.
func (a *app) runComplete(c *cli.Context) error {
	words := c.Args().Slice()
	typed := ""
	if len(words) > 0 {
		typed, words = words[len(words)-1], words[:len(words)-1]
	}
	p := &permuter{app: a.cli, path: []string{"ralph"}}
	if !p.follows(words) {
		return nil // half a line is no error while it is being typed
	}
	print := func(word, text string) {
		if strings.HasPrefix(word, typed) {
			fmt.Fprintf(a.stdout, "%s\t%s\n", word, term.Line(text))
		}
	}
	if strings.HasPrefix(typed, "-") {
		a.completeFlags(p, print)
		return nil
	}
	if p.at == nil || len(p.at.Subcommands) > 0 {
		for _, sub := range p.commands() {
			if !sub.Hidden {
				print(sub.Name, sub.Usage)
			}
		}
		return nil
	}
	return a.completeArgument(c, p.at, print)
}

func (a *app) completeFlags(p *permuter, print func(word, text string)) {
	flags := a.cli.Flags
	if p.at != nil {
		flags = append(append([]cli.Flag{}, p.at.Flags...), flags...)
	}
	for _, f := range flags {
		if d, ok := f.(cli.DocGenerationFlag); ok {
			print("--"+f.Names()[0], strings.ReplaceAll(d.GetUsage(), "`", ""))
		}
	}
}

// completeArgument offers the IDs and names that the command's arguments stand for.
func (a *app) completeArgument(c *cli.Context, at *cli.Command, print func(word, text string)) error {
	switch {
	case strings.Contains(at.ArgsUsage, "|") && !strings.Contains(at.ArgsUsage, "FILE"):
		for _, word := range strings.Split(strings.Trim(at.ArgsUsage, "[]"), "|") {
			print(word, "")
		}
		return nil
	case !a.inProject():
		return nil
	}
	switch {
	case strings.Contains(at.ArgsUsage, "ID"), strings.Contains(at.ArgsUsage, "BLOCKER"):
		return a.view(c, func(_ *session, g *dag.Graph) error {
			tasks, err := g.List(dag.Filter{})
			for _, t := range tasks {
				print(t.ID, string(t.Status)+": "+t.Title)
			}
			return err
		})
	case at.ArgsUsage == "NAME":
		return a.view(c, func(_ *session, g *dag.Graph) error {
			features, err := g.Features()
			for _, f := range features {
				print(f.Name, string(f.Status))
			}
			return err
		})
	}
	return nil
}

// inProject says whether there is anything to offer.
func (a *app) inProject() bool {
	dir, err := a.getwd()
	if err != nil {
		return false
	}
	_, err = project.Find(dir)
	return err == nil
}

// follows says whether the words make sense so far.
func (p *permuter) follows(words []string) bool { return p.walk(words) == nil }
