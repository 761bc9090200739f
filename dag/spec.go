package dag

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ralph/internal/human"
	"ralph/internal/lazyregexp"
)

// Spec is a task that is to be added. References are full IDs of tasks that exist, use Resolve for what people
// type, or in a plan that is imported as a whole refs of the same plan.
type Spec struct {
	Detail
	Line    int // where it stands in its file, for errors
	Ref     string
	Parent  string
	After   []string
	Related []string // references like After, without an order
	Feature string   // in a plan, made when it does not exist; empty inherits the parent's
	Group   bool     // it has no subtasks, and still no agent works on it

	Origin         string // what it is called where it comes from
	DiscoveredFrom string // the task whose agent found it

	Status       Status // empty means pending
	Retries      int
	Verification string
	Satisfied    bool // of a cancelled task

	// What plan files say of acceptances: which round it is, or 0 for what one missed, and what it failed for.
	Acceptance *int
	Missing    string
}

// ErrUnknownRef is a reference that leads nowhere.
var ErrUnknownRef = errors.New("is neither a ref of this file nor a task")

// SpecError is what is wrong with one task of a plan.
type SpecError struct {
	Line int
	Err  error
}

// Error names the line.
func (e SpecError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap gives what is wrong without the line.
func (e SpecError) Unwrap() error { return e.Err }

// PlanError is all that is wrong with a plan, in the order of its lines.
type PlanError []SpecError

// Error says the first fault and the lines of the others.
func (e PlanError) Error() string {
	const shown = 5
	text := e[0].Error()
	if len(e) == 1 {
		return text
	}
	lines := make([]string, 0, shown)
	for _, other := range e[1:min(len(e), shown+1)] {
		lines = append(lines, fmt.Sprint(other.Line))
	}
	text += fmt.Sprintf(" (and %d more, line %s", len(e)-1, strings.Join(lines, ", "))
	if len(e)-1 > shown {
		text += ", ..."
	}
	return text + ")"
}

// verdict is nil if there is no fault.
func (e PlanError) verdict() error {
	if len(e) == 0 {
		return nil
	}
	slices.SortStableFunc(e, func(x, y SpecError) int { return cmp.Compare(x.Line, y.Line) })
	return e
}

// Is makes every faulty plan a refusal.
func (e PlanError) Is(target error) bool { return target == ErrRefused }

// Unwrap lets errors.As find what lies behind the faults.
func (e PlanError) Unwrap() []error {
	errs := make([]error, len(e))
	for i, err := range e {
		errs[i] = err
	}
	return errs
}

// IsTaskID says that a text has the form of a task's ID.
func IsTaskID(s string) bool { return idPattern.Get().MatchString(s) }

var idPattern = lazyregexp.New(`^t-[0-9a-f]{8}$`)

// Check refuses what no task can be, and brings the rest into the form in which it is stored.
func (s *Spec) Check() error { return s.check() }

func (s *Spec) check() error {
	if err := cmp.Or(s.Detail.check(), checkLabels(s.Origin, s.DiscoveredFrom)); err != nil {
		return err
	}
	switch {
	case s.Status != "" && !slices.Contains(Statuses(), s.Status):
		return fmt.Errorf("%w: status is %s, not %q", ErrRefused, human.Series(Statuses(), "or"), s.Status)
	case !slices.Contains([]string{"", "passed", "failed", "skipped"}, s.Verification):
		return fmt.Errorf("%w: verification is passed, failed or skipped, not %q", ErrRefused, s.Verification)
	case s.Satisfied && s.Status != Cancelled:
		return fmt.Errorf("%w: satisfied is for cancelled tasks", ErrRefused)
	case s.Acceptance != nil && (*s.Acceptance < 0 || *s.Acceptance > maxAcceptances):
		return fmt.Errorf("%w: acceptance is %d; there are %d rounds, and 0 is what one of them missed", ErrRefused, *s.Acceptance, maxAcceptances)
	case strings.ContainsRune(s.Missing, 0):
		return fmt.Errorf("%w: missing must not contain NUL", ErrRefused)
	case s.Retries < 0:
		return fmt.Errorf("%w: retries is %d; it cannot be negative", ErrRefused, s.Retries)
	case s.Feature != "":
		return CheckFeatureName(s.Feature)
	}
	return nil
}

// Normal is the same task as the database stores it and a plan says it: two that are alike in that are the same.
func (s Spec) Normal() Spec {
	s.Line = 0
	for _, set := range []*[]string{&s.After, &s.Related} {
		*set = slices.Compact(slices.Sorted(slices.Values(*set))) // nil if there is none
	}
	_ = s.check() // what is wrong with it is said elsewhere
	if s.Kind = cmp.Or(s.Kind, Work); s.Status == "" || s.Status == InProgress {
		s.Status = Pending
	}
	return s
}

func (s *Spec) name() string {
	if s.Ref == "" && s.Line == 0 {
		return "the new task"
	}
	return cmp.Or(s.Ref, fmt.Sprintf("line %d", s.Line))
}
