// Package configcmd has the commands that make a project and show its configuration and rules.
package configcmd

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/jsonval"
	"ralph/internal/project"
	"ralph/internal/sandbox"
	"ralph/internal/term"
)

// Config is the command "ralph config".
var Config = cli.Command{
	Name: "config", Short: "show the configuration",
	Example: "ralph config show",
	Sub: []cli.Command{{
		Name: "show", Bare: true, Short: "print every value and where it came from",
		Long: `From weakest to strongest: default, ~/.config/ralph/config.toml, .ralph.toml,
RALPH_SECTION_KEY in the environment (RALPH_RUN_LIMIT sets run.limit).`,
		Flags:   []cli.Flag{cli.JSONFlag},
		Example: "ralph config show", Run: cli.Action(runConfigShow),
	}, {
		Name: "trust", Short: "confirm .ralph.toml, prompts, templates, plans, specifications and .ralph/permissions.toml as they are",
		Long: `Nothing in .ralph.toml, .ralph/prompts, .ralph/templates and plan files (tasks.jsonl) is used if it was changed while an agent worked
that could write it, until a person has looked at it and confirms it; nor is a feature accepted by such a spec.md. What you change
when no such agent is at work needs no confirmation. A .ralph/permissions.toml that
is not the link that ralph made counts when it is confirmed; its rules are printed. What else an agent changed although it must
not, such as git's hooks, is listed, and no run warns of it any more.`,
		Example: "git diff .ralph.toml; ralph config trust", Exits: "1 refused", Run: cli.Action(runConfigTrust),
	}},
}

func runConfigTrust(ctx context.Context, a *cli.App, _ cli.PlainOptions) error {
	var adopted []string
	err := a.Record(ctx, func(s *cli.Session, _ *dag.Graph) error {
		found, _ := cli.TrustOf(a, s.Project).Findings(sandbox.OlderFindings(s.Project)) // what cannot be read is begun anew
		err := cli.HistoryOf(a, s.Project).Confirm()
		if err == nil {
			adopted, err = wiring.BookOf(a, s.Project).Adopt()
		}
		if err != nil {
			return fmt.Errorf("%w: %w", dag.ErrRefused, err)
		}
		for _, f := range found {
			adopted = append(adopted, f.String()+"; it counts as it is now")
		}
		return nil
	})
	for _, text := range adopted {
		a.Note("%s", term.Line(text))
	}
	if err == nil {
		a.Note("%s, .ralph/prompts, .ralph/templates, plan files, specifications and what is remembered of answers count as they are now", project.ConfigName)
	}
	return err
}

func runConfigShow(_ context.Context, a *cli.App, o cli.PlainOptions) error {
	p, err := a.FindProject()
	if err != nil {
		return err
	}
	loaded, err := a.LoadConfig(p.Config())
	if err != nil {
		return err
	}
	if o.JSON {
		return a.PrintJSON(loaded.Settings())
	}
	var rows []settingRow
	for _, s := range loaded.Settings() {
		value, err := jsonval.Marshal(s.Value)
		if err != nil {
			return fmt.Errorf("show %s: %w", s.Key, err)
		}
		row := settingRow{term.Line(s.Key), term.Line(string(value)), term.Line(s.Origin)}
		if a.Width > 0 {
			row.origin = shortPath(row.origin, p.Root, a.Getenv("HOME"))
		}
		rows = append(rows, row)
	}
	return cli.Written(io.WriteString(a.Stdout, settingsText(rows, a.Palette(), a.Width)))
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

type settingRow struct{ key, value, origin string }

// usualValue is how wide a value is as a rule, and narrowest how wide it may be
// everywhere.
const (
	usualValue = 24
	narrowest  = 12
)

// settingsText aligns settings. On a terminal a long value is wrapped; elsewhere a setting is
// one line that does not depend on the values of others.
func settingsText(rows []settingRow, p term.Palette, width int) string {
	keys, origins, values := 0, 0, 0
	for _, r := range rows {
		keys, origins, values = max(keys, term.Width(r.key)), max(origins, term.Width(r.origin)), max(values, term.Width(r.value))
	}
	wide := usualValue
	if width > 0 {
		wide = min(max(width-keys-origins-4, narrowest), values)
	}
	var b strings.Builder
	for _, r := range rows {
		lines := []string{r.value}
		if width > 0 {
			lines = pieces(r.value, wide)
		}
		for i, line := range lines {
			if i > 0 {
				fmt.Fprintf(&b, "%s  %s\n", strings.Repeat(" ", keys), strings.TrimRight(line, " "))
				continue
			}
			pad := func(s string, to int) string { return strings.Repeat(" ", max(to-term.Width(s), 0)) }
			fmt.Fprintf(&b, "%s%s  %s%s  %s\n", p.Cyan(r.key), pad(r.key, keys), line, pad(line, wide), p.Dim(r.origin))
		}
	}
	return b.String()
}

// pieces breaks a value into lines that fit, after a comma or a blank if there is one.
func pieces(text string, width int) []string {
	var lines []string
	for term.Width(text) > width {
		end, used := 0, 0
		for i, r := range text {
			if used += term.Width(string(r)); used > width && i > 0 {
				break
			}
			end = i + utf8.RuneLen(r)
		}
		if at := strings.LastIndexAny(text[:end], ", "); at > 0 {
			end = at + 1
		}
		lines, text = append(lines, text[:end]), text[end:]
	}
	return append(lines, text)
}
