package features

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"ralph/prompt"
	"ralph/sigils"
)

// focus is what one pass of a review looks for.
type focus struct{ name, asks string }

// passes are those of a review, in order. A pass that finds nothing is the last.
var passes = []focus{
	{"Completeness", "what would somebody who has to work from this document still have to ask? Look for missing sections, requirements without acceptance criteria, and parts of what was wanted that were forgotten."},
	{"Correctness", "what in it is wrong? Look for contradictions, for statements about the project that its code does not bear out, and for steps that cannot work."},
	{"Edge cases", "what happens with no input, too much, the wrong kind, two at once, and after a failure in the middle? Look for cases that nobody thought of."},
	{"Architecture", "does it fit into this project? Look for what the project has already, for parts in the wrong place, and for a simpler way to the same end."},
	{"Clarity", "can it be read in one way only? Look for vague words, for terms that change their meaning, and for sentences that say nothing."},
}

// review goes through the passes that are left. Every pass is a session of its own,
// because whoever wrote a text does not see what is missing in it.
func (a *author) review(ctx context.Context) error {
	for !a.state.Reviewed {
		finding, err := a.pass(ctx, passes[a.state.Pass])
		if err != nil {
			return err
		}
		name, finding := passes[a.state.Pass].name, a.Redact.Text(finding)
		a.state.Pass++
		if finding != "" {
			a.state.Findings = append(a.state.Findings, name+": "+finding)
		}
		a.state.Settled = finding == ""
		a.state.Reviewed = a.state.Settled || a.state.Pass == len(passes)
		if err := a.at.save(a.state); err != nil {
			return err
		}
		if a.state.Settled {
			finding = "nothing found"
		}
		a.Note("%s: review %d of %d, %s: %s", a.kind.File(), a.state.Pass, len(passes), strings.ToLower(name), finding)
	}
	return nil
}

// pass does one and returns what it found. A document that cannot be read back is
// put back as it was before the pass.
func (a *author) pass(ctx context.Context, f focus) (finding string, err error) {
	files := a.files()
	if err := a.at.fill(files); err != nil {
		return "", err
	}
	session, err := a.open(ctx, a.at)
	if err != nil {
		return "", err
	}
	turn, err := a.prompt(ctx, session, prompt.Review(prompt.ReviewInput{
		Name: a.Name, Project: a.Project.Root, File: a.kind.File(), What: a.kind.what(),
		Focus: f.name, Asks: f.asks, Pass: a.state.Pass + 1, Passes: len(passes),
	}))
	said, unread := turn.Scan(sigils.NewScanner(""))
	if err = errors.Join(cmp.Or(err, unread), a.close(session, a.at, files, a.kind.File())); err != nil {
		return "", err
	}
	text, err := a.at.read(a.kind.File())
	if err != nil {
		return fmt.Sprintf("the pass is not kept: %s", reason(err)), nil
	}
	changed := text != a.text
	if changed {
		if err := a.accept(text); err != nil {
			return "", err
		}
	}
	return findingOf(said, changed), nil
}

// findingOf turns a verdict into a finding; an empty one means that nothing was found.
func findingOf(v sigils.Set, changed bool) string {
	switch {
	case v.VerifyFail && strings.TrimSpace(v.VerifyReason) != "":
		return strings.TrimSpace(v.VerifyReason)
	case v.VerifyFail:
		return "something, without saying what"
	case !v.VerifyPass:
		return "no verdict, which counts as a failed pass"
	case changed:
		return "nothing, it says, but it changed the document"
	default:
		return ""
	}
}
