package dag

import (
	"fmt"
	"strings"
	"unicode"

	"ralph/internal/db"
	"ralph/internal/lazyregexp"
)

// OnFail says what the failure of a task means to those that wait for it.
type OnFail string

// Continue lets them go on; nothing keeps them waiting.
const Continue OnFail = "continue"

// Effort is how long a model may think before it answers. The empty one leaves that to the run, and then to the model.
type Effort string

// The efforts there are.
const (
	LowEffort    Effort = "low"
	MediumEffort Effort = "medium"
	HighEffort   Effort = "high"
)

// Efforts lists them, the least first.
func Efforts() []Effort { return []Effort{LowEffort, MediumEffort, HighEffort} }

// satisfies says that nobody has to wait for a task: what the column of that name says of one that is stored.
func (s *Spec) satisfies(status Status) bool {
	switch status {
	case Done:
		return true
	case Cancelled:
		return s.Satisfied
	case Failed:
		return s.OnFail == Continue
	}
	return false
}

// detailArgs are the values of a statement with {values}.
func (s *Spec) detailArgs(more ...any) []any {
	for _, f := range Fields {
		more = append(more, f.parameter, f.bind(&s.Detail))
	}
	return append(more, ":emptied", s.Group, ":origin", db.OrNull(s.Origin), ":discovered_from", db.OrNull(s.DiscoveredFrom))
}

// Spec is what a plan says about a task that exists, without its relations and its status.
func (t Task) Spec() Spec {
	return Spec{Ref: t.ID, Detail: t.Detail, Group: t.Emptied, Origin: t.Origin, DiscoveredFrom: t.DiscoveredFrom}
}

// cleanTags brings tags into the one form and order in which they are stored.
func cleanTags(tags []string) ([]string, error) {
	return clean(tags, "no tag", func(tag string) (string, error) {
		if strings.ContainsFunc(tag, unicode.IsSpace) || strings.Contains(tag, ",") {
			return "", fmt.Errorf("%w: the tag %q has a space or a comma in it", ErrRefused, tag)
		}
		return tag, nil
	})
}

// CheckTags refuses what can be no tag.
func CheckTags(tags []string) error { _, err := cleanTags(tags); return err }

// cleanProves brings the IDs of criteria into the one form and order in which they are stored.
func cleanProves(ids []string) ([]string, error) {
	return clean(ids, "no criterion", func(id string) (string, error) {
		if !IsCriterion(strings.ToUpper(id)) {
			return "", fmt.Errorf("%w: %q is no criterion; they are called C1, C2 and so on", ErrRefused, id)
		}
		return strings.ToUpper(id), nil
	})
}

// CheckProves refuses what can be no criterion.
func CheckProves(ids []string) error { _, err := cleanProves(ids); return err }

// IsCriterion says that a text has the form of a criterion's ID.
func IsCriterion(id string) bool { return criterionPattern.Get().MatchString(id) }

var criterionPattern = lazyregexp.New(`^C[1-9][0-9]{0,4}$`)

// checkLabels refuses texts that cannot be shown on a line: names that others give.
func checkLabels(labels ...string) error {
	for _, text := range labels {
		if !isLabel(text) {
			return fmt.Errorf("%w: %q is too long or no text of one line", ErrRefused, text[:min(len(text), 80)])
		}
	}
	return nil
}
