package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"ralph/internal/cli"
	"ralph/internal/testing/check"
	"ralph/internal/web"
)

// askFar runs a command on a server, and returns what it said.
func askFar(t *testing.T, sys cli.System, status int, url string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	b := newBench(t)
	sys.Stdin, sys.Stdout, sys.Stderr = strings.NewReader("piped"), &out, &errs
	sys.Environ, sys.Getwd = func() []string { return nil }, func() (string, error) { return b.dir, nil }
	sys.Getenv = func(name string) string {
		return map[string]string{"RALPH_SERVER_TOKEN": "0123456789abcdefghijklmnop", "TERM": "xterm"}[name]
	}
	got := run(append([]string{"ralph", "--server", url}, args...), sys)
	check.That(t, got == status, "ralph %v: exit status %d, want %d\n%s", args, got, status, errs.String())
	return out.String() + errs.String()
}

// TestWhatIsWrongWithAServer: whatever answers, the line says what is wrong, and whether a change may have happened.
func TestWhatIsWrongWithAServer(t *testing.T) {
	t.Parallel()
	evil := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the token went to another server: %v", r.Header)
	}))
	defer evil.Close()
	answering := func(lines string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set(web.APIHeader, "1")
			_, _ = w.Write([]byte(lines))
		}
	}
	for name, c := range map[string]struct {
		server http.HandlerFunc
		args   string
		status int
		want   string
	}{
		"a redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, evil.URL, http.StatusTemporaryRedirect)
		}, "status", 5, "sends us on to " + evil.URL + ", where the token may not go"},
		"a page":                 {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "status", 5, "(200 OK) is no ralph serve, or an older one"},
		"an older server":        {http.NotFound, "status", 5, "(404 Not Found) is no ralph serve, or an older one"},
		"a proxy without one":    {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) }, "task add x", 70, "answers 502 Bad Gateway; the change may have happened"},
		"it dies":                {answering(`{"out":"half"}` + "\n"), "status", 5, "half"},
		"it dies at a change":    {answering(`{"out":"t-1\n"}` + "\n"), "task add x", 70, "went away before the command ended; the change may have happened\nhint: look before you repeat it"},
		"it dies at a run":       {answering(""), "run", 70, "hint: a run that began continues"},
		"a line is cut":          {answering(`{"exit":`), "pause", 70, "the change may have happened"},
		"it is no answer":        {answering("garbage"), "status", 5, "went away before the command ended"},
		"it closes at a look":    {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "status", 5, "does not answer: EOF"},
		"it closes at once":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "pause", 70, "does not answer: EOF; the change may have happened"},
		"another exit status":    {answering(`{"err":"ralph: no\n"}` + "\n" + `{"exit":3}` + "\n"), "status", 3, "ralph: no\n"},
		"bytes that are no text": {answering(`{"out64":"/3g="}` + "\n" + `{"exit":0}` + "\n"), "status", 0, "\xffx"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(c.server)
			defer server.Close()
			check.Contains(t, name, c.want, askFar(t, cli.System{}, c.status, server.URL, strings.Fields(c.args)...))
		})
	}
	t.Run("a certificate that nobody knows", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewTLSServer(http.NotFoundHandler())
		defer server.Close()
		said := askFar(t, cli.System{}, 5, server.URL, "pause")
		check.Contains(t, "why", "does not answer: tls: failed to verify certificate", said)
		check.That(t, !strings.Contains(said, "may have happened"), "got %s", said)
	})
}

// TestTheTerminalIsKnownToTheServer: width and colour are those of where the output is shown, and stdin is sent if the command reads it.
func TestTheTerminalIsKnownToTheServer(t *testing.T) {
	t.Parallel()
	var asked web.Asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = web.Asked{}
		check.OK(t, json.NewDecoder(r.Body).Decode(&asked))
		w.Header().Set(web.APIHeader, "1")
		fmt.Fprintln(w, `{"exit":0}`)
	}))
	defer server.Close()
	askFar(t, cli.System{OutIsTerm: true, Width: 61, ErrIsTerm: true, ErrWidth: func() int { return 62 }}, 0, server.URL, "task", "list", "-q")
	check.Equal(t, "on a terminal", web.Asked{Args: []string{"--color=always", "--quiet=true", "task", "list"}, Width: 61, ErrWidth: 62}, asked)
	askFar(t, cli.System{}, 0, server.URL, "task", "add", "x", "-d", "-")
	check.Equal(t, "in a pipe", web.Asked{Args: []string{"--color=never", "task", "add", "--description=-", "--", "x"}, Stdin: "piped"}, asked)
	askFar(t, cli.System{OutIsTerm: true}, 0, server.URL, "--color", "never", "task", "import", "-")
	check.Equal(t, "without colour", []string{"--color=never", "task", "import", "--", "-"}, asked.Args)
}
