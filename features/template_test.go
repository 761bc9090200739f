package features

import (
	"testing"

	"ralph/internal/testing/check"
)

func TestAPlanNamesATemplate(t *testing.T) {
	t.Parallel()
	for plan, want := range map[string]Template{
		"":                             {},
		"# Plan\n\nTemplate: a\n":      {Name: "a"},
		"Template: a; l = x, y; b=c=d": {Name: "a", Vars: []string{"l=x, y", "b=c=d"}},
		"```\nTemplate: a\n```\n":      {},
		"The Template: a":              {},
		"Template: ../a":               {},
		"Template: a\nTemplate: b":     {Name: "a"},
		"Template: a;;x":               {Name: "a"},
	} {
		check.Equal(t, plan, want, chosenTemplate(plan))
	}
}
