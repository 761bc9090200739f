package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"ralph/internal/cli"
	"ralph/internal/project"
	"ralph/internal/testing/check"
)

func TestPermute(t *testing.T) {
	t.Parallel()
	root := newApp(cli.System{}).Root
	for name, tc := range map[string]struct {
		in   string
		want string // empty means a usage error
	}{
		"flags after arguments come first":      {"task add title --priority 3", "task add --priority=3 -- title"},
		"a negative value is a value":           {"task add t --priority -5", "task add --priority=-5 -- t"},
		"an equals sign is taken apart":         {"task add --priority=-5 t", "task add --priority=-5 -- t"},
		"global flags go to the front":          {"task list --project x -q", "--project=x --quiet=true task list"},
		"short names become long":               {"task add t -d text", "task add --description=text -- t"},
		"a flag between command words":          {"task -v list", "--verbose=true task list"},
		"a double dash ends flags":              {"task add -- --priority", "task add -- --priority"},
		"a single dash is an argument":          {"task import -", "task import -- -"},
		"help may be of all":                    {"help --all", "--all --help"},
		"all of the help of a command":          {"task add --help --all", ""},
		"help is a flag anywhere":               {"task add t --help", "task add --help"},
		"help is a command":                     {"help task add", "task add --help"},
		"a value may look like a flag":          {"task add t -d --help", "task add --description=--help -- t"},
		"repeated flags stay in order":          {"task add --gate a t --gate b", "task add --gate=a --gate=b -- t"},
		"a switch may be given a value":         {"task list --all=false", "task list --all=false"},
		"letters may stand together":            {"task list -qv", "--quiet=true --verbose=true task list"},
		"the last letter may take a value":      {"task add t -qd text", "--quiet=true task add --description=text -- t"},
		"help may be among the letters":         {"task add -vh", "task add --help"},
		"a long name with one dash stays one":   {"task add t -priority 3", "task add --priority=3 -- t"},
		"help is a command of each group":       {"task help", "task --help"},
		"help is followed by what it is about":  {"task help deps add", "task deps add --help"},
		"help comes after part of the way":      {"task deps help add", "task deps add --help"},
		"a group needs a command":               {"-q task deps", "task deps --help"},
		"help may be a title":                   {"task add help", "task add -- help"},
		"a letter that is no flag":              {"task list -qx", ""},
		"a value in the middle of letters":      {"task add t -dq text", ""},
		"letters need one dash":                 {"task list --qv", ""},
		"letters and a value that is missing":   {"task add t -qd", ""},
		"letters and an equals sign":            {"task list -qv=false", ""},
		"an unknown flag is an error":           {"task add t --prio 3", ""},
		"an unknown command is an error":        {"tasks", ""},
		"an unknown subcommand is an error":     {"task ad", ""},
		"a flag of another command is an error": {"task list --gate x", ""},
		"a missing value is an error":           {"task add t --priority", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, help, err := cli.Permute(root, append([]string{"ralph"}, strings.Fields(tc.in)...))
			if tc.want == "" {
				if cli.ExitStatus(err) != cli.ExitUsage {
					t.Fatalf("got %v, %v, want a usage error", got, err)
				}
				return
			}
			check.OK(t, err)
			if help {
				got = append(got, "--help")
			}
			check.Equal(t, "result", "ralph "+tc.want, strings.Join(got, " "))
		})
	}
}

func TestFlagsAreReadAsTheyWereWritten(t *testing.T) {
	t.Parallel()
	type leafOptions struct {
		Args, Gate  []string
		Text, Other *string
		MaxTokens   int64
		JSON        bool
		OlderThan   project.Duration
		NoFlag      string
	}
	var got leafOptions
	a := cli.New(cli.System{}, cli.Command{Flags: cli.GlobalFlags, Sub: []cli.Command{{Name: "group", Sub: []cli.Command{{
		Name: "leaf", Args: "[WORD...]", Run: cli.Action(func(_ context.Context, _ *cli.App, o leafOptions) error { got = o; return nil }),
		Flags: []cli.Flag{{Name: "gate", Value: []string{}}, {Name: "text", Short: "t"}, {Name: "other"}, {Name: "max-tokens", Value: int64(7)}, {Name: "older-than"}, cli.JSONFlag},
	}}}}})
	_, err := a.Do(t.Context(), strings.Split("ralph|group|leaf|--gate|a, b|x|-t|1,2|--json|--gate=c|--older-than|2d|--project|p|--|--gate=no", "|"))
	check.OK(t, err)
	text := "1,2"
	want := leafOptions{
		Args: []string{"x", "--gate=no"}, Gate: []string{"a, b", "c"}, Text: &text, MaxTokens: 7, JSON: true, OlderThan: project.Duration(48 * time.Hour),
	}
	check.Equal(t, "options", want, got)
	check.Equal(t, "project", "p", a.Dir)
}
