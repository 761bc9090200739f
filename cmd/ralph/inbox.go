package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/jsonval"
	"ralph/internal/project"
	"ralph/internal/provenance"
	"ralph/internal/report"
	"ralph/internal/term"
	"ralph/internal/wake"
	"ralph/loop/attempt"
)

var inboxCommand = command{
	name: "inbox", short: "answer what agents ask",
	long: `An agent that asks a question does not hold up the run: its task waits for the answer, and the others go on. When the
question is answered, its task is ready again, and the next run continues with it.`,
	example: "ralph inbox\nralph inbox answer 3f2a \"use the staging server\"", exits: "1 refused, 3 not found",
	sub: []command{
		{
			name: "list", bare: true, short: "list what waits for an answer, the oldest first",
			flags: []flagSpec{
				boolFlag("all", "also what was answered, expired or withdrawn, and messages"),
				boolFlag("watch", "print new ones as they come, until Ctrl-C"),
				{name: "limit", usage: "with --all: the newest `N`", value: 50},
				jsonFlag,
			},
			example: "ralph inbox\nralph inbox --watch --json", exits: interrupted, run: inProject(runInbox),
		},
		{
			name: "show", args: "Q", short: "show a request with its options", flags: []flagSpec{jsonFlag},
			example: "ralph inbox show 3f2a", exits: "3 not found", run: onGraph(runInboxShow),
		},
		{
			name: "answer", args: "Q [TEXT|-]", short: "answer a request; the first answer counts",
			long: `TEXT may be @FILE, or - for stdin; on a terminal it is asked for if it is missing. If the request has options, it
is one of them. The task continues in the next run, or in one that is running; until an agent works on it, --change replaces the answer.`,
			flags: []flagSpec{
				{name: "option", usage: "choose option `N`", value: 0, shown: "none"},
				boolFlag("other", "TEXT is another answer than the options"),
				boolFlag("change", "replace an answer that no agent has received"),
				boolFlag("deny", "say no; TEXT says why"),
				boolFlag("credential", "give the credential that is asked for: typed without echo, or TEXT is @FILE or -"),
			},
			example: "ralph inbox answer 3f2a \"use the staging server\"\nralph inbox answer 3f2a --option 2\nralph inbox answer 3f2a --deny\nralph inbox answer 3f2a --credential",
			exits:   "1 refused (answered already, or the task was reset, done or deleted), 3 not found",
			run:     inProject(runInboxAnswer),
		},
	},
}

var sendCommand = command{
	name: "send", args: "[TASK] TEXT", short: "tell the agent of a task something", late: true,
	long: `The agent that works on the task reads TEXT when its turn ends; otherwise it is part of the task's next prompt.
TEXT may be @FILE, or - for stdin.`,
	flags:   []flagSpec{boolFlag("all", "tell it all tasks that were begun and have not ended")},
	example: "ralph send 1f0c \"the API moved to v2\"\nralph send --all \"the test server is down until noon\"",
	exits:   "1 refused (the task is done, or a group), 3 not found", run: action(runSend),
}

var auditCommand = command{
	name: "audit", short: "show what people changed, and who answered what",
	flags:   []flagSpec{{name: "limit", usage: "the newest `N`", value: 50}, jsonFlag},
	example: "ralph audit --json", run: onGraph(runAudit),
}

type inboxOptions struct {
	All, Watch, JSON bool
	Limit            int
}

func (o *inboxOptions) parse(commandLine) error {
	if o.All && o.Watch {
		return usagef("--all lists what is over, and --watch what comes")
	}
	return checkLimit(o.Limit)
}

func runInbox(ctx context.Context, a *app, s *session, o inboxOptions) error {
	if o.Watch {
		return watchInbox(ctx, a, s, o)
	}
	list, err := look(ctx, s, func(g *dag.Graph) ([]inbox.Request, error) {
		if o.All {
			return inbox.Last(g, o.Limit)
		}
		return inbox.Waiting(g)
	})
	if err != nil {
		return err
	}
	if len(list) > 0 && !o.JSON && !o.All {
		var ways []string
		for _, r := range list { // one of each sort
			if way := answerWays(r)[0]; !slices.Contains(ways, way) {
				ways = append(ways, way)
				a.note("answer with: ralph inbox answer %s %s", r.ID, way)
			}
		}
		a.note("see all of one with: ralph inbox show %s", list[0].ID)
	}
	return printRequests(a, list, o)
}

func printRequests(a *app, list []inbox.Request, o inboxOptions) error {
	p := a.palette()
	return printList(a, list, o.JSON, report.ViewRequest, "nothing waits for an answer", nil, func(r inbox.Request) []term.Cell {
		row := []term.Cell{
			{Text: r.ID, Paint: p.Cyan},
			{Text: stamp(r.At), Paint: p.Dim},
			{Text: r.Task},
			{Text: string(r.Kind)},
		}
		if o.All {
			row = append(row, term.Cell{Text: string(r.State)})
		}
		text, _, _ := strings.Cut(r.Text, "\n")
		text = strings.TrimPrefix(r.Variable()+": ", ": ") + text
		if len(r.Options) > 0 {
			text += " (" + strings.Join(r.Options, ", ") + ")"
		}
		return append(row, term.Cell{Text: text})
	})
}

// watchInbox prints what comes. Where it begins, it prints what waits already.
func watchInbox(ctx context.Context, a *app, s *session, o inboxOptions) error {
	var known []inbox.Request
	for {
		version, err := s.db.Version(ctx)
		if err != nil {
			return interruptedOr(ctx, err)
		}
		list, err := look(ctx, s, inbox.Waiting)
		if err != nil {
			return interruptedOr(ctx, err)
		}
		for _, r := range list {
			if slices.ContainsFunc(known, func(k inbox.Request) bool { return k.ID == r.ID }) {
				continue
			}
			if o.JSON {
				err = json.NewEncoder(a.stdout).Encode(report.ViewRequest(r))
			} else {
				err = printRequests(a, []inbox.Request{r}, o)
			}
			if err != nil {
				return err
			}
		}
		known = list
		for now := version; now == version; {
			wake.Pause(ctx, nil, a.now().Add(time.Second), a.now, 0)
			if now, err = s.db.Version(ctx); err != nil {
				return interruptedOr(ctx, err)
			}
		}
	}
}

func interruptedOr(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

func runInboxShow(a *app, _ *session, g *dag.Graph, o plainOptions) error {
	r, err := inbox.Resolve(g, o.Args[0])
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.printJSON(report.ViewRequest(r))
	}
	p := a.palette()
	text := fmt.Sprintf("%s  %s  %s\n", p.Cyan(r.ID), r.Kind, p.Bold(string(r.State)))
	answer := r.Answer
	if r.Denied {
		answer = strings.TrimSuffix("denied: "+answer, ": ")
	}
	if r.Sender == r.Task {
		r.Sender = "" // once is enough
	}
	text += a.fieldLines("variable", r.Variable(), "task", r.Task, "attempt", r.Attempt, "run", r.Run, "from", r.Sender, "at", stamp(r.At), "expires", stamp(r.ExpiresAt),
		"default", r.Default, "answer", answer, "answered", strings.Join(human.Parts(stamp(r.AnsweredAt), r.AnsweredBy, r.AnsweredVia), ", "),
		"withdrawn", r.Reason, "received", strings.Join(human.Parts(stamp(r.ReceivedAt), r.ReceivedBy), ", "))
	text += "\n" + term.Block(r.Text) + "\n"
	if r.State == inbox.Open && r.Kind != inbox.Message {
		a.note("answer with: ralph inbox answer %s %s", r.ID, human.Series(answerWays(r), "or"))
	}
	return written(fmt.Fprint(a.stdout, text+optionsText(r)))
}

// answerWays are what can follow the ID on the command line of an answer, the usual one first.
func answerWays(r inbox.Request) []string {
	switch {
	case r.Kind == inbox.Credential:
		return []string{"--credential", "--deny"}
	case len(r.Options) > 0:
		return []string{"--option N", "TEXT --other", "--deny"}
	}
	return []string{"TEXT", "--deny"}
}

type inboxAnswerOptions struct {
	Args   []string // the request, and the text
	Option *int
	Deny   bool
	Other  bool
	Change bool

	Credential bool
}

func (o *inboxAnswerOptions) parse(commandLine) error {
	switch {
	case o.Option != nil && (o.Deny || o.Other || len(o.Args) > 1):
		return usagef("--option is the whole answer: neither TEXT, --other nor --deny goes with it")
	case o.Credential && (o.Option != nil || o.Deny):
		return usagef("--credential is the whole answer: neither --option nor --deny goes with it")
	case o.Credential && len(o.Args) > 1 && o.Args[1] != "-" && !strings.HasPrefix(o.Args[1], "@"):
		return hint(usagef("a credential on the command line is read by others"), "write it to a file and use @FILE, or - for stdin")
	case o.Option != nil && *o.Option < 1:
		return usagef("--option: options are numbered from 1")
	}
	return nil
}

func runInboxAnswer(ctx context.Context, a *app, s *session, o inboxAnswerOptions) error {
	if err := a.refuseAgent(); err != nil {
		return err
	}
	r, err := look(ctx, s, func(g *dag.Graph) (inbox.Request, error) { return inbox.Resolve(g, o.Args[0]) })
	if err != nil {
		return err
	}
	over := r.Over(o.Change)
	reply, err := o.reply(ctx, a, r, over)
	reply.Other, reply.Change = reply.Other || o.Other, o.Change
	var notes []string
	if err == nil {
		notes, err = answerRequest(ctx, a, s, r, reply)
	}
	for _, text := range notes {
		a.note("%s", text)
	}
	if errors.Is(err, inbox.ErrNotOption) {
		return hint(err, "choose one with --option N, or give another answer with --other")
	}
	return hintOver(ctx, s, err)
}

// answerRequest gives what a person answers to a request: hooks may refuse or rewrite it, the first answer counts, and what
// is to be remembered becomes a rule, or it is not answered. It says what came of it.
func answerRequest(ctx context.Context, a *app, s *session, r inbox.Request, reply inbox.Reply) (notes []string, err error) {
	value, secret := "", r.Kind == inbox.Credential && !reply.Denied
	if secret {
		value, reply.Text = reply.Text, "" // nothing else may store it
	} else if reply, notes, err = answerBefore(ctx, a, s, r, reply); err != nil {
		return notes, err
	}
	rule := ""
	err = recordIn(ctx, a, s, func(g *dag.Graph) error {
		r, err = inbox.Answer(g, trustOf(a, s.project), r.ID, reply)
		if errors.Is(err, provenance.ErrStore) {
			return hint(err, "answer outside of any sandbox, with a HOME that can be written")
		}
		if err != nil {
			return err
		}
		if !secret { // before it is stored: an answer without its rule could not be given again
			rule, err = remember(a, s, r)
			return err
		}
		if err := a.credentialsOf(s).Put(r.ID, value); err != nil { // only of the answer that counts
			return fmt.Errorf("%w: %w", dag.ErrRefused, err)
		}
		return nil
	})
	if err != nil {
		return notes, err
	}
	text := r.ID + " answered"
	switch {
	case reply.Option > 0:
		text += ": " + r.Answer
	case r.Kind == inbox.Permission && !r.Denied && attempt.PermissionAnswer(r).Why != "": // for one, a mistyped yes
		text += ": it counts as no, with that as the reason; only yes and always allow it"
	}
	if r.Parks {
		text += "; " + r.Task + " continues, now or in the next run"
	}
	return append(notes, human.Parts(text, rule)...), nil
}

// reply is what was typed, or is asked for.
func (o inboxAnswerOptions) reply(ctx context.Context, a *app, r inbox.Request, over bool) (inbox.Reply, error) {
	secret := o.Credential || r.Kind == inbox.Credential && len(o.Args) == 1 && !o.Deny // it can only be typed
	switch {
	case !over && r.Kind == inbox.Credential && !secret && !o.Deny:
		return inbox.Reply{}, hint(usagef("%s asks for a credential, which is not stored like other answers", r.ID), "ralph inbox answer %s --credential, or --deny", r.ID)
	case o.Credential && r.Kind != inbox.Credential:
		return inbox.Reply{}, usagef("%s asks for no credential", r.ID)
	case secret && over:
		return inbox.Reply{}, &inbox.OverError{Request: r}
	case secret && len(o.Args) == 1:
		text, err := a.secret(ctx, r.Variable())
		return inbox.Reply{Text: text}, err
	case o.Option != nil:
		return inbox.Reply{Option: *o.Option}, nil
	case len(o.Args) > 1:
		text, err := readText(a, o.Args[1])
		return inbox.Reply{Text: text, Denied: o.Deny}, err
	case o.Deny:
		return inbox.Reply{Denied: true}, nil
	case over:
		return inbox.Reply{}, &inbox.OverError{Request: r}
	case !a.asks:
		return inbox.Reply{}, hint(usagef("TEXT is missing"), "usage: ralph inbox answer %s %s", r.ID, human.Series(answerWays(r), "or"))
	}
	showText(a, r.ID+", "+string(r.Kind)+human.Lead(" of ", r.Task), r.Text+"\n"+optionsText(r))
	text, err := ask(ctx, a, map[bool]string{false: "Your answer", true: "The number of an option, or " + inbox.OtherPrefix + " and your answer"}[len(r.Options) > 0])
	return inbox.Typed(r, text), err
}

// optionsText lists the options of a request with their numbers.
func optionsText(r inbox.Request) (text string) {
	for i, option := range r.Options {
		text += fmt.Sprintf("  %d  %s\n", i+1, term.Line(option))
	}
	return text
}

// credentials is where the values are that people gave to agents.
func (a *app) credentials() string { return filepath.Join(a.stateHome(), "ralph", "credentials") }

func (a *app) credentialsOf(s *session) provenance.Values {
	return provenance.Values{Store: provenance.Store{Dir: filepath.Join(a.credentials(), folderOf(realPath(s.project.Root)))}}
}

// trusts is where everything lies that no agent may write, and trustOf what is about a project.
func trusts(a *app) string { return filepath.Join(a.stateHome(), "ralph", "trust") }

func trustOf(a *app, p project.Project) provenance.Store {
	return provenance.Store{Dir: filepath.Join(trusts(a), folderOf(realPath(p.Root)))}
}

// realPath is where a folder is, however a shell got there.
func realPath(dir string) string {
	if path, err := filepath.EvalSymlinks(dir); err == nil {
		return path
	}
	return dir
}

// sweepCredentials removes the values of tasks that are over. The others are hidden in all that follows: whoever had one may
// have written it where any task, gate or verifier reads it.
func sweepCredentials(ctx context.Context, a *app, s *session) {
	var needed []string
	// Nobody gives one meanwhile: that is a change of the graph, too.
	err := s.store.Update(ctx, func(g *dag.Graph) (err error) {
		if needed, err = inbox.Credentials(g); err != nil {
			return err
		}
		return a.credentialsOf(s).Sweep(func(request string) bool { return slices.Contains(needed, request) })
	})
	for _, request := range needed {
		if value, err := a.credentialsOf(s).Get(request); err == nil { // one that is gone reaches nobody
			a.redact.Add(value)
		}
	}
	if err != nil {
		a.note("warning: credentials that nobody needs any more are still there: %v", err)
	}
}

// hintOver says what can be done for a task whose question is over.
func hintOver(ctx context.Context, s *session, err error) error {
	var over *inbox.OverError
	if !errors.As(err, &over) {
		return err
	}
	if r := over.Request; r.Changeable {
		return hint(err, "no agent has it yet: change it with: ralph inbox answer %s %s --change", r.ID, answerWays(r)[0])
	}
	t, gone := look(ctx, s, func(g *dag.Graph) (dag.Task, error) { return g.Tasks.Get(over.Request.Task) })
	if gone != nil {
		return err
	}
	return hintSend(err, "its agent", t)
}

// hintSend says how the agent of a task is told something all the same, if it may have one.
func hintSend(err error, whom string, t dag.Task) error {
	if err == nil || t.Status == dag.Done {
		return err
	}
	return hint(err, "tell %s something with: ralph send %s TEXT", whom, t.ID)
}

type sendOptions struct {
	Args []string
	All  bool
}

func (o *sendOptions) parse(commandLine) error {
	want, usage := 2, "ralph send TASK TEXT"
	if o.All {
		want, usage = 1, "ralph send --all TEXT"
	}
	if len(o.Args) != want {
		return hint(usagef("%s expected, not %d", human.Count(want, "argument"), len(o.Args)), "usage: %s; quote TEXT if it contains spaces", usage)
	}
	return nil
}

func runSend(ctx context.Context, a *app, o sendOptions) error {
	text, err := readText(a, o.Args[len(o.Args)-1])
	if err != nil {
		return err
	}
	var sent []inbox.Request
	err = a.record(ctx, func(_ *session, g *dag.Graph) (err error) {
		var to []string
		if o.All {
			to, err = inbox.Begun(g, "")
		} else {
			var t dag.Task
			t, err = resolveTask(g, o.Args[0])
			to = []string{t.ID}
		}
		if err == nil {
			sent, err = inbox.SendEach(g, to, g.Actor().Who, text)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("send: %w", err)
	}
	if len(sent) == 0 {
		a.note("no task was begun that has not ended: nobody was told")
	}
	for _, m := range sent {
		a.note("%s: sent to %s", m.ID, m.Task)
	}
	if len(text) > inbox.MaxText {
		a.note("only the first %s of it", human.Bytes(inbox.MaxText))
	}
	return nil
}

type auditOptions struct {
	JSON  bool
	Limit int
}

func (o *auditOptions) parse(commandLine) error { return checkLimit(o.Limit) }

func auditAsJSON(e dag.AuditEntry) jsonval.Object {
	return jsonval.Object{
		"at", e.At, "who", e.Actor.Who, "via", e.Actor.Via, "action", e.Actor.Action, "task", null(e.Task), "request", null(e.Request), "text", e.Text,
	}
}

func runAudit(a *app, _ *session, g *dag.Graph, o auditOptions) error {
	list, err := g.History.Audits(o.Limit)
	if err != nil {
		return err
	}
	p := a.palette()
	return printList(a, list, o.JSON, auditAsJSON, "nobody changed anything yet", nil, func(e dag.AuditEntry) []term.Cell {
		return []term.Cell{
			{Text: stamp(e.At), Paint: p.Dim},
			{Text: e.Actor.Who},
			{Text: e.Actor.Action},
			{Text: strings.Join(human.Parts(e.Task, e.Request), " "), Paint: p.Cyan},
			{Text: e.Text},
		}
	})
}
