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
	"time"

	"ralph/dag"
	"ralph/event"
	"ralph/internal/git"
	"ralph/internal/human"
	"ralph/loop/policy"
	"ralph/prompt"
)

// maxCited is how large a file may be that a finding cites.
const maxCited = 8 << 20

// review is how far a review has come.
type review struct {
	began    time.Time
	patches  []string // what it looks at, by file
	findings []event.Finding
}

// nothingToReview says why nobody has to look at a feature. Otherwise it leaves what the feature has changed in a.review.patches.
func (a *attempt) nothingToReview(ctx context.Context) (why string, err error) {
	e := &a.evidence
	switch {
	case a.job.Verify.Skip:
		return "nothing is verified in this run", nil
	case e.blind != nil:
		a.WarnOnce("git", "changes cannot be reviewed: "+e.blind.Error())
		return "git cannot tell what changed", nil //nolint:nilerr // no project has to be a repository
	}
	a.review.began = a.Now()
	others := slices.Concat(a.job.Review.Others, a.OwnFiles(ctx))
	if a.review.patches, err = featurePatches(ctx, a.job.Place.Project, a.Objects, e.base.Tree, e.tree, others); err != nil {
		return "", err
	}
	if len(a.review.patches) == 0 {
		return "the feature changed nothing", nil
	}
	return "", nil
}

// featurePatches are what changed between two trees, by file, without what is others'.
func featurePatches(ctx context.Context, dir, objects, from, to string, others []string) (patches []string, err error) {
	d, err := git.Compare(ctx, dir, objects, from, to, maxPatch)
	if err != nil {
		return nil, err
	}
	for _, c := range d.Changes {
		if !git.Within(c.Path, others) {
			patches = append(patches, cmp.Or(c.Patch, c.Path+" changed, too\n"))
		}
	}
	return patches, nil
}

func reviewPrompt(t dag.Task, r dag.Review, s Sources, patches []string) string {
	return prompt.Reviewer(prompt.ReviewerInput{
		Task: t.ID, Feature: t.Feature, Focus: r.Focus, Spec: s.Spec, Plan: s.Plan, Diff: patches, From: "the difference since the feature began",
	})
}

// ReviewPrompt is what a reviewer of the folder would be told now.
func ReviewPrompt(ctx context.Context, dir, objects string, t dag.Task, r dag.Review, s Sources) (string, error) {
	taken, err := git.Take(ctx, dir, objects)
	var patches []string
	if err == nil && r.Tree != "" {
		patches, err = featurePatches(ctx, dir, objects, r.Tree, taken.Tree, r.Others)
	}
	return reviewPrompt(t, r, s, patches), err
}

// reviewed ends a review with its findings. One counts if it cites a line that is there.
func (a *attempt) reviewed(ctx context.Context, tree string) policy.Decision {
	if files := a.evidence.since(ctx, a.evidence.tree, tree); len(files) > 0 && !a.ports.Shared(ctx, a.review.began) {
		a.warn(a.job.Task.ID, "files changed during the review, and nobody verified that: "+human.List(files, 5))
	}
	_, read, end := git.Contents(ctx, a.job.Place.Project, a.Objects, a.evidence.base.Tree, tree, maxCited)
	defer end()
	for _, f := range a.talk.set.Findings {
		for _, dir := range []string{a.job.Place.Dir, a.job.Place.Project, "."} {
			f.File = strings.TrimPrefix(f.File, dir+"/")
		}
		a.review.findings = append(a.review.findings, event.Finding{File: f.File, Line: f.Line, Text: f.Text, Reason: uncited(read, f.File, f.Line)})
	}
	if a.ended = a.endedBy(ctx); a.ended != policy.Running {
		return a.decide()
	}
	return policy.Decision{Action: policy.Complete, Outcome: event.AttemptDone}
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
