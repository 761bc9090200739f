package attempt

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/dag"
	"ralph/internal/bounded"
	"ralph/internal/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/internal/plain"
	"ralph/internal/seq"
	"ralph/loop/policy"
	"ralph/prompt"
	"ralph/sigils"
	"ralph/verify"
)

// review is how far a review has come.
type review struct {
	patches  []string // what it looks at, by file
	findings []event.Finding
}

// nothingToReview says why nobody has to look at a feature. Otherwise it leaves what the feature has changed in a.review.patches.
func (a *attempt) nothingToReview(ctx context.Context) (why string, err error) {
	e := &a.evidence
	switch {
	case a.job.Verify.Skip:
		return "nothing is verified in this run", nil
	case a.job.Review.Acceptance() && a.Documents(a.job.Task).Spec.Text == "":
		return "the feature has no specification any more", nil
	}
	others := slices.Concat(a.job.Review.Others, a.OwnFiles(ctx))
	if a.review.patches, err = featurePatches(ctx, e.trees, e.base.Tree, e.tree, others); err != nil {
		return "", err
	}
	if len(a.review.patches) == 0 && !a.job.Review.Acceptance() {
		return "the feature changed nothing", nil
	}
	return "", nil
}

// unconfirmed says why a feature cannot be compared with its specification: an agent that could write that may have done so. Whether it
// was the agent or a person meanwhile is for a person to say.
func (a *attempt) unconfirmed() string {
	by := a.Documents(a.job.Task).SpecBy
	if by == "" || a.job.Verify.Skip {
		return ""
	}
	return fmt.Sprintf("spec.md of %s was changed while %s, was at work, which could write it; look at it, and if it is as you want it: ralph config trust, and ralph task reset %s",
		a.job.Task.Feature, by, a.job.Task.ID)
}

// featurePatches are what changed between two trees, by file, without what is others'.
func featurePatches(ctx context.Context, trees git.Trees, from, to string, others []string) (patches []string, err error) {
	d, err := trees.Patches(ctx, from, to, maxPatch)
	if err != nil {
		return nil, err
	}
	for _, c := range d.Changes {
		if c.Cut {
			c.Patch += "[cut]\n"
		}
		if !git.Within(c.Path, others) {
			patches = append(patches, cmp.Or(c.Patch, c.Path+" changed, too\n"))
		}
	}
	return patches, nil
}

func reviewPrompt(t dag.Task, r dag.Review, s Sources, patches []string) string {
	return prompt.Reviewer(prompt.ReviewerInput{
		Task: t.ID, Feature: t.Feature, Focus: r.Focus, Spec: s.Spec, Plan: s.Plan, Diff: patches, From: "the difference since the feature began", Differ: r.Differ,
		Sections: s.Sections,
	})
}

// ReviewPrompt is what a reviewer of a tree would be told.
func ReviewPrompt(ctx context.Context, dir, tree string, t dag.Task, r dag.Review, s Sources) (text string, err error) {
	var patches []string
	if r.Tree != "" && tree != "" {
		patches, err = featurePatches(ctx, git.Trees{Dir: dir}, r.Tree, tree, r.Others)
	}
	return reviewPrompt(t, r, s, patches), err
}

// reviewed ends a review with its findings. One counts if it cites a line that is there.
func (a *attempt) reviewed(ctx context.Context, tree string) policy.Decision {
	a.warnChanged(ctx, tree)
	_, read, end := a.evidence.trees.Contents(ctx, a.evidence.base.Tree, tree, bounded.Text)
	defer end()
	for _, f := range a.talk.set.Findings {
		for _, dir := range []string{a.job.Place.Dir, a.job.Place.Project, "."} {
			f.File = strings.TrimPrefix(f.File, dir+"/")
		}
		if _, err := read(f.File); err != nil { // a patch names it from the top of the repository
			f.File = a.evidence.trees.Seen(f.File)
		}
		a.review.findings = append(a.review.findings, event.Finding{File: f.File, Line: f.Line, Text: f.Text, Reason: uncited(read, f.File, f.Line)})
	}
	if a.ended = a.endedBy(ctx); a.ended != policy.Running {
		return a.decide()
	}
	return policy.Decision{Action: policy.Complete, Outcome: event.AttemptDone}
}

// warnChanged says which files changed while somebody looked who changes nothing.
func (a *attempt) warnChanged(ctx context.Context, tree string) {
	if files := a.evidence.since(ctx, a.evidence.tree, tree); len(files) > 0 {
		a.warn(a.job.Task.ID, "files changed during the review, and nobody verified that: "+human.Few(files))
	}
}

// accept has a verifier compare a feature with its specification. What is missing are findings; when no more tasks are made of
// them, the acceptance has failed.
func (a *attempt) accept(ctx context.Context) (policy.Decision, error) {
	text, err := a.brief(ctx, prompt.Merged{})
	if err != nil {
		return Unprepared(), err
	}
	a.note(ctx, dag.Note{Base: a.evidence.before.Head, Tree: a.evidence.tree})
	a.tell(event.Event{Type: event.VerifierStarted})
	verdict, err := a.verdict(ctx, verify.Question{Text: text, Whole: true})
	a.said.Answered, a.ended = a.seen.VerifierAnswered, a.endedBy(ctx)
	if taken, err := a.evidence.take(context.WithoutCancel(ctx)); err == nil {
		a.warnChanged(context.WithoutCancel(ctx), taken)
	}
	e := event.Event{Type: event.VerifierEnded, Outcome: string(event.VerdictPass), Reason: verdict.Reason}
	var d policy.Decision
	switch {
	case err != nil || a.ended != policy.Running:
		err = cmp.Or(err, context.Cause(ctx))
		a.turn.Over = asCut(err).over
		if !errors.As(err, &a.turn.Err) {
			a.turn.Err = &acp.Error{Kind: acp.Cancelled, Op: "accept", Text: err.Error(), Err: err}
		}
		e.Outcome, e.Reason, d = string(event.VerdictNone), err.Error(), a.decide()
	case !verdict.Given:
		e.Outcome, d = string(event.VerdictNone), policy.Decision{Action: policy.Fail, Outcome: event.AttemptFailed, Reason: verdict.Reason}
	case verdict.Pass:
		a.work.Verdict, d = &verdict, policy.Decision{Action: policy.Complete, Outcome: event.AttemptDone}
		if err := a.acceptedCriteria(ctx, verdict); err != nil {
			a.warn(a.job.Task.ID, "keeping which criteria are met: "+err.Error())
		}
	default:
		e.Outcome, d = string(event.VerdictFail), a.missing(verdict)
	}
	a.tell(e)
	return d, nil
}

// missing decides about a feature that is not complete. A verdict that lists nothing is all that is known.
func (a *attempt) missing(v verify.Verdict) policy.Decision {
	if len(v.Findings) == 0 {
		v.Findings = append(v.Findings, sigils.Finding{Text: v.Reason})
	}
	for _, f := range v.Findings {
		title := plain.Brief(cmp.Or(f.Title, f.Text))
		a.review.findings = append(a.review.findings, event.Finding{Title: title, File: f.File, Line: f.Line, Text: f.Text})
	}
	if !a.job.Review.Last {
		return policy.Decision{Action: policy.Complete, Outcome: event.AttemptDone}
	}
	for i := range a.review.findings {
		a.review.findings[i].Reason = "two rounds did not help"
	}
	titles := seq.Map(a.review.findings, func(f event.Finding) string { return f.Title })
	return policy.Decision{
		Action: policy.Fail, Outcome: event.AttemptFailed, Rejected: event.RejectedMissing,
		Reason: "missing after two rounds: " + strings.Join(titles, "; "),
	}
}

// uncited says why there is no such line.
func uncited(read func(string) ([]byte, error), file string, line int) string {
	data, err := read(file)
	lines := bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		lines++
	}
	switch {
	case file == "":
		return "it cites no file"
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case err != nil:
		return err.Error()
	case bytes.IndexByte(data, 0) >= 0:
		return "the file is binary"
	case line < 1:
		return "it cites no line"
	case line > lines:
		return fmt.Sprintf("there is no line %d", line)
	}
	return ""
}
