package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"ralph/internal/jsonval"
	"ralph/internal/project"
	"ralph/internal/term"
)

var configCommand = command{
	name: "config", short: "show the configuration",
	example: "ralph config show",
	sub: []command{{
		name: "show", bare: true, short: "print every value and where it came from",
		long: `From weakest to strongest: default, ~/.config/ralph/config.toml, .ralph.toml,
RALPH_SECTION_KEY in the environment (RALPH_RUN_LIMIT sets run.limit).`,
		flags:   []flagSpec{jsonFlag},
		example: "ralph config show", run: action(runConfigShow),
	}},
}

func runConfigShow(_ context.Context, a *app, o plainOptions) error {
	p, err := a.findProject()
	if err != nil {
		return err
	}
	loaded, err := a.loadConfig(p.Config())
	if err != nil {
		return err
	}
	if o.JSON {
		return a.printJSON(loaded.Settings())
	}
	t, paint := &term.Table{Width: a.width, Wrap: true}, a.palette()
	for _, s := range loaded.Settings() {
		value, err := jsonval.Marshal(s.Value)
		if err != nil {
			return fmt.Errorf("show %s: %w", s.Key, err)
		}
		if a.width > 0 {
			s.Origin = shortPath(s.Origin, p.Root, a.getenv("HOME"))
		}
		t.Add(term.Cell{Text: s.Key, Paint: paint.Cyan}, term.Cell{Text: s.Origin, Paint: paint.Dim}, term.Cell{Text: string(value)})
	}
	return written(fmt.Fprint(a.stdout, t))
}

// shortPath is a path as people write it, below the project or the home folder.
func shortPath(path, root, home string) string {
	for _, base := range [][2]string{{root, ""}, {home, "~"}} {
		if rel, err := filepath.Rel(base[0], path); err == nil && filepath.IsAbs(path) && filepath.IsLocal(rel) {
			return filepath.Join(base[1], rel)
		}
	}
	return path
}

// suggestKey is the hint for an unknown key: the same name in another section, or the
// nearest key.
func suggestKey(typed string) string {
	var keys, sections []string
	for _, s := range (project.Loaded{Config: project.Default()}).Settings() {
		keys = append(keys, s.Key)
		sections = append(sections, s.Key[:strings.LastIndex(s.Key, ".")])
	}
	name := typed[strings.LastIndex(typed, ".")+1:]
	near := nearest(typed, append(keys, sections...))
	if at := slices.IndexFunc(keys, func(key string) bool { return strings.HasSuffix(key, "."+name) }); near == "" && at >= 0 {
		near = keys[at]
	}
	if near == "" {
		return ""
	}
	return "did you mean: " + near
}
