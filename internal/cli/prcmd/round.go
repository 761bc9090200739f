package prcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/cli"
	"ralph/internal/cli/launch"
	"ralph/internal/forge"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/pullrequest"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// publish pushes the branch, and opens the pull request or brings it up to date.
func (p *Pull) publish(ctx context.Context, follow bool) (err error) {
	if p.forge, err = p.newForge(); err != nil {
		return err
	}
	found, err := p.forge.Find(ctx, p.branch()) // before the push: without a usable forge nothing is done
	if err != nil {
		return err
	}
	if follow && found.Number == 0 && p.Request.Number != 0 {
		return cli.Hint(fmt.Errorf("%w: pull request %d of %s was merged or closed", dag.ErrRefused, p.Request.Number, p.Feature), "to open another: ralph pr %s", p.Feature)
	}
	if p.behind {
		if err := launch.PushBranch(ctx, p.app, p.repo, launch.Destination{Remote: p.Remote}, p.Target); err != nil {
			return err
		}
	}
	body, err := p.body(ctx, found.Body)
	if err != nil {
		return err
	}
	draft := forge.Draft{Number: found.Number, Branch: p.branch(), Title: p.title, Body: body, Draft: p.draft}
	switch {
	case found.Number == 0:
		p.Did, draft.Base, draft.Title = "opened", p.Base, cmp.Or(p.title, p.Feature)
	case found.Base != p.Base && found.Base != "" && p.named:
		p.Did, draft.Base = "updated", p.Base
	case sameText(body, found.Body) && p.title == "":
		p.Did = "unchanged"
	default:
		p.Did = "updated"
	}
	if p.Did != "unchanged" {
		if found, err = p.forge.Save(ctx, draft); err != nil {
			return err
		}
	}
	was := p.Request
	p.Request = pullrequest.Request{Feature: p.Feature, Remote: p.Remote, Branch: p.branch(), Number: found.Number, URL: term.Line(found.URL)}
	if was.Number == found.Number && was.Remote == p.Remote && was.Branch == p.branch() && was.URL == p.Request.URL {
		p.Request = was
		return nil
	}
	return cli.RecordIn(context.WithoutCancel(ctx), p.app, p.session, func(g *dag.Graph) error {
		p.Request, err = pullrequest.Save(g, p.Request)
		return err
	})
}

// sameText compares descriptions. Forges may store other line ends, and trim.
func sameText(a, b string) bool {
	plainly := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plainly(a) == plainly(b)
}

// tellIssues tells each issue once that its task has landed. Whatever fails is tried again the next time.
func (p *Pull) tellIssues(ctx context.Context) {
	list, err := cli.Read(ctx, p.session, func(g *dag.Graph) ([]pullrequest.Landed, error) { return pullrequest.Untold(g, p.Feature, p.Target) })
	for _, l := range list {
		if p.home.Path != "" && !strings.EqualFold(p.home.Path, l.Issue.Repository) {
			continue // it is not this project's to speak there
		}
		if terr := p.tell(ctx, l); terr != nil {
			p.app.Note("warning: %s was not told that %s has landed: %v", l.Issue, l.Task, terr)
		}
	}
	if err != nil {
		p.app.Note("warning: %v", err)
	}
}

func (p *Pull) tell(ctx context.Context, l pullrequest.Landed) error {
	store := func(fn func(*dag.Graph) error) error {
		return cli.RecordIn(context.WithoutCancel(ctx), p.app, p.session, fn)
	}
	told := false
	if l.Begun { // and perhaps killed after it was told
		var err error
		if told, err = p.forge.Commented(ctx, l.Issue, l.Mark()); err != nil {
			return err
		}
	} else if err := store(l.Begin); err != nil {
		return err
	}
	if !told {
		if err := p.forge.Comment(ctx, l.Issue, l.Text(p.branch(), p.Request.URL)); err != nil {
			return err
		}
		p.app.Note("told %s that %s has landed", l.Issue, l.Task)
	}
	return store(l.Told)
}

// look makes tasks of red checks and comments, once all checks have ended if it waits for that.
func (p *Pull) look(ctx context.Context, wait bool) (err error) {
	if wait {
		p.Checks, err = p.await(ctx)
	} else {
		p.Checks, err = p.forge.Checks(ctx, p.Request.Number)
	}
	if err != nil {
		return err
	}
	findings, err := p.findings(ctx)
	if err != nil {
		return err
	}
	fresh, err := cli.Read(ctx, p.session, func(g *dag.Graph) ([]pullrequest.Finding, error) { return pullrequest.Fresh(g, p.Feature, findings) })
	if err == nil && len(fresh) > 0 {
		err = cli.Change(context.WithoutCancel(ctx), p.app, p.session, func(g *dag.Graph) error {
			p.Added, p.left, p.Request, err = pullrequest.Add(g, p.Feature, cmp.Or(p.Checks.Commit, p.Tip), findings)
			return err
		})
	}
	if err != nil {
		return err
	}
	tasks, err := cli.Read(ctx, p.session, func(g *dag.Graph) ([]dag.Task, error) { return pullrequest.Tasks(g, p.Feature, p.Request.Number) })
	for _, t := range tasks {
		switch t.Status {
		case dag.Done, dag.Cancelled:
		case dag.Failed:
			p.failed = append(p.failed, t)
		default:
			p.Open = append(p.Open, t)
		}
	}
	return err
}

// findings are the red checks with what they printed, and the comments that count.
func (p *Pull) findings(ctx context.Context) (list []pullrequest.Finding, err error) {
	number, commit := p.Request.Number, cmp.Or(p.Checks.Commit, p.Tip)
	var files []string
	for _, c := range p.in(forge.Failed) {
		if files == nil {
			names, _ := p.repo.Git(ctx, git.Call{}, "ls-tree", "-r", "-z", "--name-only", "--full-tree", p.Tip) // without them, no place is found
			files = git.Split(names)
		}
		log, lerr := p.forge.Log(ctx, c)
		why := ""
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case forge.Is(lerr, forge.LoggedOut, forge.Limited):
			return nil, lerr
		case lerr != nil:
			why = lerr.Error()
		}
		list = append(list, pullrequest.OfCheck(number, commit, c, p.app.Redact.Text(log), p.app.Redact.Text(why), files))
	}
	all, err := p.forge.Comments(ctx, number)
	if err != nil {
		return nil, err
	}
	counted, others := pullrequest.Counted(all, p.session.Config.PR.Reviewers)
	p.Others = others
	for _, c := range counted {
		c.Text = p.app.Redact.Text(c.Text)
		list = append(list, pullrequest.OfComment(number, c))
	}
	return list, nil
}

// in lists the checks in a state.
func (p *Pull) in(s forge.State) []forge.Check {
	return slices.DeleteFunc(slices.Clone(p.Checks.List), func(c forge.Check) bool { return c.State != s })
}

// appear is how long a forge may take to show a commit that was pushed, and its checks.
const appear = time.Minute

// await waits until all checks of what was pushed have ended. What is green has to be so twice: further checks may be on their way.
func (p *Pull) await(ctx context.Context) (forge.Checks, error) {
	c, a := p.session.Config.PR, p.app
	begin, said, greens, late := a.Now(), "", 0, appear
	if limit := c.Wait.Std(); limit > 0 {
		late = min(late, limit)
	}
	for {
		checks, err := p.forge.Checks(ctx, p.Request.Number)
		p.Checks = checks
		passed, pending := a.Now().Sub(begin), p.in(forge.Pending)
		waits := ""
		switch {
		case forge.Is(err, forge.Slow, forge.Limited):
			waits = "warning: " + err.Error() + "; trying again"
		case err != nil:
			return checks, err
		case checks.Commit != "" && checks.Commit != p.Tip:
			if passed >= late {
				return checks, cli.Hint(fmt.Errorf("%w: pull request %d is at %.12s, and %.12s was pushed: did somebody push meanwhile?", dag.ErrRefused, p.Request.Number, checks.Commit, p.Tip),
					"look: git fetch %s %s", plain.ShellQuote(p.Remote), p.branch())
			}
			waits = fmt.Sprintf("waiting until pull request %d shows what was pushed", p.Request.Number)
		case len(checks.List) == 0:
			if passed >= late {
				return checks, nil
			}
			waits = "waiting for the first check"
		case len(pending) > 0:
			waits = fmt.Sprintf("waiting for %s: %s", human.Count(len(pending), "check"), human.List(seq.Map(pending, func(c forge.Check) string { return c.Name }), 3))
		case len(p.in(forge.Failed)) > 0:
			return checks, nil
		default:
			if greens++; greens > 1 {
				return checks, nil
			}
		}
		if waits != "" {
			greens = 0
		}
		if waits != said && waits != "" {
			a.Note("%s", waits)
			said = waits
		}
		if limit := c.Wait.Std(); limit > 0 && passed > limit {
			return checks, cli.Hint(fmt.Errorf("%w: checks did not end within %s: %s", dag.ErrRefused, c.Wait, cmp.Or(waits, "none")), "wait longer: [pr] wait in .ralph.toml; or go on later: ralph pr %s --follow", p.Feature)
		}
		select {
		case <-ctx.Done():
			return checks, context.Cause(ctx)
		case <-time.After(max(c.Poll.Std(), 10*time.Millisecond)):
		}
	}
}

// end says how it stands, and what is next.
func (p *Pull) end(o prOptions) (next, error) {
	red, cancelled, pending := p.in(forge.Failed), p.in(forge.Cancelled), p.in(forge.Pending)
	n, outcome, err := next{feature: p.Feature}, "green", error(nil)
	name := func(c forge.Check) string { return c.Name }
	switch {
	case len(p.left) > 0:
		outcome = "left"
		err = cli.Hint(fmt.Errorf("%w: all %d rounds are over, and something is left: %s", dag.ErrRefused, pullrequest.MaxRounds, human.List(seq.Map(p.left, func(f pullrequest.Finding) string { return f.Title }), 5)),
			"do it by hand, or add a task: ralph task add --feature %s", p.Feature)
	case len(p.Open) > 0 && o.Follow:
		n.runs = p.branch()
		outcome = "open"
	case len(p.Open) > 0:
		outcome = "open"
	case len(p.failed) > 0:
		outcome = "failed"
		err = cli.Hint(fmt.Errorf("%w: tasks of the pull request failed: %s", dag.ErrRefused, human.List(seq.Map(p.failed, func(t dag.Task) string { return t.ID }), 5)),
			"see why: ralph task why %s; let it run again: ralph task reset %s", p.failed[0].ID, p.failed[0].ID)
	case len(red) > 0:
		outcome = "red"
		err = cli.Hint(fmt.Errorf("%w: still red at %.12s, although the tasks that came of it are done: %s", dag.ErrRefused, p.Tip, human.List(seq.Map(red, name), 5)),
			"let CI run again if it is flaky; or do it by hand")
	case len(cancelled) > 0:
		outcome = "cancelled"
		err = cli.Hint(fmt.Errorf("%w: cancelled: %s", dag.ErrRefused, human.List(seq.Map(cancelled, name), 5)), "start them again on the forge, then: ralph pr %s", p.Feature)
	case len(pending) > 0:
		outcome = "pending"
	}
	if n.runs != "" {
		p.say(false)
		return n, nil
	}
	if o.JSON {
		return n, errors.Join(p.app.PrintJSON(p.Object(outcome)), err)
	}
	p.say(true)
	return n, err
}

// say prints it for people: the address on stdout, and the rest beside it.
func (p *Pull) say(last bool) {
	a := p.app
	if last {
		fmt.Fprintln(a.Stdout, p.Request.URL)
	}
	a.Note("pull request %d of %s is %s", p.Request.Number, p.Feature, p.Did)
	if len(p.Checks.List) == 0 {
		a.Note("no check has reported")
	} else {
		var parts []string
		for _, s := range []forge.State{forge.Passed, forge.Failed, forge.Pending, forge.Cancelled} {
			if n := len(p.in(s)); n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, s))
			}
		}
		a.Note("checks: %s", strings.Join(parts, ", "))
	}
	switch {
	case p.Others > 0 && len(p.session.Config.PR.Reviewers) == 0:
		a.Note("%s, and none counts: no reviewers are configured ([pr] reviewers)", human.Count(p.Others, "comment"))
	case p.Others > 0:
		a.Note("%s by others than [pr] reviewers: not counted", human.Count(p.Others, "comment"))
	}
	for _, f := range p.Added {
		a.Note("%s %s", f.Task, f.Title)
	}
	if last && len(p.Open) > 0 && len(p.left) == 0 {
		a.Note("run %s: ralph run --feature %s --target %s; then: ralph pr %s; or both until all is green: ralph pr %s --follow",
			human.Count(len(p.Open), "task"), p.Feature, plain.ShellQuote(p.branch()), p.Feature, p.Feature)
	}
	if last && len(p.in(forge.Pending)) > 0 {
		a.Note("look again when the checks have ended: ralph pr %s; or wait for them: ralph pr %s --follow", p.Feature, p.Feature)
	}
}
