package plain

import "testing"

func TestNearest(t *testing.T) {
	t.Parallel()
	names := []string{"list", "show", "update", "unblock", "block"}
	for typed, want := range map[string]string{
		"lsit": "list", "lst": "list", "shwo": "show", "updaet": "update", "unblok": "unblock", "xyz": "", "": "",
	} {
		if got := Nearest(typed, names); got != want {
			t.Errorf("Nearest(%q): got %q, want %q", typed, got, want)
		}
	}
}
