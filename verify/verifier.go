package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/acp"
	"ralph/internal/human"
	"ralph/sigils"
)

// Verifier is a fresh session that is asked for a verdict.
type Verifier interface {
	Prompt(ctx context.Context, text string) (acp.Turn, error)
	Close() error
}

// Question is what a verifier is asked.
type Question struct {
	Text   string
	Doubts []Doubt // what its answers are to clear

	Unchanged bool // nothing changed: the question is whether the task was fulfilled before
	Whole     bool // it is about a whole specification: what is missing is listed, and wins over a pass
}

// Verdict is what a verifier says about finished work.
type Verdict struct {
	Pass   bool
	Given  bool // false: no verdict came, or a pass that leaves open what it could clear
	Silent bool // nor anything else that says what it thinks of the work
	Reason string

	Left []Doubt // what waits for a person, because its answers do not clear it

	Fulfilled bool // the task was fulfilled before the work; the reason says where

	Findings []sigils.Finding // what is missing, in answer to a question about a whole specification
	Proven   []sigils.Proven  // criteria that are met; they count with a pass
}

// Passes reports whether a verifier accepts the work. No verdict does not.
func (v *Verdict) Passes() bool { return v != nil && v.Pass }

// Refuses reports whether a verifier does not accept it.
func (v *Verdict) Refuses() bool { return v != nil && !v.Pass }

// String is the verdict as it is stored.
func (v Verdict) String() string {
	switch {
	case v.Pass:
		return strings.TrimSuffix("pass: "+v.Reason, ": ")
	case !v.Given:
		return "none: " + v.Reason
	default:
		return "fail: " + v.Reason
	}
}

// tries is how often Ask asks: a crash or silence is no verdict.
const tries = 2

// Ask opens a session and asks it for a verdict, and once more if none came of it. try
// numbers the sessions. The error is for a verifier that is unavailable: trying again at
// once would not help, and the work is not to blame.
func Ask(ctx context.Context, q Question, open func(ctx context.Context, try int) (Verifier, error)) (Verdict, error) {
	var v Verdict
	for try := 1; try <= tries; try++ {
		verifier, err := open(ctx, try)
		if err == nil {
			v, err = ask(ctx, verifier, q)
		}
		switch {
		case err == nil && v.Given:
			return v, nil
		case ctx.Err() != nil:
			return v, context.Cause(ctx)
		case unavailable(err):
			return v, err
		case err != nil:
			v.Silent, v.Left, v.Reason = true, q.Doubts, err.Error()
		}
	}
	if !v.Pass {
		v.Reason = fmt.Sprintf("no verdict after %d tries; the last: %s", tries, v.Reason)
	}
	return v, nil
}

// unavailable reports whether the same would happen again.
func unavailable(err error) bool {
	kinds := []acp.Kind{acp.NotFound, acp.CannotStart, acp.WrongVersion, acp.AuthRequired, acp.ModelUnknown, acp.RateLimited, acp.Unkept}
	return slices.ContainsFunc(kinds, func(kind acp.Kind) bool { return errors.Is(err, kind) })
}

func ask(ctx context.Context, verifier Verifier, q Question) (Verdict, error) {
	turn, err := verifier.Prompt(ctx, q.Text)
	set, unread := turn.Scan(sigils.NewScanner(""))
	var v Verdict
	if err = errors.Join(cmp.Or(err, unread), verifier.Close()); err != nil {
		return v, err
	}
	v.Proven = set.Proven
	if q.Whole {
		v.Findings = set.Findings
	}
	wrong := weakened(q.Doubts, set)
	open, problem := left(q.Doubts, set)
	v.Left = open
	switch {
	case set.VerifyFail || wrong != "": // wins over a pass
		v.Given, v.Reason = true, cmp.Or(strings.Join(human.Parts(wrong, set.VerifyReason), "; "), "the verifying agent gave no reason")
	case len(v.Findings) > 0:
		v.Given, v.Reason = true, "it lists what is missing"
	case q.Unchanged && set.Fulfilled != "":
		v.Given, v.Pass, v.Fulfilled, v.Reason = true, true, true, set.Fulfilled
	case q.Unchanged && set.VerifyPass:
		v.Reason = "the verifying agent does not say where the task was fulfilled before the work"
	case set.VerifyPass:
		v.Given, v.Pass, v.Reason = problem == "", true, problem
		if len(q.Doubts) > len(v.Left) && problem == "" {
			v.Reason = askedFor(set.Asked)
		}
	default:
		v.Silent = true
		v.Reason = "the verifying agent ended without a verdict"
	}
	return v, nil
}
