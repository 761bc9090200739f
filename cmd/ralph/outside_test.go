package main

import (
	"encoding/json"
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

// TestWhatWeakensARunIsRefusedFromOutside, however it is written, and whether the API, a page or a chat asks for it.
func TestWhatWeakensARunIsRefusedFromOutside(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	id := strings.TrimSpace(b.run(0, "task", "add", "Write it"))
	check.OK(t, os.WriteFile(filepath.Join(b.dir, ".ralph.toml"), []byte("[agents.mine]\ncommand = \"true\"\n"), 0o600))
	a := newApp(cli.System{
		Stdin: strings.NewReader(""), Stdout: &strings.Builder{}, Stderr: &strings.Builder{}, Environ: func() []string { return nil }, Getenv: func(string) string { return "" },
		Getwd: func() (string, error) { return b.dir, nil }, Now: func() time.Time { return b.now },
	})
	a.Dir, a.Serves = b.dir, true
	const token = "0123456789abcdefghijklmnop"
	server, err := servecmd.NewWeb(a, project.Project{Root: b.dir}, web.Access{Token: token}, nil)
	check.OK(t, err)
	post := func(path, kind, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", kind)
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		return w
	}
	api := func(stdin string, args ...string) string {
		body, err := json.Marshal(web.Asked{Args: args, Stdin: stdin})
		check.OK(t, err)
		w := post("/api/v1/commands", "application/json", string(body))
		return http.StatusText(w.Code) + ": " + w.Body.String()
	}
	chat := func(args ...string) string {
		var said strings.Builder
		status := a.Carry(t.Context(), cli.Call{Args: args, Stdin: strings.NewReader(""), Stdout: &said, Stderr: &said, Who: "ann", Via: "chat", Outside: true})
		check.Equal(t, strings.Join(args, " "), cli.ExitRefused, status)
		return said.String()
	}
	for flag, lines := range map[string][]string{
		"--sandbox":      {"run --sandbox=off", "run --sandbox off", "run -sandbox off", "run --sandbox=require --sandbox=off", "--quiet run " + id + " --sandbox auto", "merge --sandbox off", "undo " + id + " --sandbox off", "pr --sandbox off", "feature create x --sandbox off"},
		"--no-verify":    {"run --no-verify", "run --no-verify=true", "run -no-verify", "run --no-verify=false --no-verify"},
		"--in-place":     {"run --in-place"},
		"--none":         {"feature gate x --none"},
		"--review=false": {"run --review=false", "merge --review=0", "run --review --review=f"},
		"--agent":        {"run --agent=sh", "run --agent ./evil", "run --agent claude --agent sh", "pr --follow --agent sh", "task add x --agent sh", "task update " + id + " --agent sh", "agents test sh", "agents test -- sh"},
		"--may-change":   {"task add x --may-change **", "task update " + id + " --may-change=ci/**"},
	} {
		for _, line := range lines {
			_, err := cli.Understand(a, strings.Fields(line))
			check.That(t, err != nil && strings.Contains(err.Error(), flag+" weakens"), "ralph %s: %v", line, err)
		}
	}
	// All who ask come through there.
	args, want := []string{"task", "add", "x", "--may-change", "**"}, "--may-change weakens"
	check.Contains(t, "the API", "Forbidden: ", api("", args...))
	check.Contains(t, "the API", want, api("", args...))
	check.Contains(t, "a chat", want, chat(args...))
	w := post("/do", "application/x-www-form-urlencoded", url.Values{"arg": args}.Encode())
	check.Equal(t, "the status of a page", http.StatusForbidden, w.Code)
	check.Contains(t, "a page", want, w.Body.String())
	check.Contains(t, "a plan with an agent", "--agent weakens", api(`{"title":"x","agent":"sh -c evil"}`, "task", "import", "-"))
	check.Contains(t, "a plan that may change its checks", "--may-change weakens", api(`{"title":"x","may_change":["a_test.go"]}`, "task", "import", "-"))
	check.Contains(t, "an older plan", "--may-change weakens", api(`{"title":"x","allow_tampering":true}`, "task", "import", "-"))
	check.Contains(t, "the plan", "1 task", b.run(0, "status"))

	// What weakens nothing is carried out, and so is what the configuration allows.
	for _, line := range []string{"task add one --agent claude", "task add two --agent mine", "task add three", "task update " + id + " --agent="} {
		check.Contains(t, line, "OK: ", api("", strings.Fields(line)...))
	}
	check.Contains(t, "a plan with known agents", "OK: ", api(`{"title":"four","agent":"mine"}`, "task", "import", "-"))
	a.Allow = []string{"--may-change"}
	check.Contains(t, "what is allowed", "OK: ", api("", "task", "add", "five", "--may-change", "**"))
	check.Contains(t, "what is allowed in a plan", "OK: ", api(`{"title":"six","may_change":["**"]}`, "task", "import", "-"))
	_, err = cli.Understand(a, []string{"run", "--no-verify"})
	check.That(t, err != nil && strings.Contains(err.Error(), "--no-verify weakens"), "what is not allowed: %v", err)

	// So do webhooks: their flags are read when the server starts.
	hooked := project.Loaded{Config: project.Default()}
	flags := "--no-verify"
	hooked.Inbound = []project.InboundConfig{{Name: "deploy", Run: &flags}}
	_, err = servecmd.InboundOf(t.Context(), a, hooked)
	check.That(t, err != nil && strings.Contains(err.Error(), "--no-verify weakens"), "%v", err)
}
