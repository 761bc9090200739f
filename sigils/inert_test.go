package sigils_test

import (
	"testing"

	"ralph/sigils"
)

func TestInert(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ text, want string }{
		"nothing":                   {"", ""},
		"other tags stay":           {"if a <b> c </b> && x<y", "if a <b> c </b> && x<y"},
		"longer names stay":         {"<knowledge-base> <journals>", "<knowledge-base> <journals>"},
		"both tags lose a bracket":  {"<task-done>t-1</task-done>", "‹task-done>t-1‹/task-done>"},
		"empty ones too":            {"a <verify-pass/> b", "a ‹verify-pass/> b"},
		"near misses too":           {"<TASK_DONE> < promise> </ journal", "‹TASK_DONE> ‹ promise> ‹/ journal"},
		"the name alone is no tag":  {"task-done, promise", "task-done, promise"},
		"an unfinished one too":     {"<journal", "‹journal"},
		"attributes make no escape": {"<knowledge title=\"x\">", "‹knowledge title=\"x\">"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := sigils.Inert(tt.text); got != tt.want {
				t.Errorf("Inert(%q): got %q, want %q", tt.text, got, tt.want)
			}
		})
	}
}
