// Package prcmd has the command that keeps a pull request up to date.
package prcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/cli/wiring"
	"ralph/internal/event"
	"ralph/internal/forge"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/merge"
	"ralph/internal/pullrequest"
	"ralph/internal/report"
	"ralph/internal/seq"
)

// Command is the command "ralph pr".
var Command = cli.Command{
	Name: "pr", Args: "[FEATURE]", Short: "open or update the pull request of a feature; red checks and review comments become tasks",
	Long: `Pushes the branch that the work of FEATURE landed on, never by force, and opens a pull request with the report as its
description, or updates the one there is. It runs gh or glab, or the program in pr.command. Red checks, and
comments of the people in pr.reviewers, become tasks of the feature, for at most three commits. With --follow, it waits
for the checks, runs those tasks and pushes, until all is green and nothing is open.`,
	Flags: slices.Concat(
		cli.FlagGroup("Pull request",
			cli.Flag{Name: "base", Usage: "merge it into `BRANCH`", Shown: "the remote's default branch, or pr.base"},
			cli.Flag{Name: "target", Usage: "the `BRANCH` that has the work", Shown: "the one it landed on, that of the last time, or the one that is checked out"},
			cli.Flag{Name: "remote", Usage: "push to `REMOTE`", Shown: "that of the last time, or the one that git would push to"},
			cli.Flag{Name: "title", Usage: "its `TITLE`", Shown: "the feature's name"},
			cli.Bool("draft", "open it as a draft"),
			cli.Bool("follow", "wait for the checks, run the tasks that come of them, and push, until all is green"),
			cli.Bool("dry-run", "print what would be pushed, and the description"),
			cli.JSONFlag,
		),
		cli.FlagGroup("Runs of --follow", prRunFlags()...),
	),
	Example: "ralph run --feature login --target ralph/login\nralph pr login --dry-run\nralph pr login --draft\nralph pr login --follow --max-cost 5",
	Exits: "1 refused (nothing to push, the remote has other commits), or with --follow something is still red or open,\n" +
		"3 no such feature, 5 gh or glab is missing, logged out or does not answer, 6 git push failed, " + cli.Interrupted,
	Run: cli.Action(runPR),
}

// prRunFlags are those of a run that make sense for the tasks that a pull request brings.
func prRunFlags() []cli.Flag {
	kept := []string{"agent", "model", "effort", "jobs", "max-cost", "max-duration", "sandbox"}
	return slices.DeleteFunc(slices.Clone(launch.Command.Flags), func(f cli.Flag) bool { return !slices.Contains(kept, f.Name) })
}

type prOptions struct {
	launch.Options
	Base, Title, Remote string
	Draft               bool
}

// runPR takes one look, or with --follow as many as it takes.
func runPR(ctx context.Context, a *cli.App, o prOptions) error {
	if err := a.RefuseAgent(); err != nil {
		return err
	}
	title, titled := o.Settings["title"]
	switch {
	case titled && (strings.TrimSpace(title) == "" || strings.ContainsAny(title, "\r\n")):
		return cli.Usagef("--title is one line that is not empty")
	case strings.HasPrefix(o.Base, "-"):
		return cli.Usagef("--base %s is no name of a branch", o.Base)
	}
	if !o.Follow {
		for _, f := range prRunFlags() {
			if _, given := o.Settings[f.Name]; given {
				return cli.Usagef("--%s is about the runs of --follow", f.Name)
			}
		}
	}
	a.TakeSignals() // each look and each run deals with them
	var lock *os.File
	defer func() {
		if lock != nil {
			lock.Close()
		}
	}()
	for {
		ended, err := lookOnce(ctx, a, o, &lock)
		if err != nil || ended.runs == "" {
			return err
		}
		if err := launch.Run(ctx, a, ended.run(o)); err != nil && !resolved(err) {
			return err
		}
	}
}

// resolved says of a run that no task of it is open, although some failed: the next look says which of them matter.
func resolved(err error) bool {
	var ended cli.RunEnded
	return errors.As(err, &ended) && ended.Outcome == event.OutcomeComplete
}

// next is what follows a look: a run of the feature that lands on a branch, or nothing.
type next struct{ feature, runs string }

// run is that run. One that continues it has the same flags of a run, and none of a pull request.
func (n next) run(o prOptions) launch.Options {
	run := o.Options
	run.Args, run.Feature, run.Target, run.Follow, run.JSON = nil, &n.feature, &n.runs, false, false
	run.Settings = map[string]string{"target": n.runs}
	for _, f := range prRunFlags() {
		if value, given := o.Settings[f.Name]; given {
			run.Settings[f.Name] = value
		}
	}
	return run
}

// lookOnce pushes, opens or updates the pull request, and makes tasks of what it finds there. The first look takes the lock, which keeps
// others away until the command ends.
func lookOnce(ctx context.Context, a *cli.App, o prOptions, lock **os.File) (next, error) {
	ctx, stop := cli.Interruptible(ctx, a, nil, 0)
	defer stop()
	s, err := a.Open(ctx)
	if err != nil {
		return next{}, err
	}
	defer s.Close()
	if err := cmp.Or(wiring.Confirmed(a, s.Project), s.RefuseUnsynced()); err != nil {
		return next{}, err
	}
	p, err := newPull(ctx, a, s, o)
	if err != nil {
		return next{}, err
	}
	if o.DryRun {
		return next{}, p.dryRun(ctx)
	}
	if *lock == nil {
		if err := p.checkRuns(ctx, o); err != nil {
			return next{}, err
		}
		if *lock, err = merge.TryLock(p.repo, "pr-"+p.Feature); err != nil {
			return next{}, err
		}
	}
	if *lock == nil {
		return next{}, cli.Hint(fmt.Errorf("%w: another ralph pr is at work on %s", dag.ErrRefused, p.Feature), "wait until it has ended")
	}
	if err := p.publish(ctx, o.Follow); err != nil {
		return next{}, err
	}
	p.tellIssues(ctx)
	if err := p.look(ctx, o.Follow); err != nil {
		return next{}, err
	}
	return p.end(o)
}

// checkRuns says what is wrong with the flags of the runs of --follow, before anything is pushed: a check may be red hours later.
func (p *Pull) checkRuns(ctx context.Context, o prOptions) error {
	if !o.Follow {
		return nil
	}
	run, quiet := next{p.Feature, p.branch()}.run(o), p.app.Quiet
	run.DryRun, run.Follow = true, true // nothing is changed, and it needs neither tasks nor an agent that is installed
	p.app.Quiet = true                  // each run has its own warnings
	defer func() { p.app.Quiet = quiet }()
	_, err := launch.LoopOptions(ctx, p.app, p.session, run, nil)
	return err
}

// Pull is the pull request of a feature, and what a look at it found.
type Pull struct {
	app     *cli.App
	session *cli.Session
	BranchState
	Feature string
	title   string // that was typed
	draft   bool
	forge   forge.Forge
	home    forge.Home

	Request pullrequest.Request
	Did     string // opened, updated or unchanged
	Checks  forge.Checks
	Added   []pullrequest.Added
	left    []pullrequest.Finding // that became no task, because all rounds are over
	Others  int                   // comments that do not count
	Open    []dag.Task            // of earlier findings, too
	failed  []dag.Task
}

func newPull(ctx context.Context, a *cli.App, s *cli.Session, o prOptions) (*Pull, error) {
	feature, err := prFeature(ctx, s, o.Args)
	if err != nil {
		return nil, err
	}
	p := &Pull{app: a, session: s, Feature: feature, title: o.Title, draft: o.Draft}
	if p.Request, err = cli.Read(ctx, s, func(g *dag.Graph) (pullrequest.Request, error) { return pullrequest.Of(g, feature) }); err != nil {
		return nil, err
	}
	if p.BranchState, err = findBranch(ctx, a, s, p.Request, o); err != nil {
		return nil, err
	}
	p.home = forge.HomeOf(p.address)
	err = s.Store.View(ctx, func(g *dag.Graph) error {
		other, err := pullrequest.Other(g, feature, p.Remote, p.branch())
		if err == nil && other.Number != 0 {
			err = cli.Hint(fmt.Errorf("%w: %s has pull request %d already, which is that of %s", dag.ErrRefused, p.branch(), other.Number, other.Feature),
				"let each feature land on a branch of its own: ralph run --feature %s --target ralph/%s", feature, feature)
		}
		return err
	})
	return p, err
}

// prFeature is the feature that was named, or the only one that there is.
func prFeature(ctx context.Context, s *cli.Session, args []string) (name string, err error) {
	err = s.Store.View(ctx, func(g *dag.Graph) error {
		if len(args) > 0 {
			f, err := g.Plan.Feature(args[0])
			name = f.Name
			return err
		}
		all, err := g.Plan.Features()
		names := seq.Map(all, func(f dag.Feature) string { return f.Name })
		switch {
		case err != nil:
			return err
		case len(names) == 0:
			return cli.Hint(fmt.Errorf("feature: %w: there is none", dag.ErrNotFound), "make one with: ralph feature create NAME")
		case len(names) > 1:
			return cli.Hint(cli.Usagef("FEATURE is missing, and there are several: %s", human.List(names, 5)), "name one: ralph pr %s", names[0])
		}
		name = names[0]
		return nil
	})
	return name, err
}

// newForge is the forge of the remote.
func (p *Pull) newForge() (forge.Forge, error) {
	c, a := p.session.Config.PR, p.app
	kind := c.Forge
	if kind == forge.Auto && c.Command != "" {
		kind = forge.Own
	}
	if kind == forge.Auto {
		kind = forge.Choose(p.home, func(program string) bool { return installed(a, p.repo.Dir(), program) })
	}
	switch {
	case kind == "":
		return nil, cli.Hint(cli.Usagef("nothing says which forge %s is on: %s", p.Remote, cmp.Or(p.home.Host, p.address)), `say it in .ralph.toml: [pr] forge = "gh" or "glab", or command = "..."`)
	case kind == forge.Own && c.Command == "":
		return nil, cli.Hint(cli.Usagef(`[pr] forge = "command" needs a command`), `say it in .ralph.toml: [pr] command = "..."`)
	}
	f, err := forge.New(kind, c.Command, forge.Options{Dir: p.repo.Dir(), Env: a.Environ(), Timeout: c.Timeout.Std(), Home: p.home})
	if err != nil {
		return nil, cli.Usagef("%v", err)
	}
	return f, nil
}

// body is the report of the feature, inside of what people wrote.
func (p *Pull) body(ctx context.Context, before string) (string, error) {
	f, err := cli.Read(ctx, p.session, func(g *dag.Graph) (report.Feature, error) {
		return report.LoadFeature(g, p.Feature, func(name string) string { return wiring.SpecOf(p.session, name) }, p.app.Now())
	})
	if err != nil {
		return "", err
	}
	text, err := f.Markdown()
	return pullrequest.Body(before, p.app.Redact.Text(text)), err
}

func (p *Pull) dryRun(ctx context.Context) error {
	body, err := p.body(ctx, "")
	if err != nil {
		return err
	}
	what := "open a pull request"
	if p.Request.Number != 0 {
		what = fmt.Sprintf("update pull request %d", p.Request.Number)
	}
	push := fmt.Sprintf("%s has all of %s", p.Remote, p.branch())
	if p.behind {
		push = fmt.Sprintf("push %s to %s", p.branch(), p.Remote)
	}
	return cli.Written(fmt.Fprintf(p.app.Stdout, "%s: %s that %s does not have\n%s to merge it into %s\n\n%s\n", push, human.Count(p.commits, "commit"), p.Base, what, p.Base, strings.TrimSpace(body)))
}

// Object is the result, for machines.
func (p *Pull) Object(outcome string) jsonval.Object {
	return jsonval.Object{
		"feature", p.Feature, "number", p.Request.Number, "url", p.Request.URL, "did", p.Did, "remote", p.Remote, "branch", p.branch(), "base", p.Base, "commit", p.Tip,
		"outcome", outcome, "round", p.Request.Round,
		"checks", seq.Map(p.Checks.List, func(c forge.Check) jsonval.Object {
			return jsonval.Object{"name", c.Name, "state", string(c.State), "url", c.URL}
		}),
		"tasks", seq.Map(p.Added, func(f pullrequest.Added) jsonval.Object { return jsonval.Object{"id", f.Task, "title", f.Title} }),
		"left", seq.Map(p.left, func(f pullrequest.Finding) string { return f.Title }),
		"open", seq.Map(p.Open, func(t dag.Task) string { return t.ID }),
		"ignored_comments", p.Others,
	}
}
