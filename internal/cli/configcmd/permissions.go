package configcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/permission"
	"ralph/internal/render/transcript"
	"ralph/internal/term"
	"ralph/internal/toolcall"
)

// Permissions is the command "ralph permissions".
var Permissions = cli.Command{
	Name: "permissions", Short: "show what agents were allowed, and try rules",
	Long: `[permissions] in .ralph.toml has rules for what agents do, as far as they ask; .ralph/permissions.toml has answers
that are remembered. A rule is a guard rail, not a sandbox.`,
	Example: "ralph permissions log\nralph permissions check execute \"git push\"",
	Sub: []cli.Command{
		{
			Name: "log", Short: "list what agents asked for and what was decided, the newest last",
			Flags: []cli.Flag{
				cli.Bool("denied", "only what was denied"),
				{Name: "run", Usage: "only those of `RUN`"},
				{Name: "limit", Usage: "the newest `N`; 0 means all", Value: 50},
				cli.JSONFlag,
			},
			Example: "ralph permissions log --denied\nralph permissions log --json", Exits: "3 not found", Run: cli.OnGraph(runPermissionsLog),
		},
		{
			Name: "check", Args: "KIND TEXT", Short: "say which rule decides about a call",
			Long: `KIND is that of a rule: execute, edit, write, read, delete, fetch, ... TEXT is the command, the path below the
project, or the title. Nothing is run and nobody is asked.`,
			Flags:   []cli.Flag{cli.JSONFlag},
			Example: "ralph permissions check execute \"make && git push\"\nralph permissions check write .env",
			Exits:   "that is allowed, 1 denied, 2 a person would be asked", Run: cli.Action(runPermissionsCheck),
		},
	},
}

type permissionsLogOptions struct {
	Denied bool
	Run    string
	Limit  int
	JSON   bool
}

func (o *permissionsLogOptions) Parse(cli.CommandLine) error {
	if o.Limit < 0 {
		return cli.Usagef("--limit cannot be negative")
	}
	return nil
}

func runPermissionsLog(a *cli.App, s *cli.Session, g *dag.Graph, o permissionsLogOptions) error {
	runs, err := g.History.Runs(0)
	if o.Run != "" {
		var run dag.Run
		run, err = g.History.ResolveRun(o.Run)
		runs = []dag.Run{run}
	}
	if err != nil {
		return err
	}
	var list []event.Event
	for _, run := range runs { // the newest first
		var own []event.Event
		err := transcript.ReadCalls(filepath.Join(s.Project.Runs(), run.ID, "events.jsonl"), func(e event.Event) {
			if e.Call != nil && (!o.Denied || !e.Call.Allowed) {
				own = append(own, e)
			}
		})
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // ralph gc removes old runs
			return fmt.Errorf("read the events of %s: %w", run.ID, err)
		}
		if list = append(own, list...); o.Limit > 0 && len(list) >= o.Limit {
			list = list[len(list)-o.Limit:]
			break
		}
	}
	p := a.Palette()
	none := "no agent asked for anything that rules or hooks decide about"
	return cli.PrintList(a, list, o.JSON, CallAsJSON, none, nil, func(e event.Event) []term.Cell {
		answer, paint := "allowed", p.Green
		if !e.Call.Allowed {
			answer, paint = "denied", p.Red
		}
		return []term.Cell{
			{Text: cli.Stamp(e.At), Paint: p.Dim},
			{Text: e.Task, Paint: p.Cyan},
			{Text: e.Agent},
			{Text: answer, Paint: paint},
			{Text: term.Line(e.Call.Rule) + " (" + term.Line(e.Call.By) + ")", Paint: p.Dim},
			{Text: e.Call.Kind + ": " + term.Line(e.Call.Text)},
		}
	})
}

// CallAsJSON is a decision about a tool call.
func CallAsJSON(e event.Event) jsonval.Object {
	c := e.Call
	return jsonval.Object{
		"at", e.At, "run", e.Run, "task", cli.Null(e.Task), "attempt", cli.Null(e.Attempt), "agent", cli.Null(e.Agent), "kind", c.Kind, "text", c.Text,
		"decision", decisionWord(c.Allowed), "rule", c.Rule, "who", c.By, "reason", cli.Null(e.Reason),
	}
}

func decisionWord(allowed bool) string {
	if allowed {
		return string(permission.Allow)
	}
	return string(permission.Deny)
}

// CheckedAsJSON is what rules say about a call.
func CheckedAsJSON(d permission.Decision) jsonval.Object {
	return jsonval.Object{"decision", string(d.Answer), "rule", d.Rule, "reason", cli.Null(d.Reason)}
}

type permissionsCheckOptions struct {
	Args []string
	JSON bool
}

func (o *permissionsCheckOptions) Parse(cli.CommandLine) error {
	if !slices.Contains(permission.Kinds(), o.Args[0]) {
		return cli.Usagef("KIND is %s, not %q", human.Series(permission.Kinds(), "or"), o.Args[0])
	}
	return nil
}

func runPermissionsCheck(_ context.Context, a *cli.App, o permissionsCheckOptions) error {
	p, err := a.FindProject()
	if err != nil {
		return err
	}
	config, err := a.LoadConfig(p.Config())
	if err != nil {
		return err
	}
	book, err := wiring.NewBook(a, p, config)
	if err != nil {
		return err
	}
	wiring.NoteStray(a, book)
	call := toolcall.Call{Kind: o.Args[0], Text: o.Args[1]}
	if toolcall.IsCommand(call.Kind) {
		call.Command = call.Text
	} else if toolcall.OfPaths(call.Kind) {
		call.Paths = []string{filepath.ToSlash(call.Text)}
	}
	d := book.Decide(call)
	if o.JSON {
		err = a.PrintJSON(CheckedAsJSON(d))
	} else {
		_, err = fmt.Fprintf(a.Stdout, "%s: %s\n", d.Answer, term.Line(strings.Join(human.Parts(d.Rule, d.Reason), "; ")))
	}
	if err = cli.Written(0, err); err == nil && d.Answer != permission.Allow {
		err = cli.NotAllowed{Answer: d.Answer}
	}
	return err
}
