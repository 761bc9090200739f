package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"ralph/dag"
	"ralph/internal/forge"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/pullrequest"
	"ralph/internal/seq"
	"ralph/internal/term"
)

// publish pushes the branch, and opens the pull request or brings it up to date.
func (p *pull) publish(ctx context.Context, follow bool) (err error) {
	if p.forge, err = p.newForge(); err != nil {
		return err
	}
	found, err := p.forge.Find(ctx, p.branch()) // before the push: without a usable forge nothing is done
	if err != nil {
		return err
	}
	if follow && found.Number == 0 && p.request.Number != 0 {
		return hint(fmt.Errorf("%w: pull request %d of %s was merged or closed", dag.ErrRefused, p.request.Number, p.feature), "to open another: ralph pr %s", p.feature)
	}
	if p.behind {
		if err := pushBranch(ctx, p.app, p.repo, destination{remote: p.remote}, p.target); err != nil {
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
		p.did, draft.Base, draft.Title = "opened", p.base, cmp.Or(p.title, p.feature)
	case found.Base != p.base && found.Base != "" && p.named:
		p.did, draft.Base = "updated", p.base
	case sameText(body, found.Body) && p.title == "":
		p.did = "unchanged"
	default:
		p.did = "updated"
	}
	if p.did != "unchanged" {
		if found, err = p.forge.Save(ctx, draft); err != nil {
			return err
		}
	}
	was := p.request
	p.request = pullrequest.Request{Feature: p.feature, Remote: p.remote, Branch: p.branch(), Number: found.Number, URL: term.Line(found.URL)}
	if was.Number == found.Number && was.Remote == p.remote && was.Branch == p.branch() && was.URL == p.request.URL {
		p.request = was
		return nil
	}
	return recordIn(context.WithoutCancel(ctx), p.app, p.session, func(g *dag.Graph) error {
		p.request, err = pullrequest.Save(g, p.request)
		return err
	})
}

// sameText compares descriptions. Forges may store other line ends, and trim.
func sameText(a, b string) bool {
	plainly := func(s string) string { return strings.TrimSpace(strings.ReplaceAll(s, "\r\n", "\n")) }
	return plainly(a) == plainly(b)
}

// tellIssues tells each issue once that its task has landed. Whatever fails is tried again the next time.
func (p *pull) tellIssues(ctx context.Context) {
	list, err := look(ctx, p.session, func(g *dag.Graph) ([]pullrequest.Landed, error) { return pullrequest.Untold(g, p.feature, p.target) })
	for _, l := range list {
		if p.home.Path != "" && !strings.EqualFold(p.home.Path, l.Issue.Repository) {
			continue // it is not this project's to speak there
		}
		if terr := p.tell(ctx, l); terr != nil {
			p.app.note("warning: %s was not told that %s has landed: %v", l.Issue, l.Task, terr)
		}
	}
	if err != nil {
		p.app.note("warning: %v", err)
	}
}

func (p *pull) tell(ctx context.Context, l pullrequest.Landed) error {
	store := func(fn func(*dag.Graph) error) error {
		return recordIn(context.WithoutCancel(ctx), p.app, p.session, fn)
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
		if err := p.forge.Comment(ctx, l.Issue, l.Text(p.branch(), p.request.URL)); err != nil {
			return err
		}
		p.app.note("told %s that %s has landed", l.Issue, l.Task)
	}
	return store(l.Told)
}

// look makes tasks of red checks and comments, once all checks have ended if it waits for that.
func (p *pull) look(ctx context.Context, wait bool) (err error) {
	if wait {
		p.checks, err = p.await(ctx)
	} else {
		p.checks, err = p.forge.Checks(ctx, p.request.Number)
	}
	if err != nil {
		return err
	}
	findings, err := p.findings(ctx)
	if err != nil {
		return err
	}
	fresh, err := look(ctx, p.session, func(g *dag.Graph) ([]pullrequest.Finding, error) { return pullrequest.Fresh(g, p.feature, findings) })
	if err == nil && len(fresh) > 0 {
		err = change(context.WithoutCancel(ctx), p.app, p.session, func(g *dag.Graph) error {
			p.added, p.left, p.request, err = pullrequest.Add(g, p.feature, cmp.Or(p.checks.Commit, p.tip), findings)
			return err
		})
	}
	if err != nil {
		return err
	}
	tasks, err := look(ctx, p.session, func(g *dag.Graph) ([]dag.Task, error) { return pullrequest.Tasks(g, p.feature, p.request.Number) })
	for _, t := range tasks {
		switch t.Status {
		case dag.Done, dag.Cancelled:
		case dag.Failed:
			p.failed = append(p.failed, t)
		default:
			p.open = append(p.open, t)
		}
	}
	return err
}

// findings are the red checks with what they printed, and the comments that count.
func (p *pull) findings(ctx context.Context) (list []pullrequest.Finding, err error) {
	number, commit := p.request.Number, cmp.Or(p.checks.Commit, p.tip)
	var files []string
	for _, c := range p.in(forge.Failed) {
		if files == nil {
			names, _ := p.repo.Git(ctx, git.Call{}, "ls-tree", "-r", "-z", "--name-only", "--full-tree", p.tip) // without them, no place is found
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
		list = append(list, pullrequest.OfCheck(number, commit, c, p.app.redact.Text(log), p.app.redact.Text(why), files))
	}
	all, err := p.forge.Comments(ctx, number)
	if err != nil {
		return nil, err
	}
	counted, others := pullrequest.Counted(all, p.session.config.PR.Reviewers)
	p.others = others
	for _, c := range counted {
		c.Text = p.app.redact.Text(c.Text)
		list = append(list, pullrequest.OfComment(number, c))
	}
	return list, nil
}

// in lists the checks in a state.
func (p *pull) in(s forge.State) []forge.Check {
	return slices.DeleteFunc(slices.Clone(p.checks.List), func(c forge.Check) bool { return c.State != s })
}

// appear is how long a forge may take to show a commit that was pushed, and its checks.
const appear = time.Minute

// await waits until all checks of what was pushed have ended. What is green has to be so twice: further checks may be on their way.
func (p *pull) await(ctx context.Context) (forge.Checks, error) {
	c, a := p.session.config.PR, p.app
	begin, said, greens, late := a.now(), "", 0, appear
	if limit := c.Wait.Std(); limit > 0 {
		late = min(late, limit)
	}
	for {
		checks, err := p.forge.Checks(ctx, p.request.Number)
		p.checks = checks
		passed, pending := a.now().Sub(begin), p.in(forge.Pending)
		waits := ""
		switch {
		case forge.Is(err, forge.Slow, forge.Limited):
			waits = "warning: " + err.Error() + "; trying again"
		case err != nil:
			return checks, err
		case checks.Commit != "" && checks.Commit != p.tip:
			if passed >= late {
				return checks, hint(fmt.Errorf("%w: pull request %d is at %.12s, and %.12s was pushed: did somebody push meanwhile?", dag.ErrRefused, p.request.Number, checks.Commit, p.tip),
					"look: git fetch %s %s", plain.ShellQuote(p.remote), p.branch())
			}
			waits = fmt.Sprintf("waiting until pull request %d shows what was pushed", p.request.Number)
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
			a.note("%s", waits)
			said = waits
		}
		if limit := c.Wait.Std(); limit > 0 && passed > limit {
			return checks, hint(fmt.Errorf("%w: checks did not end within %s: %s", dag.ErrRefused, c.Wait, cmp.Or(waits, "none")), "wait longer: [pr] wait in .ralph.toml; or go on later: ralph pr %s --follow", p.feature)
		}
		select {
		case <-ctx.Done():
			return checks, context.Cause(ctx)
		case <-time.After(max(c.Poll.Std(), 10*time.Millisecond)):
		}
	}
}

// end says how it stands, and what is next.
func (p *pull) end(o prOptions) (next, error) {
	red, cancelled, pending := p.in(forge.Failed), p.in(forge.Cancelled), p.in(forge.Pending)
	n, outcome, err := next{feature: p.feature}, "green", error(nil)
	name := func(c forge.Check) string { return c.Name }
	switch {
	case len(p.left) > 0:
		outcome = "left"
		err = hint(fmt.Errorf("%w: all %d rounds are over, and something is left: %s", dag.ErrRefused, pullrequest.MaxRounds, human.List(seq.Map(p.left, func(f pullrequest.Finding) string { return f.Title }), 5)),
			"do it by hand, or add a task: ralph task add --feature %s", p.feature)
	case len(p.open) > 0 && o.Follow:
		n.runs = p.branch()
		outcome = "open"
	case len(p.open) > 0:
		outcome = "open"
	case len(p.failed) > 0:
		outcome = "failed"
		err = hint(fmt.Errorf("%w: tasks of the pull request failed: %s", dag.ErrRefused, human.List(seq.Map(p.failed, func(t dag.Task) string { return t.ID }), 5)),
			"see why: ralph task why %s; let it run again: ralph task reset %s", p.failed[0].ID, p.failed[0].ID)
	case len(red) > 0:
		outcome = "red"
		err = hint(fmt.Errorf("%w: still red at %.12s, although the tasks that came of it are done: %s", dag.ErrRefused, p.tip, human.List(seq.Map(red, name), 5)),
			"let CI run again if it is flaky; or do it by hand")
	case len(cancelled) > 0:
		outcome = "cancelled"
		err = hint(fmt.Errorf("%w: cancelled: %s", dag.ErrRefused, human.List(seq.Map(cancelled, name), 5)), "start them again on the forge, then: ralph pr %s", p.feature)
	case len(pending) > 0:
		outcome = "pending"
	}
	if n.runs != "" {
		p.say(false)
		return n, nil
	}
	if o.JSON {
		return n, errors.Join(p.app.printJSON(p.object(outcome)), err)
	}
	p.say(true)
	return n, err
}

// say prints it for people: the address on stdout, and the rest beside it.
func (p *pull) say(last bool) {
	a := p.app
	if last {
		fmt.Fprintln(a.stdout, p.request.URL)
	}
	a.note("pull request %d of %s is %s", p.request.Number, p.feature, p.did)
	if len(p.checks.List) == 0 {
		a.note("no check has reported")
	} else {
		var parts []string
		for _, s := range []forge.State{forge.Passed, forge.Failed, forge.Pending, forge.Cancelled} {
			if n := len(p.in(s)); n > 0 {
				parts = append(parts, fmt.Sprintf("%d %s", n, s))
			}
		}
		a.note("checks: %s", strings.Join(parts, ", "))
	}
	switch {
	case p.others > 0 && len(p.session.config.PR.Reviewers) == 0:
		a.note("%s, and none counts: no reviewers are configured ([pr] reviewers)", human.Count(p.others, "comment"))
	case p.others > 0:
		a.note("%s by others than [pr] reviewers: not counted", human.Count(p.others, "comment"))
	}
	for _, f := range p.added {
		a.note("%s %s", f.Task, f.Title)
	}
	if last && len(p.open) > 0 && len(p.left) == 0 {
		a.note("run %s: ralph run --feature %s --target %s; then: ralph pr %s; or both until all is green: ralph pr %s --follow",
			human.Count(len(p.open), "task"), p.feature, plain.ShellQuote(p.branch()), p.feature, p.feature)
	}
	if last && len(p.in(forge.Pending)) > 0 {
		a.note("look again when the checks have ended: ralph pr %s; or wait for them: ralph pr %s --follow", p.feature, p.feature)
	}
}
