// Package configcmd has the commands that make a project and show its configuration and rules.
package configcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"ralph/dag"
	"ralph/internal/atomicfile"
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
RALPH_KEY in the environment (RALPH_MAX_COST sets max_cost). docs/config.md describes each key.`,
		Flags:   []cli.Flag{cli.JSONFlag},
		Example: "ralph config show", Run: cli.Action(runConfigShow),
	}, {
		Name: "set", Args: "KEY VALUE", Short: "set a key in .ralph.toml",
		Long:    `All else in the file stays as it is, comments too. A list is written like '["a", "b"]'; one text is a list of one.`,
		Example: "ralph config set max_cost 20\nralph config set gates '[\"go vet ./...\", \"go test ./...\"]'", Exits: "1 refused", Run: cli.Action(runConfigSet),
	}, {
		Name: "migrate", Short: "give every key in .ralph.toml, and in your own configuration, its name of today",
		Long: `Comments stay, but for those that an earlier ralph init wrote. It is refused if any key would get another value.
Running it again changes nothing.`,
		Flags:   []cli.Flag{cli.Bool("dry-run", "print what would be renamed, and change nothing")},
		Example: "ralph config migrate --dry-run", Exits: "1 refused", Run: cli.Action(runConfigMigrate),
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

func runConfigSet(_ context.Context, a *cli.App, o cli.PlainOptions) error {
	p, err := a.FindProject()
	if err != nil {
		return err
	}
	key, value := o.Args[0], o.Args[1]
	changed, err := rewrite(a, p, p.Config(), func(data []byte) ([]byte, error) { return project.Set(p.Config(), data, key, value) })
	switch unknown := (*project.KeyError)(nil); {
	case errors.As(err, &unknown) && project.Suggest(key) != "":
		return cli.Hint(cli.Usagef("%v", err), "did you mean: %s", project.Suggest(key))
	case errors.As(err, &unknown):
		return cli.Hint(cli.Usagef("%v", err), "list the keys with: ralph config show")
	case errors.Is(err, project.ErrKey):
		return cli.Hint(cli.Usagef("%v", err), "docs/config.md describes each key; names of earlier versions are replaced by: ralph config migrate")
	case err == nil && !changed:
		a.Note("%s has that value already; nothing was changed", term.Line(key))
	case err == nil:
		a.Note("%s is now %s in %s", term.Line(key), term.Line(value), project.ConfigName)
	}
	return err
}

// rewrite changes a configuration, and has the change count as a person's.
func rewrite(a *cli.App, p project.Project, path string, change func([]byte) ([]byte, error)) (changed bool, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("%w: %w", project.ErrConfig, err)
	}
	text, err := change(data)
	if err != nil || bytes.Equal(text, data) {
		return false, err
	}
	if at, err := filepath.EvalSymlinks(path); err == nil {
		path = at // a link stays one
	}
	err = cli.HistoryOf(a, p).ByPerson(func() error { return atomicfile.Replace(path, text) })
	if err != nil {
		return false, fmt.Errorf("%w: %w", dag.ErrRefused, errors.Join(err, atomicfile.Replace(path, data)))
	}
	return true, nil
}

func runConfigMigrate(_ context.Context, a *cli.App, o cli.PlainOptions) error {
	p, err := a.FindProject()
	if err != nil {
		return err
	}
	done := 0
	for _, path := range []string{a.UserConfig(), p.Config()} {
		if _, err := os.Stat(path); err != nil {
			continue
		}
		var moved []project.Moved
		_, err := rewrite(a, p, path, func(data []byte) (text []byte, err error) {
			if text, moved, err = project.Migrate(path, data); o.DryRun {
				return data, err
			}
			return text, err
		})
		if errors.Is(err, project.ErrConfig) && !errors.As(err, new(project.Problems)) {
			return fmt.Errorf("%w: %w", dag.ErrRefused, err)
		}
		if err != nil {
			return err
		}
		shown := term.Line(shortPath(path, p.Root, a.Getenv("HOME")))
		for _, m := range moved {
			a.Note("%s: %s is %s now", shown, m.Old, m.Is)
		}
		done += len(moved)
	}
	switch {
	case done == 0:
		a.Note("every key has its name of today; nothing was changed")
	case o.DryRun:
		a.Note("nothing was changed; to rewrite the files: ralph config migrate")
	}
	return nil
}

// noteOldNames says in which files keys have names of earlier versions.
func noteOldNames(a *cli.App, config project.Loaded) {
	for _, old := range config.OldNames() {
		a.Note("warning: %s:%d: %s is %s now; to rename such keys: ralph config migrate", term.Line(old.File), old.Line, old.Old, old.Is)
	}
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
	noteOldNames(a, loaded)
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
