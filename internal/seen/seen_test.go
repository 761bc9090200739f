package seen

import (
	"testing"

	"ralph/internal/testing/check"
)

func TestAPathIsTranslatedByWhereItLeads(t *testing.T) {
	f := Folder{Real: "/slots/1", Seen: "/home/me/project", View: "/slots/.project"}
	for path, want := range map[string]string{
		"/home/me/project":            "/slots/1",
		"/home/me/project/a/b.txt":    "/slots/1/a/b.txt",
		"/home/me/project/a/../b.txt": "/slots/1/b.txt",
		"/home/me/other/../project/a": "/slots/1/a",
		"/home/me/project/../other":   "/home/me/project/../other",
		"/home/me/project-2/a":        "/home/me/project-2/a",
		"/slots/1/a":                  "/slots/1/a",
		"a/b":                         "a/b",
	} {
		check.Equal(t, path, want, f.Outside(path))
	}
	check.Equal(t, "inside", "/home/me/project/a", f.Inside("/slots/1/a"))
	check.Equal(t, "another slot", "/slots/10/a", f.Inside("/slots/10/a"))
	check.Equal(t, "behind", "/slots/.project/.git/objects", f.Behind("/home/me/project/.git/objects"))
	check.Equal(t, "the same for all", "/home/me/project/a", Folder{}.Outside("/home/me/project/a"))
}
