package verify

import (
	"context"
	"errors"
	"fmt"

	"ralph/acp"
	"ralph/sigils"
)

// Judge is a fresh session that is asked for a verdict.
type Judge interface {
	Prompt(ctx context.Context, text string) (acp.Turn, error)
	Close() error
}

// Verdict is what an agent with fresh eyes says about finished work.
type Verdict struct {
	Pass   bool
	Given  bool // false: it was asked in vain, and that counts as a failure
	Reason string
}

// String is the verdict as it is stored.
func (v Verdict) String() string {
	switch {
	case v.Pass:
		return "pass"
	case !v.Given:
		return "none: " + v.Reason
	default:
		return "fail: " + v.Reason
	}
}

// tries is how often a verdict is asked for: a crash or silence is no verdict.
const tries = 2

// Ask opens a session and asks it for a verdict, and once more if none came of
// it. Each session is given its number. The error is for a judge that cannot be
// had now: trying again at once would not help, and the work is not to blame.
func Ask(ctx context.Context, text string, open func(ctx context.Context, try int) (Judge, error)) (Verdict, error) {
	var v Verdict
	for try := 1; try <= tries; try++ {
		judge, err := open(ctx, try)
		if err == nil {
			v, err = ask(ctx, judge, text)
		}
		switch {
		case err == nil && v.Given:
			return v, nil
		case ctx.Err() != nil:
			return v, context.Cause(ctx)
		case unavailable(err):
			return v, err
		case err != nil:
			v.Reason = err.Error()
		}
	}
	v.Reason = fmt.Sprintf("no verdict after %d tries; the last: %s", tries, v.Reason)
	return v, nil
}

// unavailable says that the same would happen again.
func unavailable(err error) bool {
	for _, kind := range []acp.Kind{acp.NotFound, acp.CannotStart, acp.WrongVersion, acp.AuthRequired, acp.ModelUnknown, acp.RateLimited} {
		if errors.Is(err, kind) {
			return true
		}
	}
	return false
}

func ask(ctx context.Context, judge Judge, text string) (Verdict, error) {
	turn, err := judge.Prompt(ctx, text)
	var v Verdict
	if err = errors.Join(err, judge.Close()); err != nil {
		return v, err
	}
	scan := sigils.NewScanner("")
	for _, segment := range turn.Segments {
		scan.Write(segment)
		scan.Break()
	}
	set := scan.Set()
	switch {
	case set.VerifyFail: // wins over a pass
		v.Given, v.Reason = true, set.VerifyReason
		if v.Reason == "" {
			v.Reason = "the verifying agent gave no reason"
		}
	case set.VerifyPass:
		v.Given, v.Pass = true, true
	default:
		v.Reason = "the verifying agent ended without a verdict"
	}
	return v, nil
}
