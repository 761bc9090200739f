package remote

import (
	"context"

	"ralph/loop/attempt"
	"ralph/verify"
)

// excuses are what was allowed when the job was sent, and what the run's flag allows since.
type excuses struct {
	now    attempt.Allowed
	may    bool
	record func(context.Context, attempt.Record) error
}

func (e excuses) Allowed(_ context.Context, gate string) (*verify.Allowed, error) {
	return e.now.Of(gate), nil
}

func (e excuses) Begin(ctx context.Context, results []verify.Result) error {
	failing := e.now.Begin(results)
	if len(failing) == 0 {
		return nil
	}
	if !e.may {
		return attempt.Refused(failing)
	}
	e.now.Allow(failing)
	return e.record(ctx, attempt.Record{Allowed: failing})
}
