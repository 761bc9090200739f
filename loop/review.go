package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/dag"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/merge"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/loop/attempt"
	"ralph/prompt"
)

// PromptOf is what the agent of a task would be told now, and which prompt that is, as its sections name it.
func PromptOf(ctx context.Context, opts Options, t dag.Task) (kind, text string, err error) {
	var r *dag.Review
	var landed []dag.Merge
	err = opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) {
		landed, _, _ = g.Queue.Landings() // the first error of the database is that of the transaction
		r, err = g.Plan.Review(t)
		return err
	})
	switch {
	case err != nil:
		return "", "", err
	case r != nil:
		tree, err := tip(ctx, opts.Place.Dir, landed)
		if err != nil {
			return "", "", err
		}
		text, err = attempt.ReviewPrompt(ctx, opts.Place.Dir, tree, t, *r, opts.Prompt.Context(t))
		if r.Acceptance() {
			return "acceptance", text, err
		}
		return "reviewer", text, err
	}
	in, err := Gather(ctx, opts, "", t)
	in.Tools = opts.Agents.tooled(cmp.Or(t.Agent, opts.Host.Setup.Agent))
	return "worker", prompt.Build(in), err
}

// tip is the tree of the target on which work landed last, or of what is checked out if nothing has landed; "" where there is none.
func tip(ctx context.Context, dir string, landed []dag.Merge) (string, error) {
	repo, err := git.OpenRepo(ctx, dir)
	if errors.Is(err, git.ErrUnknown) {
		return "", nil
	}
	at := ""
	switch {
	case err != nil:
	case len(landed) > 0:
		var place merge.Place
		place, err = merge.At(ctx, repo, landed[len(landed)-1].Target)
		at = place.Tip()
	default:
		at, err = repo.Commit(ctx, "HEAD")
	}
	if err != nil || at == "" {
		return "", err
	}
	return repo.Tree(ctx, at)
}

// review stores what a review found, and has reviewers look at a feature whose last task is done.
func (s settler) review(g *dag.Graph, claim dag.Claim, j attempt.Job, res attempt.Result) error {
	if j.Review != nil {
		if err := s.keepFindings(g, claim, *j.Review, res); err != nil {
			return err
		}
	}
	_, err := s.addLooks(g, claim.Task.Feature)
	return err
}

// addLooks has reviewers look at a feature whose tasks have all ended, and after them whoever compares it with its specification. It
// says whether somebody is to look. Asked again, it adds nothing.
func (s shared) addLooks(g *dag.Graph, feature string) (added bool, err error) {
	if feature == "" || s.opts.Verify.Skip {
		return false, nil
	}
	acceptor := s.opts.Verify.Acceptor
	if added, err = s.addReviews(g, feature); err != nil || added {
		return added, err
	}
	if acceptor == nil || !acceptor.Specified(feature) {
		return false, nil
	}
	return g.Plan.AddAcceptance(dag.NewTask{
		Detail: dag.Detail{Title: acceptanceTitle(feature), Kind: dag.Check, Agent: acceptor.Agent, Model: acceptor.Model, Description: "Compare the feature " + feature + " with its specification, and list what is missing."}, Feature: feature,
	})
}

func acceptanceTitle(feature string) string { return "Accept " + feature + ": its specification" }

// addDueLooks does so with each feature of the run's scope, because the last of its tasks may have ended without an attempt: people
// cancel tasks and do them, plan files bring them as done.
func (s shared) addDueLooks(g *dag.Graph) (added bool, err error) {
	features, err := s.finished(g)
	for _, name := range features {
		one, err := s.addLooks(g, name)
		if err != nil {
			return false, err
		}
		added = added || one
	}
	return added, err
}

// finished lists the features at which somebody may have to look before anything else.
func (s shared) finished(g *dag.Graph) (names []string, err error) {
	scope := s.opts.Graph.Scope
	if s.opts.Verify.Acceptor == nil || s.opts.Verify.Skip || s.opts.Graph.Finished {
		return nil, nil
	}
	features, err := g.Plan.Features()
	for _, f := range features {
		if f.Status == dag.FeatureDone && scope.Covers("", f.Name) {
			names = append(names, f.Name)
		}
	}
	return names, err
}

// dueLooks are the titles of what addDueLooks would add.
func (s shared) dueLooks(g *dag.Graph) (titles []string, err error) {
	features, err := s.finished(g)
	for _, name := range features {
		if reviews, err := g.Plan.ReviewsDue(name); err != nil {
			return nil, err
		} else if reviews && len(s.opts.Verify.Reviewers) > 0 {
			titles = append(titles, seq.Map(s.opts.Verify.Reviewers, func(r Reviewer) string { return reviewTitle(name, r) })...)
			continue
		}
		if due, err := g.Plan.AcceptanceDue(name); err != nil {
			return nil, err
		} else if due && s.opts.Verify.Acceptor.Specified(name) {
			titles = append(titles, acceptanceTitle(name))
		}
	}
	return titles, err
}

func reviewTitle(feature string, r Reviewer) string { return titled("Review "+feature, r.Focus) }

func (s shared) addReviews(g *dag.Graph, feature string) (added bool, err error) {
	if len(s.opts.Verify.Reviewers) == 0 {
		return false, nil
	}
	return g.Plan.AddReviews(feature, seq.Map(s.opts.Verify.Reviewers, func(r Reviewer) dag.NewReview {
		return dag.NewReview{Focus: r.Focus, NewTask: dag.NewTask{
			Detail: dag.Detail{Title: reviewTitle(feature, r), Kind: dag.Check, Agent: r.Agent, Model: r.Model, Description: "Look at the whole change of the feature " + feature + ", with this focus:\n\n" + r.Focus}, Feature: feature,
		}}
	}))
}

// warnUnspecified says that nobody accepts a feature whose last task is done, because there is nothing to compare it with.
func (r *Runner) warnUnspecified(ctx context.Context, feature string, status dag.Status) {
	a := r.opts.Verify.Acceptor
	switch {
	case a == nil, r.opts.Verify.Skip, feature == "", status != dag.Done, a.Specified(feature):
		return
	}
	var f dag.Feature
	err := r.opts.Graph.Store.View(ctx, func(g *dag.Graph) (err error) { f, err = g.Plan.Feature(feature); return err })
	if err == nil && f.Status == dag.FeatureDone { // else the next statement says what is wrong
		r.bus.warnOnce("unspecified\x00"+feature, "nobody checks the feature "+feature+" as a whole, because it has no spec.md that can be read; write one with: ralph feature spec "+feature)
	}
}

// keepFindings makes tasks of those that count. What became of each is noted in it, and with the review.
func (s settler) keepFindings(g *dag.Graph, claim dag.Claim, r dag.Review, res attempt.Result) error {
	t := claim.Task
	for i := range res.Findings {
		f := &res.Findings[i]
		at := cited(*f)
		if f.Reason == "" {
			task := dag.NewTask{
				Detail: dag.Detail{Title: titled(at, f.Text), Description: fmt.Sprintf("The review %s of the feature found this at %s:\n\n%s", t.ID, at, f.Text)}, Feature: t.Feature,
			}
			if r.Acceptance() {
				task.Title, task.Description = at, fmt.Sprintf("The specification of the feature asks for this, and %s found that it is missing:\n\n%s", t.ID, f.Text)
			}
			id, err := g.Plan.AddFinding(r.Focus, task)
			if f.Task = id; errors.Is(err, dag.ErrRefused) {
				f.Reason = strings.TrimPrefix(err.Error(), dag.ErrRefused.Error()+": ")
			} else if err != nil {
				return err
			}
		}
		if f.Reason != "" {
			if err := g.Tasks.Log(t.ID, dag.LogSystem, fmt.Sprintf("no task: %s: %s\n\n%s", at, f.Reason, f.Text)); err != nil {
				return err
			}
		}
	}
	kind := "review: "
	if r.Acceptance() {
		kind = "acceptance: "
	}
	return g.History.NoteAttempt(claim.Attempt, dag.Note{Verdict: kind + foundText(r, res)})
}

// cited is the place that a finding is about.
func cited(f event.Finding) string {
	switch {
	case f.Title != "":
		return f.Title
	case f.File == "":
		return "a finding"
	case f.Line < 1:
		return f.File
	}
	return fmt.Sprintf("%s:%d", f.File, f.Line)
}

// foundText says what a review found, and what became of that.
func foundText(r dag.Review, res attempt.Result) string {
	var tasks, none []string
	for _, f := range res.Findings {
		if f.Task != "" {
			tasks = append(tasks, f.Task)
		} else {
			none = append(none, cited(f)+" ("+f.Reason+")")
		}
	}
	found := human.Count(len(res.Findings), "finding")
	switch {
	case res.Decision.Reason != "":
		return res.Decision.Reason
	case r.Acceptance() && len(res.Findings) == 0:
		return "nothing is missing"
	case len(res.Findings) == 0:
		return "no findings"
	case r.Acceptance():
		found = fmt.Sprintf("%d missing", len(res.Findings))
	}
	return found + human.Lead(": ", human.Few(tasks)) + human.Lead("; no task: ", human.Few(none))
}

// titled is one line that begins with those words.
func titled(begin, text string) string {
	return begin + ": " + plain.Brief(text)
}
