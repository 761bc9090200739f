package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// dispatch runs the command that argv names, in the order that permute gave it. The
// library could do so, but from there its help is reached, which is a template; and
// the linker keeps every exported method of a program that can fill templates, which
// are two megabytes.
func (a *app) dispatch(ctx context.Context, argv []string) error {
	c := &cli.Context{Context: ctx}
	at := &cli.Command{Name: a.cli.Name, Flags: a.cli.Flags, Subcommands: a.cli.Commands, Before: a.checkGlobals}
	var path []string
	for {
		set, err := parseFlags(at, argv[1:])
		if err != nil {
			return badValue(at.Flags, err)
		}
		c = cli.NewContext(a.cli, set, c)
		c.Command = at
		if c.Bool("help") {
			return a.printHelp(path)
		}
		if at.Before != nil {
			if err := at.Before(c); err != nil {
				return err
			}
		}
		next := commandNamed(at.Subcommands, set.Arg(0))
		if next == nil && at.Action == nil {
			return a.printHelp(path)
		}
		if next == nil {
			return at.Action(c)
		}
		at, argv, path = next, set.Args(), append(path, next.Name)
		at.HelpName = strings.Join(append([]string{a.cli.Name}, path...), " ")
	}
}

func (a *app) printHelp(path []string) error {
	_, err := io.WriteString(a.stdout, a.help(path))
	return err
}

func commandNamed(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

// parseFlags reads the flags of one command, each by its first name, as permute
// writes them.
func parseFlags(c *cli.Command, args []string) (*flag.FlagSet, error) {
	set := flag.NewFlagSet(c.Name, flag.ContinueOnError)
	set.SetOutput(io.Discard)
	for _, f := range withHelp(c.Flags) {
		if err := f.Apply(set); err != nil {
			return nil, fmt.Errorf("flags of %s: %w", c.Name, err)
		}
	}
	if err := set.Parse(args); err != nil {
		return nil, err
	}
	for _, f := range c.Flags {
		if list, ok := f.(*cli.StringSliceFlag); ok {
			if err := keepWhole(set, list.Name, args); err != nil {
				return nil, err
			}
		}
	}
	return set, nil
}

// keepWhole gives a list its values as they were written. The library takes them
// apart at commas, and a command may well have one.
func keepWhole(set *flag.FlagSet, name string, args []string) error {
	var values []string
	for _, arg := range args[:len(args)-set.NArg()] {
		if value, ok := strings.CutPrefix(arg, "--"+name+"="); ok {
			values = append(values, strings.TrimSpace(value))
		}
	}
	if values == nil {
		return nil
	}
	return set.Set(name, cli.NewStringSlice(values...).Serialize())
}

// withHelp adds the flag that every command has.
func withHelp(flags []cli.Flag) []cli.Flag {
	if named(flags, "help") != nil {
		return flags
	}
	return append(append([]cli.Flag{}, flags...), helpFlag())
}

func helpFlag() cli.Flag {
	return &cli.BoolFlag{DisableDefaultText: true, Name: "help", Aliases: []string{"h"}, Usage: "show help"}
}
