package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/forge"
	"ralph/internal/human"
	"ralph/internal/jsonval"
	"ralph/internal/merge"
	"ralph/internal/pullrequest"
	"ralph/internal/report"
	"ralph/internal/seq"
)

var prCommand = command{
	name: "pr", args: "[FEATURE]", short: "open or update the pull request of a feature; red checks and review comments become tasks",
	long: `Pushes the branch that the work of FEATURE landed on, never by force, and opens a pull request with the report as its
description, or updates the one there is. It runs gh or glab, or the program in pr.command. Red checks, and
comments of the people in pr.reviewers, become tasks of the feature, for at most three commits. With --follow, it waits
for the checks, runs those tasks and pushes, until all is green and nothing is open.`,
	flags: slices.Concat(
		flagGroup("Pull request",
			flagSpec{name: "base", usage: "merge it into `BRANCH`", shown: "the remote's default branch, or pr.base"},
			flagSpec{name: "target", usage: "the `BRANCH` that has the work", shown: "the one it landed on, that of the last time, or the one that is checked out"},
			flagSpec{name: "remote", usage: "push to `REMOTE`", shown: "that of the last time, or the one that git would push to"},
			flagSpec{name: "title", usage: "its `TITLE`", shown: "the feature's name"},
			boolFlag("draft", "open it as a draft"),
			boolFlag("follow", "wait for the checks, run the tasks that come of them, and push, until all is green"),
			boolFlag("dry-run", "print what would be pushed, and the description"),
			jsonFlag,
		),
		flagGroup("Runs of --follow", prRunFlags()...),
	),
	example: "ralph run --feature login --target ralph/login\nralph pr login --dry-run\nralph pr login --draft\nralph pr login --follow --max-cost 5",
	exits: "1 refused (nothing to push, the remote has other commits), or with --follow something is still red or open,\n" +
		"3 no such feature, 5 gh or glab is missing, logged out or does not answer, 6 git push failed, " + interrupted,
	run: action(runPR),
}

// prRunFlags are those of a run that make sense for the tasks that a pull request brings.
func prRunFlags() []flagSpec {
	kept := []string{"agent", "model", "effort", "jobs", "max-cost", "max-duration", "sandbox"}
	return slices.DeleteFunc(slices.Clone(runCommand.flags), func(f flagSpec) bool { return !slices.Contains(kept, f.name) })
}

type prOptions struct {
	runOptions
	Base, Title, Remote string
	Draft               bool
}

// runPR takes one look, or with --follow as many as it takes.
func runPR(ctx context.Context, a *app, o prOptions) error {
	if err := a.refuseAgent(); err != nil {
		return err
	}
	title, titled := o.settings["title"]
	switch {
	case titled && (strings.TrimSpace(title) == "" || strings.ContainsAny(title, "\r\n")):
		return usagef("--title is one line that is not empty")
	case strings.HasPrefix(o.Base, "-"):
		return usagef("--base %s is no name of a branch", o.Base)
	}
	if !o.Follow {
		for _, f := range prRunFlags() {
			if _, given := o.settings[f.name]; given {
				return usagef("--%s is about the runs of --follow", f.name)
			}
		}
	}
	a.takeSignals() // each look and each run deals with them
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
		if err := runRun(ctx, a, ended.run(o)); err != nil && !resolved(err) {
			return err
		}
	}
}

// resolved says of a run that no task of it is open, although some failed: the next look says which of them matter.
func resolved(err error) bool {
	var ended runEnded
	return errors.As(err, &ended) && ended.Outcome == event.OutcomeComplete
}

// next is what follows a look: a run of the feature that lands on a branch, or nothing.
type next struct{ feature, runs string }

// run is that run. One that continues it has the same flags of a run, and none of a pull request.
func (n next) run(o prOptions) runOptions {
	run := o.runOptions
	run.Args, run.Feature, run.Target, run.Follow, run.JSON = nil, &n.feature, &n.runs, false, false
	run.settings = map[string]string{"target": n.runs}
	for _, f := range prRunFlags() {
		if value, given := o.settings[f.name]; given {
			run.settings[f.name] = value
		}
	}
	return run
}

// lookOnce pushes, opens or updates the pull request, and makes tasks of what it finds there. The first look takes the lock, which keeps
// others away until the command ends.
func lookOnce(ctx context.Context, a *app, o prOptions, lock **os.File) (next, error) {
	ctx, stop := interruptible(ctx, a, nil, 0)
	defer stop()
	s, err := a.open(ctx)
	if err != nil {
		return next{}, err
	}
	defer s.Close()
	if err := cmp.Or(confirmed(a, s.project), s.refuseUnsynced()); err != nil {
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
		if *lock, err = merge.TryLock(p.repo, "pr-"+p.feature); err != nil {
			return next{}, err
		}
	}
	if *lock == nil {
		return next{}, hint(fmt.Errorf("%w: another ralph pr is at work on %s", dag.ErrRefused, p.feature), "wait until it has ended")
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
func (p *pull) checkRuns(ctx context.Context, o prOptions) error {
	if !o.Follow {
		return nil
	}
	run, quiet := next{p.feature, p.branch()}.run(o), p.app.quiet
	run.DryRun, run.Follow = true, true // nothing is changed, and it needs neither tasks nor an agent that is installed
	p.app.quiet = true                  // each run has its own warnings
	defer func() { p.app.quiet = quiet }()
	_, err := loopOptions(ctx, p.app, p.session, run, nil)
	return err
}

// pull is the pull request of a feature, and what a look at it found.
type pull struct {
	app     *app
	session *session
	branchState
	feature string
	title   string // that was typed
	draft   bool
	forge   forge.Forge
	home    forge.Home

	request pullrequest.Request
	did     string // opened, updated or unchanged
	checks  forge.Checks
	added   []pullrequest.Added
	left    []pullrequest.Finding // that became no task, because all rounds are over
	others  int                   // comments that do not count
	open    []dag.Task            // of earlier findings, too
	failed  []dag.Task
}

func newPull(ctx context.Context, a *app, s *session, o prOptions) (*pull, error) {
	feature, err := prFeature(ctx, s, o.Args)
	if err != nil {
		return nil, err
	}
	p := &pull{app: a, session: s, feature: feature, title: o.Title, draft: o.Draft}
	if p.request, err = look(ctx, s, func(g *dag.Graph) (pullrequest.Request, error) { return pullrequest.Of(g, feature) }); err != nil {
		return nil, err
	}
	if p.branchState, err = findBranch(ctx, a, s, p.request, o); err != nil {
		return nil, err
	}
	p.home = forge.HomeOf(p.address)
	err = s.store.View(ctx, func(g *dag.Graph) error {
		other, err := pullrequest.Other(g, feature, p.remote, p.branch())
		if err == nil && other.Number != 0 {
			err = hint(fmt.Errorf("%w: %s has pull request %d already, which is that of %s", dag.ErrRefused, p.branch(), other.Number, other.Feature),
				"let each feature land on a branch of its own: ralph run --feature %s --target ralph/%s", feature, feature)
		}
		return err
	})
	return p, err
}

// prFeature is the feature that was named, or the only one that there is.
func prFeature(ctx context.Context, s *session, args []string) (name string, err error) {
	err = s.store.View(ctx, func(g *dag.Graph) error {
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
			return hint(fmt.Errorf("feature: %w: there is none", dag.ErrNotFound), "make one with: ralph feature create NAME")
		case len(names) > 1:
			return hint(usagef("FEATURE is missing, and there are several: %s", human.List(names, 5)), "name one: ralph pr %s", names[0])
		}
		name = names[0]
		return nil
	})
	return name, err
}

// newForge is the forge of the remote.
func (p *pull) newForge() (forge.Forge, error) {
	c, a := p.session.config.PR, p.app
	kind := c.Forge
	if kind == forge.Auto && c.Command != "" {
		kind = forge.Own
	}
	if kind == forge.Auto {
		kind = forge.Choose(p.home, func(program string) bool { return installed(a, p.repo.Dir(), program) })
	}
	switch {
	case kind == "":
		return nil, hint(usagef("nothing says which forge %s is on: %s", p.remote, cmp.Or(p.home.Host, p.address)), `say it in .ralph.toml: [pr] forge = "gh" or "glab", or command = "..."`)
	case kind == forge.Own && c.Command == "":
		return nil, hint(usagef(`[pr] forge = "command" needs a command`), `say it in .ralph.toml: [pr] command = "..."`)
	}
	f, err := forge.New(kind, c.Command, forge.Options{Dir: p.repo.Dir(), Env: a.environ(), Timeout: c.Timeout.Std(), Home: p.home})
	if err != nil {
		return nil, usagef("%v", err)
	}
	return f, nil
}

// body is the report of the feature, inside of what people wrote.
func (p *pull) body(ctx context.Context, before string) (string, error) {
	f, err := look(ctx, p.session, func(g *dag.Graph) (report.Feature, error) {
		return report.LoadFeature(g, p.feature, func(name string) string { return specOf(p.session, name) }, p.app.now())
	})
	if err != nil {
		return "", err
	}
	text, err := f.Markdown()
	return pullrequest.Body(before, p.app.redact.Text(text)), err
}

func (p *pull) dryRun(ctx context.Context) error {
	body, err := p.body(ctx, "")
	if err != nil {
		return err
	}
	what := "open a pull request"
	if p.request.Number != 0 {
		what = fmt.Sprintf("update pull request %d", p.request.Number)
	}
	push := fmt.Sprintf("%s has all of %s", p.remote, p.branch())
	if p.behind {
		push = fmt.Sprintf("push %s to %s", p.branch(), p.remote)
	}
	return written(fmt.Fprintf(p.app.stdout, "%s: %s that %s does not have\n%s to merge it into %s\n\n%s\n", push, human.Count(p.commits, "commit"), p.base, what, p.base, strings.TrimSpace(body)))
}

// object is the result, for machines.
func (p *pull) object(outcome string) jsonval.Object {
	return jsonval.Object{
		"feature", p.feature, "number", p.request.Number, "url", p.request.URL, "did", p.did, "remote", p.remote, "branch", p.branch(), "base", p.base, "commit", p.tip,
		"outcome", outcome, "round", p.request.Round,
		"checks", seq.Map(p.checks.List, func(c forge.Check) jsonval.Object {
			return jsonval.Object{"name", c.Name, "state", string(c.State), "url", c.URL}
		}),
		"tasks", seq.Map(p.added, func(f pullrequest.Added) jsonval.Object { return jsonval.Object{"id", f.Task, "title", f.Title} }),
		"left", seq.Map(p.left, func(f pullrequest.Finding) string { return f.Title }),
		"open", seq.Map(p.open, func(t dag.Task) string { return t.ID }),
		"ignored_comments", p.others,
	}
}

// forgeHint is what helps against trouble with gh, glab or a command.
func forgeHint(e *forge.Error) string {
	switch e.Trouble {
	case forge.Missing:
		return `install it, or say in .ralph.toml what is to be used instead: [pr] forge = "gh", "glab" or "command"`
	case forge.LoggedOut:
		return fmt.Sprintf("log in with: %s auth login", e.Program)
	case forge.Slow:
		return "try again; give it more time with [pr] timeout in .ralph.toml"
	case forge.Limited:
		return "try again later; ralph pr --follow looks less often with [pr] poll in .ralph.toml"
	case forge.Garbage:
		return fmt.Sprintf("update %s, or see what it prints when you type that yourself", e.Program)
	case forge.Refused:
	}
	return "see what it says when you type that yourself; nothing is lost: repeat the command"
}
