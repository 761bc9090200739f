package acp

import (
	"testing"

	"ralph/internal/testing/check"
	"ralph/internal/testing/fakeagent"
)

func TestPermissions(t *testing.T) {
	t.Parallel()
	all := []fakeagent.Option{
		{ID: "1", Kind: "allow_always"}, {ID: "2", Kind: "reject_once"}, {ID: "3", Kind: "allow_once"}, {ID: "4", Kind: "allow_once"},
	}
	for name, tc := range map[string]struct {
		options []fakeagent.Option
		want    string
	}{
		"once before always":         {all, `"optionId":"3"`},
		"always if there is no once": {all[:2], `"optionId":"1"`},
		"nothing usable":             {all[1:2], `"outcome":"cancelled"`},
		"no options":                 {[]fakeagent.Option{}, `"outcome":"cancelled"`},
		"unknown kinds":              {[]fakeagent.Option{{ID: "x", Kind: "whatever"}}, `"outcome":"cancelled"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t, say(step{Do: "permission", Text: "do it", Kind: "edit", Options: tc.options}))
			b.must(t)
			check.Contains(t, "permission", tc.want, b.results(t)["permission"])
		})
	}
}
