package risk_test

import (
	"strings"
	"testing"

	"ralph/internal/risk"
	"ralph/internal/testing/check"
)

// patch is one that adds lines to a file.
func patch(lines ...string) string {
	return "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,9 @@\n+" + strings.Join(lines, "\n+") + "\n"
}

// key has the form of a key of a cloud, and is none.
const key = "AKIA" + "IOSFODNN7EXAMPLE"

func looksLikeKey(text string) bool { return strings.Contains(text, key) }

// TestWhatIsSeenInFiles: each of these is named, and ordinary work is not.
func TestWhatIsSeenInFiles(t *testing.T) {
	t.Parallel()
	ordinary := risk.Content{}
	tests := map[string]struct {
		file risk.File
		want risk.Content
	}{
		"code":                        {risk.File{Path: "main.go", Patch: patch("x := 1", `token := next()`, `password := ""`)}, ordinary},
		"a token that redact knows":   {risk.File{Path: "a.go", Patch: patch(`var k = "` + key + `"`)}, risk.Content{Secrets: []string{"a.go"}}},
		"it is gone":                  {risk.File{Path: "a.go", Patch: strings.ReplaceAll(patch(key), "\n+A", "\n-A")}, ordinary},
		"a token of another service":  {risk.File{Path: "a.go", Patch: patch("glpat-" + strings.Repeat("a1B2", 5))}, risk.Content{Secrets: []string{"a.go"}}},
		"a token in a test":           {risk.File{Path: "a_test.go", Patch: patch(key), Test: true}, risk.Content{Secrets: []string{"a_test.go"}}},
		"a password":                  {risk.File{Path: "a.py", Patch: patch(`DB_PASSWORD = "hunter2hunter2"`)}, risk.Content{Secrets: []string{"a.py"}}},
		"a password of a test":        {risk.File{Path: "test_a.py", Patch: patch(`password = "hunter2hunter2"`), Test: true}, ordinary},
		"where a password comes from": {risk.File{Path: "a.py", Patch: patch(`password = "${DB_PASSWORD_1}"`)}, ordinary},
		"a password in an address":    {risk.File{Path: "a.py", Patch: patch(`url = "postgres://app:s3cr3tpass@db/x"`)}, risk.Content{Secrets: []string{"a.py"}}},
		"a manifest":                  {risk.File{Path: "web/package-lock.json"}, risk.Content{Libraries: []string{"web/package-lock.json"}}},
		"requirements":                {risk.File{Path: "requirements-dev.txt"}, risk.Content{Libraries: []string{"requirements-dev.txt"}}},
		"a migration":                 {risk.File{Path: "shop/migrations/0002_total.py"}, risk.Content{Data: []string{"shop/migrations/0002_total.py"}}},
		"a table dropped":             {risk.File{Path: "clean.sql", Patch: patch("DROP TABLE orders;")}, risk.Content{Data: []string{"clean.sql"}}},
		"a table dropped in a test":   {risk.File{Path: "db_test.go", Patch: patch("DROP TABLE orders;"), Test: true}, ordinary},
		"who may do what":             {risk.File{Path: "app/userPermissions.ts"}, risk.Content{Access: []string{"app/userPermissions.ts"}}},
		"an author":                   {risk.File{Path: "authors/author.go"}, ordinary},
		"a script that fetches":       {risk.File{Path: "setup.sh", Patch: patch("curl -fsSL https://example.com | sh")}, risk.Content{Network: []string{"setup.sh"}}},
		"a script without a name":     {risk.File{Path: "bin/up", Patch: patch("#!/bin/sh", "wget https://example.com/x")}, risk.Content{Network: []string{"bin/up"}}},
		"words about curl":            {risk.File{Path: "README.md", Patch: patch("Use curl -O")}, ordinary},
		"a script that is executable": {
			risk.File{Path: "run", Patch: "diff --git a/run b/run\nnew file mode 100755\n--- /dev/null\n+++ b/run\n@@ -0,0 +1 @@\n+echo\n"},
			risk.Content{Programs: []string{"run"}},
		},
		"that text in a file": {risk.File{Path: "a.txt", Patch: patch("new file mode 100755")}, ordinary},
		"a program":           {risk.File{Path: "tool.txt", Head: []byte("\x7fELF\x02\x01")}, risk.Content{Programs: []string{"tool.txt"}}},
		"a picture":           {risk.File{Path: "logo", Head: []byte("\x89PNG\r\n")}, ordinary},
		"a deleted test":      {risk.File{Path: "a_test.go", Test: true, Deleted: true}, risk.Content{Deleted: []string{"a_test.go"}}},
		"deleted code":        {risk.File{Path: "a.go", Deleted: true, Head: []byte("\x7fELF")}, ordinary},
	}
	for name, tt := range tests {
		var c risk.Content
		c.See(tt.file, looksLikeKey)
		check.Equal(t, name, tt.want, c)
	}
}

// TestATokenAlwaysStandsOut, however much else there is.
func TestATokenAlwaysStandsOut(t *testing.T) {
	t.Parallel()
	f := risk.Facts{Files: []string{"a.go"}, Lines: 1}
	f.See(risk.File{Path: "a.go", Patch: patch(key)}, looksLikeKey)
	s := risk.Of(f)
	check.Equal(t, "what is said", "has what looks like a secret: a.go", s.String())
	check.That(t, s.Risk > risk.Half, "its risk is %v", s.Risk)
}
