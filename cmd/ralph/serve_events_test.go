package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/cli"
	"ralph/internal/cli/servecmd"
	"ralph/internal/project"
	"ralph/internal/testing/check"
)

// TestAnIssueBecomesTasks, through a template's own checks: its title is data.
func TestAnIssueBecomesTasks(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	config := filepath.Join(b.dir, ".ralph.toml")
	check.OK(t, os.WriteFile(config, []byte(`
[[inbound]]
name = "bugs"
secret_env = "BUGS_SECRET"
template = "bug-fix"
vars = { test = "make test" }
set = { bug = "issue.title" }
[[inbound]]
name = "hole"
secret_env = "HOLE_SECRET"
template = "bug-fix"
vars = { bug = "x" }
set = { test = "issue.title" }
`), 0o600))
	var said strings.Builder
	read := 0 // of the secret, as often as the configuration
	a := newApp(cli.System{
		Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said, Environ: func() []string { return nil }, Getwd: func() (string, error) { return b.dir, nil },
		Now: func() time.Time { return b.now },
		Getenv: func(name string) string {
			if name != "BUGS_SECRET" {
				return ""
			}
			read++
			return "a secret of bugs"
		},
	})
	a.Dir = b.dir
	_, in, err := servecmd.ServeEvents(t.Context(), a, project.Project{Root: b.dir})
	check.OK(t, err)
	check.Contains(t, "the warning", "inbound hole: HOLE_SECRET is not set, so it accepts nothing", said.String())
	for range 10 {
		in.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/in/bugs", strings.NewReader("x")))
	}
	check.Equal(t, "how often the configuration is read for strangers", 1, read)
	send := func(id, body string) (int, string) {
		mac := hmac.New(sha256.New, []byte("a secret of bugs"))
		mac.Write([]byte(body))
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, "/in/bugs", strings.NewReader(body))
		r.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
		r.Header.Set("X-GitHub-Delivery", id)
		w := httptest.NewRecorder()
		in.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	status, answer := send("1", `{"issue":{"title":"The total is $(wrong)"}}`)
	check.Equal(t, "status of "+answer+said.String(), 202, status)
	check.Contains(t, "tasks", "The total is $(wrong)", b.run(0, "task", "list", "--all"))
	status, _ = send("1", `{"issue":{"title":"The total is $(wrong)"}}`)
	check.Equal(t, "again", 409, status)

	// With a configuration that cannot be read nothing is done. One in which the title is a command does not pass the template.
	check.OK(t, os.WriteFile(config, []byte("[[inbound]]\nname = 1\n"), 0o600))
	status, _ = send("2", `{"issue":{"title":"Another"}}`)
	check.Equal(t, "with a bad configuration the command says so", 500, status)
	check.Contains(t, "the warning", "no schedule and no webhook starts anything until that is mended", said.String())
	check.OK(t, os.WriteFile(config, []byte("[[inbound]]\nname = \"bugs\"\nsecret_env = \"BUGS_SECRET\"\ntemplate = \"bug-fix\"\nvars = { bug = \"x\" }\nset = { test = \"issue.title\" }\n"), 0o600))
	status, _ = send("3", `{"issue":{"title":"rm -rf x"}}`)
	check.Equal(t, "a title as a command", 500, status)
	check.Contains(t, "the log", "is text that others wrote, and this is a command", said.String())
}
