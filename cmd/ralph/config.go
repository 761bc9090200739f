package main

import (
	"encoding/json"
	"fmt"

	"github.com/urfave/cli/v2"

	"ralph/internal/project"
	"ralph/internal/term"
)

func (a *app) configCommand() command {
	return command{
		name: "config", short: "look at the configuration",
		example: "ralph config show",
		sub: []command{{
			name: "show", short: "print every value and where it came from",
			long: `From weakest to strongest: default, ~/.config/ralph/config.toml, .ralph.toml,
RALPH_SECTION_KEY in the environment (RALPH_RUN_LIMIT sets run.limit).`,
			flags:   []cli.Flag{jsonFlag()},
			example: "ralph config show",
			run:     a.runConfigShow,
		}},
	}
}

type settingJSON struct {
	Key    string `json:"key"`
	Value  any    `json:"value"`
	Origin string `json:"origin"`
}

func (a *app) runConfigShow(c *cli.Context) error {
	if err := none(c); err != nil {
		return err
	}
	p, err := a.findProject(c)
	if err != nil {
		return err
	}
	loaded, err := project.Load(a.userConfig(), p.Config(), a.getenv)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		list := []settingJSON{}
		for _, s := range loaded.Settings() {
			list = append(list, settingJSON(s))
		}
		return a.printJSON(list)
	}
	pal := a.palette(c)
	t := &term.Table{Width: a.width}
	for _, s := range loaded.Settings() {
		value, err := json.Marshal(s.Value)
		if err != nil {
			return fmt.Errorf("show %s: %w", s.Key, err)
		}
		t.Add(term.Cell{Text: s.Key, Paint: pal.Cyan}, term.Cell{Text: string(value)}, term.Cell{Text: s.Origin, Paint: pal.Dim})
	}
	_, err = t.WriteTo(a.stdout)
	return err
}
