package reportcmd

import (
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/term"
)

// Audit is the command "ralph audit".
var Audit = cli.Command{
	Name: "audit", Short: "show what people changed, and who answered what",
	Flags:   []cli.Flag{{Name: "limit", Usage: "the newest `N`", Value: 50}, cli.JSONFlag},
	Example: "ralph audit --json", Run: cli.OnGraph(runAudit),
}

type auditOptions struct {
	JSON  bool
	Limit int
}

func (o *auditOptions) Parse(cli.CommandLine) error { return cli.CheckLimit(o.Limit) }

// AuditAsJSON is an entry of the audit log.
func AuditAsJSON(e dag.AuditEntry) jsonval.Object {
	return jsonval.Object{
		"at", e.At, "who", e.Actor.Who, "via", e.Actor.Via, "action", e.Actor.Action, "task", cli.Null(e.Task), "request", cli.Null(e.Request), "text", e.Text,
	}
}

func runAudit(a *cli.App, _ *cli.Session, g *dag.Graph, o auditOptions) error {
	list, err := g.History.Audits(o.Limit)
	if err != nil {
		return err
	}
	p := a.Palette()
	return cli.PrintList(a, list, o.JSON, AuditAsJSON, "nobody changed anything yet", nil, func(e dag.AuditEntry) []term.Cell {
		return []term.Cell{
			{Text: cli.Stamp(e.At), Paint: p.Dim},
			{Text: e.Actor.Who},
			{Text: e.Actor.Action},
			{Text: strings.Join(human.Parts(e.Task, e.Request), " "), Paint: p.Cyan},
			{Text: e.Text},
		}
	})
}
