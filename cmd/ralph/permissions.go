package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/jsonval"
	"ralph/internal/permission"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/render/transcript"
	"ralph/internal/term"
	"ralph/internal/toolcall"
	"ralph/loop/attempt"
)

var permissionsCommand = command{
	name: "permissions", short: "show what agents were allowed, and try rules",
	long: `[permissions] in .ralph.toml has rules for what agents do, as far as they ask; .ralph/permissions.toml has answers
that are remembered. A rule is a guard rail, not a sandbox.`,
	example: "ralph permissions log\nralph permissions check execute \"git push\"",
	sub: []command{
		{
			name: "log", short: "list what agents asked for and what was decided, the newest last",
			flags: []flagSpec{
				boolFlag("denied", "only what was denied"),
				{name: "run", usage: "only those of `RUN`"},
				{name: "limit", usage: "the newest `N`; 0 means all", value: 50},
				jsonFlag,
			},
			example: "ralph permissions log --denied\nralph permissions log --json", exits: "3 not found", run: onGraph(runPermissionsLog),
		},
		{
			name: "check", args: "KIND TEXT", short: "say which rule decides about a call",
			long: `KIND is that of a rule: execute, edit, write, read, delete, fetch, ... TEXT is the command, the path below the
project, or the title. Nothing is run and nobody is asked.`,
			flags:   []flagSpec{jsonFlag},
			example: "ralph permissions check execute \"make && git push\"\nralph permissions check write .env",
			exits:   "that is allowed, 1 denied, 2 a person would be asked", run: action(runPermissionsCheck),
		},
	},
}

// newBook is the rules of a project.
func newBook(a *app, p project.Project, config project.Loaded) (*permission.Book, error) {
	b := bookOf(a, p)
	return b, openBook(b, config)
}

func bookOf(a *app, p project.Project) *permission.Book {
	return &permission.Book{Linked: provenance.Linked{Path: trustOf(a, p).File("permissions.toml"), Link: p.Permissions()}}
}

func openBook(b *permission.Book, config project.Loaded) error {
	if err := b.Open(config.Permissions.Lists()); err != nil {
		return fmt.Errorf("%w: %w", project.ErrConfig, err)
	}
	return nil
}

// rules are for a run. If its agents can write the link to the file of remembered answers, it is looked at after each of them.
func rules(a *app, s *session, loose bool) (*permission.Book, error) {
	b := bookOf(a, s.project)
	b.Warn = func(text string) { a.note("warning: %s", text) }
	noteStray(a, b)
	if loose {
		b.Watch()
	}
	return b, openBook(b, s.config)
}

// noteStray says that there are rules which do not count, because nobody knows whether a person wrote them.
func noteStray(a *app, b *permission.Book) {
	if b.Stray() {
		a.note("warning: %s does not count, because an agent may have written it; if it is yours: ralph config trust", b.Link)
	}
}

// remember adds the rule that a person's answer to an agent's call makes, and says so.
func remember(a *app, s *session, r inbox.Request) (string, error) {
	answer := attempt.PermissionAnswer(r)
	if r.Kind != inbox.Permission || answer.Remember == "" {
		return "", nil
	}
	call, err := attempt.Asked(r)
	var book *permission.Book
	if err == nil {
		book, err = newBook(a, s.project, s.config)
	}
	if err == nil {
		err = book.Add(book.Decide(call), answer.Remember, r.AnsweredBy, a.now())
	}
	if err != nil {
		return "", fmt.Errorf("%w: %s is not answered, because it could not be remembered: %w", dag.ErrRefused, r.ID, err)
	}
	return fmt.Sprintf("%s: %s from now on; see %s", r.ID, answer.Remember, s.project.Permissions()), nil
}

type permissionsLogOptions struct {
	Denied bool
	Run    string
	Limit  int
	JSON   bool
}

func (o *permissionsLogOptions) parse(commandLine) error {
	if o.Limit < 0 {
		return usagef("--limit cannot be negative")
	}
	return nil
}

func runPermissionsLog(a *app, s *session, g *dag.Graph, o permissionsLogOptions) error {
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
		err := transcript.ReadCalls(filepath.Join(s.project.Runs(), run.ID, "events.jsonl"), func(e event.Event) {
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
	p := a.palette()
	none := "no agent asked for anything that rules or hooks decide about"
	return printList(a, list, o.JSON, callAsJSON, none, nil, func(e event.Event) []term.Cell {
		answer, paint := "allowed", p.Green
		if !e.Call.Allowed {
			answer, paint = "denied", p.Red
		}
		return []term.Cell{
			{Text: stamp(e.At), Paint: p.Dim},
			{Text: e.Task, Paint: p.Cyan},
			{Text: e.Agent},
			{Text: answer, Paint: paint},
			{Text: term.Line(e.Call.Rule) + " (" + term.Line(e.Call.By) + ")", Paint: p.Dim},
			{Text: e.Call.Kind + ": " + term.Line(e.Call.Text)},
		}
	})
}

func callAsJSON(e event.Event) jsonval.Object {
	c := e.Call
	return jsonval.Object{
		"at", e.At, "run", e.Run, "task", null(e.Task), "attempt", null(e.Attempt), "agent", null(e.Agent), "kind", c.Kind, "text", c.Text,
		"decision", decisionWord(c.Allowed), "rule", c.Rule, "who", c.By, "reason", null(e.Reason),
	}
}

func decisionWord(allowed bool) string {
	if allowed {
		return string(permission.Allow)
	}
	return string(permission.Deny)
}

func checkedAsJSON(d permission.Decision) jsonval.Object {
	return jsonval.Object{"decision", string(d.Answer), "rule", d.Rule, "reason", null(d.Reason)}
}

type permissionsCheckOptions struct {
	Args []string
	JSON bool
}

func (o *permissionsCheckOptions) parse(commandLine) error {
	if !slices.Contains(permission.Kinds(), o.Args[0]) {
		return usagef("KIND is %s, not %q", human.Series(permission.Kinds(), "or"), o.Args[0])
	}
	return nil
}

// notAllowed is the answer of a check that is no success.
type notAllowed struct{ answer permission.Answer }

func (e notAllowed) Error() string { return string(e.answer) }

func (e notAllowed) status() int {
	if e.answer == permission.Ask {
		return exitBlocked
	}
	return exitRefused
}

func runPermissionsCheck(_ context.Context, a *app, o permissionsCheckOptions) error {
	p, err := a.findProject()
	if err != nil {
		return err
	}
	config, err := a.loadConfig(p.Config())
	if err != nil {
		return err
	}
	book, err := newBook(a, p, config)
	if err != nil {
		return err
	}
	noteStray(a, book)
	call := toolcall.Call{Kind: o.Args[0], Text: o.Args[1]}
	if toolcall.IsCommand(call.Kind) {
		call.Command = call.Text
	} else if toolcall.OfPaths(call.Kind) {
		call.Paths = []string{filepath.ToSlash(call.Text)}
	}
	d := book.Decide(call)
	if o.JSON {
		err = a.printJSON(checkedAsJSON(d))
	} else {
		_, err = fmt.Fprintf(a.stdout, "%s: %s\n", d.Answer, term.Line(strings.Join(human.Parts(d.Rule, d.Reason), "; ")))
	}
	if err = written(0, err); err == nil && d.Answer != permission.Allow {
		err = notAllowed{d.Answer}
	}
	return err
}
