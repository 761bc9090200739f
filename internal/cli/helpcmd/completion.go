package helpcmd

import (
	"context"
	"fmt"

	"ralph/internal/cli"
)

// Completion is the command "ralph completion".
var Completion = cli.Command{
	Name: "completion", Args: "SHELL", Short: "print a completion script for bash, zsh or fish",
	Long: `bash: ralph completion bash > /etc/bash_completion.d/ralph
zsh:  ralph completion zsh > "${fpath[1]}/_ralph"
fish: ralph completion fish > ~/.config/fish/completions/ralph.fish`,
	Example: "source <(ralph completion bash)",
	Run: cli.Action(func(_ context.Context, a *cli.App, o cli.PlainOptions) error {
		script, ok := map[string]string{"bash": bashScript, "zsh": zshScript, "fish": fishScript}[o.Args[0]]
		if !ok {
			return cli.Usagef("no completion for %q: it is bash, zsh or fish", o.Args[0])
		}
		return cli.Written(fmt.Fprint(a.Stdout, script))
	}),
}

// The scripts only pass the words on: what fits is decided in one place, here.
const (
	bashScript = `_ralph() {
  local IFS=$'\n'
  COMPREPLY=($(ralph __complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f1))
}
complete -o default -F _ralph ralph
`
	// zsh calls the file itself the first time, and the function in it from then on.
	zshScript = `#compdef ralph
_ralph() {
  local -a found
  local word text
  while IFS=$'\t' read -r word text; do
    found+=("${word//:/\\:}${text:+:$text}")
  done < <(ralph __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#found} )); then _describe -V ralph found; else _files; fi
}
if [[ "${funcstack[1]}" == _ralph ]]; then _ralph; else compdef _ralph ralph; fi
`
	fishScript = `complete -c ralph -f -k -a '(ralph __complete -- (commandline -opc)[2..] (commandline -ct) 2>/dev/null)'
`
)

// Complete is the command "ralph __complete".
var Complete = cli.Command{
	Name: "__complete", Hidden: true, Short: "print what may follow, for the completion scripts",
	Example: "ralph __complete -- task sh", Run: cli.Action(cli.RunComplete),
}
