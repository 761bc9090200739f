package main

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ralph/internal/cli"
	"ralph/internal/cli/servecmd"
	"ralph/internal/project"
	"ralph/internal/testing/check"
	"ralph/internal/web"
)

// TestWhatIsMistypedInAFormIsKept, by the parser of the command line, and an error has the hint that is printed there.
func TestWhatIsMistypedInAFormIsKept(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := strings.TrimSpace(b.run(0, "task", "add", "Write it"))
	var said strings.Builder
	a := newApp(cli.System{
		Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said, Environ: func() []string { return nil }, Getenv: func(string) string { return "" },
		Getwd: func() (string, error) { return b.dir, nil }, Now: func() time.Time { return b.now },
	})
	a.Dir, a.Serves = b.dir, true
	const token = "0123456789abcdefghijklmnop"
	server, err := servecmd.NewWeb(a, project.Project{Root: b.dir}, web.Access{Token: token}, nil)
	check.OK(t, err)
	var ask func(r *http.Request, status int) string
	get := func(path string, status int) string {
		t.Helper()
		return ask(httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody), status)
	}
	ask = func(r *http.Request, status int) string {
		t.Helper()
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		if to := w.Header().Get("Location"); strings.HasPrefix(to, "/said/") { // a slow machine
			return get(to, status)
		}
		if w.Header().Get("Refresh") != "" {
			return get(r.URL.Path, status)
		}
		check.That(t, w.Code == status, "got %d, want %d: %s", w.Code, status, w.Body)
		return w.Body.String()
	}
	post := func(priority string, status int) string {
		t.Helper()
		form := url.Values{"arg": {"task", "update", id}, "--priority": {priority}, "stdin": {"A long text"}, "stdin-to": {"--description"}, "back": {"/tasks"}}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/do", strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		return ask(r, status)
	}
	page := post("abc", 422)
	for _, want := range []string{"That was refused", "--priority is a whole number", `name="--priority" value="abc"`, "A long text</textarea>"} {
		check.Contains(t, "the page", want, page)
	}
	post("7", 303)
	check.Contains(t, "the task", "A long text", b.run(0, "task", "show", id))

	check.Contains(t, "a task that there is not", "see the IDs with: ralph task list --all", get("/tasks/t-ffffffff", 404))
	check.OK(t, os.WriteFile(filepath.Join(b.dir, ".ralph", "progress.db"), []byte(strings.Repeat("no database ", 1000)), 0o600))
	check.Contains(t, "a broken database", "ralph doctor --rebuild", get("/", 500))
}
