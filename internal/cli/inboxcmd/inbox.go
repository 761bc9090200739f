// Package inboxcmd has the commands by which people and agents talk, and those that stop runs and let them go on.
package inboxcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/wiring"
	"ralph/internal/human"
	"ralph/internal/inbox"
	"ralph/internal/provenance"
	"ralph/internal/report"
	"ralph/internal/term"
	"ralph/internal/wake"
	"ralph/loop/attempt"
)

// Inbox is the command "ralph inbox".
var Inbox = cli.Command{
	Name: "inbox", Short: "answer what agents ask",
	Long: `An agent that asks a question does not hold up the run: its task waits for the answer, and the others go on. When the
question is answered, its task is ready again, and the next run continues with it.`,
	Example: "ralph inbox\nralph inbox answer 3f2a \"use the staging server\"", Exits: "1 refused, 3 not found",
	Sub: []cli.Command{
		{
			Name: "list", Bare: true, Short: "list what waits for an answer, the oldest first",
			Flags: []cli.Flag{
				cli.Bool("all", "also what was answered, expired or withdrawn, and messages"),
				cli.Bool("watch", "print new ones as they come, until Ctrl-C"),
				{Name: "limit", Usage: "with --all: the newest `N`", Value: 50},
				cli.JSONFlag,
			},
			Example: "ralph inbox\nralph inbox --watch --json", Exits: cli.Interrupted, Run: cli.InProject(runInbox),
		},
		{
			Name: "show", Args: "Q", Short: "show a request with its options", Flags: []cli.Flag{cli.JSONFlag},
			Example: "ralph inbox show 3f2a", Exits: "3 not found", Run: cli.OnGraph(runInboxShow),
		},
		{
			Name: "answer", Args: "Q [TEXT|-]", Short: "answer a request; the first answer counts",
			Long: `TEXT may be @FILE, or - for stdin; on a terminal it is asked for if it is missing. If the request has options, it
is one of them. The task continues in the next run, or in one that is running; until an agent works on it, --change replaces the answer.`,
			Flags: []cli.Flag{
				{Name: "option", Usage: "choose option `N`", Value: 0, Shown: "none"},
				cli.Bool("other", "TEXT is another answer than the options"),
				cli.Bool("change", "replace an answer that no agent has received"),
				cli.Bool("deny", "say no; TEXT says why"),
				cli.Bool("credential", "give the credential that is asked for: typed without echo, or TEXT is @FILE or -"),
			},
			Example: "ralph inbox answer 3f2a \"use the staging server\"\nralph inbox answer 3f2a --option 2\nralph inbox answer 3f2a --deny\nralph inbox answer 3f2a --credential",
			Exits:   "1 refused (answered already, or the task was reset, done or deleted), 3 not found",
			Run:     cli.InProject(runInboxAnswer),
		},
	},
}

// Send is the command "ralph send".
var Send = cli.Command{
	Name: "send", Args: "[TASK] TEXT", Short: "tell the agent of a task something", Late: true,
	Long: `The agent that works on the task reads TEXT when its turn ends; otherwise it is part of the task's next prompt.
TEXT may be @FILE, or - for stdin.`,
	Flags:   []cli.Flag{cli.Bool("all", "tell it all tasks that were begun and have not ended")},
	Example: "ralph send 1f0c \"the API moved to v2\"\nralph send --all \"the test server is down until noon\"",
	Exits:   "1 refused (the task is done, or a group), 3 not found", Run: cli.Action(runSend),
}

type inboxOptions struct {
	All, Watch, JSON bool
	Limit            int
}

func (o *inboxOptions) Parse(cli.CommandLine) error {
	if o.All && o.Watch {
		return cli.Usagef("--all lists what is over, and --watch what comes")
	}
	return cli.CheckLimit(o.Limit)
}

func runInbox(ctx context.Context, a *cli.App, s *cli.Session, o inboxOptions) error {
	if o.Watch {
		return watchInbox(ctx, a, s, o)
	}
	list, err := cli.Read(ctx, s, func(g *dag.Graph) ([]inbox.Request, error) {
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
				a.Note("answer with: ralph inbox answer %s %s", r.ID, way)
			}
		}
		a.Note("see all of one with: ralph inbox show %s", list[0].ID)
	}
	return printRequests(a, list, o)
}

func printRequests(a *cli.App, list []inbox.Request, o inboxOptions) error {
	p := a.Palette()
	return cli.PrintList(a, list, o.JSON, report.ViewRequest, "nothing waits for an answer", nil, func(r inbox.Request) []term.Cell {
		row := []term.Cell{
			{Text: r.ID, Paint: p.Cyan},
			{Text: cli.Stamp(r.At), Paint: p.Dim},
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
func watchInbox(ctx context.Context, a *cli.App, s *cli.Session, o inboxOptions) error {
	var known []inbox.Request
	for {
		version, err := s.DB.Version(ctx)
		if err != nil {
			return interruptedOr(ctx, err)
		}
		list, err := cli.Read(ctx, s, inbox.Waiting)
		if err != nil {
			return interruptedOr(ctx, err)
		}
		for _, r := range list {
			if slices.ContainsFunc(known, func(k inbox.Request) bool { return k.ID == r.ID }) {
				continue
			}
			if o.JSON {
				err = json.NewEncoder(a.Stdout).Encode(report.ViewRequest(r))
			} else {
				err = printRequests(a, []inbox.Request{r}, o)
			}
			if err != nil {
				return err
			}
		}
		known = list
		for now := version; now == version; {
			wake.Pause(ctx, nil, a.Now().Add(time.Second), a.Now, 0)
			if now, err = s.DB.Version(ctx); err != nil {
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

func runInboxShow(a *cli.App, _ *cli.Session, g *dag.Graph, o cli.PlainOptions) error {
	r, err := inbox.Resolve(g, o.Args[0])
	switch {
	case err != nil:
		return err
	case o.JSON:
		return a.PrintJSON(report.ViewRequest(r))
	}
	p := a.Palette()
	text := fmt.Sprintf("%s  %s  %s\n", p.Cyan(r.ID), r.Kind, p.Bold(string(r.State)))
	answer := r.Answer
	if r.Denied {
		answer = strings.TrimSuffix("denied: "+answer, ": ")
	}
	if r.Sender == r.Task {
		r.Sender = "" // once is enough
	}
	text += a.FieldLines("variable", r.Variable(), "task", r.Task, "attempt", r.Attempt, "run", r.Run, "from", r.Sender, "at", cli.Stamp(r.At), "expires", cli.Stamp(r.ExpiresAt),
		"default", r.Default, "answer", answer, "answered", strings.Join(human.Parts(cli.Stamp(r.AnsweredAt), r.AnsweredBy, r.AnsweredVia), ", "),
		"withdrawn", r.Reason, "received", strings.Join(human.Parts(cli.Stamp(r.ReceivedAt), r.ReceivedBy), ", "))
	text += "\n" + term.Block(r.Text) + "\n"
	if r.State == inbox.Open && r.Kind != inbox.Message {
		a.Note("answer with: ralph inbox answer %s %s", r.ID, human.Series(answerWays(r), "or"))
	}
	return cli.Written(fmt.Fprint(a.Stdout, text+optionsText(r)))
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

func (o *inboxAnswerOptions) Parse(cli.CommandLine) error {
	switch {
	case o.Option != nil && (o.Deny || o.Other || len(o.Args) > 1):
		return cli.Usagef("--option is the whole answer: neither TEXT, --other nor --deny goes with it")
	case o.Credential && (o.Option != nil || o.Deny):
		return cli.Usagef("--credential is the whole answer: neither --option nor --deny goes with it")
	case o.Credential && len(o.Args) > 1 && o.Args[1] != "-" && !strings.HasPrefix(o.Args[1], "@"):
		return cli.Hint(cli.Usagef("a credential on the command line is read by others"), "write it to a file and use @FILE, or - for stdin")
	case o.Option != nil && *o.Option < 1:
		return cli.Usagef("--option: options are numbered from 1")
	}
	return nil
}

func runInboxAnswer(ctx context.Context, a *cli.App, s *cli.Session, o inboxAnswerOptions) error {
	if err := a.RefuseAgent(); err != nil {
		return err
	}
	r, err := cli.Read(ctx, s, func(g *dag.Graph) (inbox.Request, error) { return inbox.Resolve(g, o.Args[0]) })
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
		a.Note("%s", text)
	}
	if errors.Is(err, inbox.ErrNotOption) {
		return cli.Hint(err, "choose one with --option N, or give another answer with --other")
	}
	return hintOver(ctx, s, err)
}

// answerRequest gives what a person answers to a request: hooks may refuse or rewrite it, the first answer counts, and what
// is to be remembered becomes a rule, or it is not answered. It says what came of it.
func answerRequest(ctx context.Context, a *cli.App, s *cli.Session, r inbox.Request, reply inbox.Reply) (notes []string, err error) {
	value, secret := "", r.Kind == inbox.Credential && !reply.Denied
	if secret {
		value, reply.Text = reply.Text, "" // nothing else may store it
	} else if reply, notes, err = wiring.AnswerBefore(ctx, a, s, r, reply); err != nil {
		return notes, err
	}
	rule := ""
	err = cli.RecordIn(ctx, a, s, func(g *dag.Graph) error {
		r, err = inbox.Answer(g, cli.TrustOf(a, s.Project), r.ID, reply)
		if errors.Is(err, provenance.ErrStore) {
			return cli.Hint(err, "answer outside of any sandbox, with a HOME that can be written")
		}
		if err != nil {
			return err
		}
		if !secret { // before it is stored: an answer without its rule could not be given again
			rule, err = wiring.Remember(a, s, r)
			return err
		}
		if err := a.CredentialsOf(s).Put(r.ID, value); err != nil { // only of the answer that counts
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
func (o inboxAnswerOptions) reply(ctx context.Context, a *cli.App, r inbox.Request, over bool) (inbox.Reply, error) {
	secret := o.Credential || r.Kind == inbox.Credential && len(o.Args) == 1 && !o.Deny // it can only be typed
	switch {
	case !over && r.Kind == inbox.Credential && !secret && !o.Deny:
		return inbox.Reply{}, cli.Hint(cli.Usagef("%s asks for a credential, which is not stored like other answers", r.ID), "ralph inbox answer %s --credential, or --deny", r.ID)
	case o.Credential && r.Kind != inbox.Credential:
		return inbox.Reply{}, cli.Usagef("%s asks for no credential", r.ID)
	case secret && over:
		return inbox.Reply{}, &inbox.OverError{Request: r}
	case secret && len(o.Args) == 1:
		text, err := a.Secret(ctx, r.Variable())
		return inbox.Reply{Text: text}, err
	case o.Option != nil:
		return inbox.Reply{Option: *o.Option}, nil
	case len(o.Args) > 1:
		text, err := cli.ReadText(a, o.Args[1])
		return inbox.Reply{Text: text, Denied: o.Deny}, err
	case o.Deny:
		return inbox.Reply{Denied: true}, nil
	case over:
		return inbox.Reply{}, &inbox.OverError{Request: r}
	case !a.Asks:
		return inbox.Reply{}, cli.Hint(cli.Usagef("TEXT is missing"), "usage: ralph inbox answer %s %s", r.ID, human.Series(answerWays(r), "or"))
	}
	cli.ShowText(a, r.ID+", "+string(r.Kind)+human.Lead(" of ", r.Task), r.Text+"\n"+optionsText(r))
	text, err := cli.Ask(ctx, a, map[bool]string{false: "Your answer", true: "The number of an option, or " + inbox.OtherPrefix + " and your answer"}[len(r.Options) > 0])
	return inbox.Typed(r, text), err
}

// optionsText lists the options of a request with their numbers.
func optionsText(r inbox.Request) (text string) {
	for i, option := range r.Options {
		text += fmt.Sprintf("  %d  %s\n", i+1, term.Line(option))
	}
	return text
}

// hintOver says what can be done for a task whose question is over.
func hintOver(ctx context.Context, s *cli.Session, err error) error {
	var over *inbox.OverError
	if !errors.As(err, &over) {
		return err
	}
	if r := over.Request; r.Changeable {
		return cli.Hint(err, "no agent has it yet: change it with: ralph inbox answer %s %s --change", r.ID, answerWays(r)[0])
	}
	t, gone := cli.Read(ctx, s, func(g *dag.Graph) (dag.Task, error) { return g.Tasks.Get(over.Request.Task) })
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
	return cli.Hint(err, "tell %s something with: ralph send %s TEXT", whom, t.ID)
}

type sendOptions struct {
	Args []string
	All  bool
}

func (o *sendOptions) Parse(cli.CommandLine) error {
	want, usage := 2, "ralph send TASK TEXT"
	if o.All {
		want, usage = 1, "ralph send --all TEXT"
	}
	if len(o.Args) != want {
		return cli.Hint(cli.Usagef("%s expected, not %d", human.Count(want, "argument"), len(o.Args)), "usage: %s; quote TEXT if it contains spaces", usage)
	}
	return nil
}

func runSend(ctx context.Context, a *cli.App, o sendOptions) error {
	text, err := cli.ReadText(a, o.Args[len(o.Args)-1])
	if err != nil {
		return err
	}
	var sent []inbox.Request
	err = a.Record(ctx, func(_ *cli.Session, g *dag.Graph) (err error) {
		var to []string
		if o.All {
			to, err = inbox.Begun(g, "")
		} else {
			var t dag.Task
			t, err = cli.ResolveTask(g, o.Args[0])
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
		a.Note("no task was begun that has not ended: nobody was told")
	}
	for _, m := range sent {
		a.Note("%s: sent to %s", m.ID, m.Task)
	}
	if len(text) > inbox.MaxText {
		a.Note("only the first %s of it", human.Bytes(inbox.MaxText))
	}
	return nil
}
